import type { McpServerConfig } from '../../src/mcp/index.ts'

export type Said = Readonly<Record<string, unknown>>

/** A server in this process that offers these tools, gives this for each call, and says this of itself. */
export function saying(
  tools: readonly Said[],
  result: Said | ((params: Said) => Said) = { content: [] },
  initialize: Said = {},
): McpServerConfig {
  const instance = {
    async connect(transport: never) {
      const theirs = transport as {
        start(): Promise<void>
        send(message: Said): Promise<void>
      }
      const onmessage = ({ id, method, params }: Said & { readonly params?: Said }): void => {
        const given = typeof result === 'function' ? () => result(params ?? {}) : () => result
        const answer = answerTo(method, params, tools, method === 'tools/call' ? given() : {}, initialize)
        if (answer !== undefined) void theirs.send({ jsonrpc: '2.0', id, ...answer })
      }
      Object.assign(theirs, { onmessage })
      await theirs.start()
    },
  }
  return { type: 'sdk', instance }
}

export function answerTo(
  method: unknown,
  params: Said = {},
  tools: readonly Said[],
  result: Said,
  initialize: Said = {},
): Said | undefined {
  if (method === 'initialize')
    return {
      result: {
        protocolVersion: params['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
        ...initialize,
      },
    }
  if (method === 'tools/list') return { result: { tools } }
  if (method === 'tools/call') return 'error' in result ? result : { result }
  return undefined
}

export const tool = (name: string, more: Said = {}): Said => ({ name, inputSchema: { type: 'object' }, ...more })
