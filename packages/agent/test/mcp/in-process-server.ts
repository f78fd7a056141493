import type { McpServerConfig } from '../../src/mcp/index.ts'

export type JsonFields = Readonly<Record<string, unknown>>

/** A server in this process that offers these tools, returns this for each call, and describes itself like this. */
export function saying(
  tools: readonly JsonFields[],
  result: JsonFields | ((params: JsonFields) => JsonFields) = { content: [] },
  initialize: JsonFields = {},
): McpServerConfig {
  const instance = {
    async connect(transport: never) {
      const theirs = transport as {
        start(): Promise<void>
        send(message: JsonFields): Promise<void>
      }
      const onmessage = ({ id, method, params }: JsonFields & { readonly params?: JsonFields }): void => {
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
  params: JsonFields = {},
  tools: readonly JsonFields[],
  result: JsonFields,
  initialize: JsonFields = {},
): JsonFields | undefined {
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

export const tool = (name: string, more: JsonFields = {}): JsonFields => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})
