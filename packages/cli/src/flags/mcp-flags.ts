import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { single } from './values.ts'

type McpFlag = 'mcpConfig' | 'strictMcpConfig'

/** Flags about servers of the Model Context Protocol: rows of the one table. */
export const mcpFlags: { readonly [Name in McpFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  mcpConfig: {
    names: ['--mcp-config'],
    group: 'tools',
    kind: 'list',
    value: 'FILE|JSON',
    read: single,
    takesMore: isConfig,
    meaning: 'Servers (MCP) from this file, or JSON itself: {"mcpServers": {…}}; may be given several times',
  },
  strictMcpConfig: {
    names: ['--strict-mcp-config'],
    group: 'tools',
    kind: 'switch',
    meaning: 'Only the servers of --mcp-config',
  },
}

/** What looks otherwise is the prompt. */
function isConfig(argument: string): boolean {
  return /^\s*\{.*\}\s*$/s.test(argument) || /^\S+\.json$/.test(argument)
}
