import type { McpServerStatus } from '@halting/agent/mcp'
import type { JsonObject } from '@halting/core'

/** The state of an MCP server, as `mcp_status` reports it. */
export function serverStatus({ name, status, problem, info, scope, offered }: McpServerStatus): JsonObject {
  return {
    name,
    status,
    ...(info !== undefined && { serverInfo: { name: info.name, version: info.version } }),
    ...(problem !== undefined && status !== 'connected' && { error: problem }),
    ...(scope !== undefined && { scope }),
    ...(offered !== undefined && {
      tools: offered.map((tool) => ({
        name: tool.name,
        ...(tool.description !== undefined && { description: tool.description }),
        annotations: {
          ...(tool.readOnly !== undefined && { readOnly: tool.readOnly }),
          ...(tool.destructive !== undefined && { destructive: tool.destructive }),
          ...(tool.openWorld !== undefined && { openWorld: tool.openWorld }),
        },
      })),
    }),
  }
}
