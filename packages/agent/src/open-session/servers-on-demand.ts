import type { ServersReplaced } from '../mcp/server-list.ts'
import type { QueryEngine } from '@halting/core'
import type { SessionServers } from './mcp.ts'

/** Servers of a session that has none yet but may receive some: the MCP client is loaded with the first server. */
export function serversOnDemand(open: () => Promise<SessionServers>): SessionServers {
  let opening: Promise<SessionServers> | undefined
  let opened: SessionServers | undefined
  let isOver = false
  let attached: Pick<QueryEngine, 'set'> | undefined
  const none = (name: string): never => {
    throw new Error(`There is no MCP server ${name}.`)
  }
  const openNow = async (): Promise<SessionServers> => {
    const servers = await open()
    if (isOver) {
      await servers.end()
      throw new Error('the session is over')
    }
    opened = servers
    if (attached !== undefined) servers.attach(attached)
    return servers
  }
  return {
    options: { moreTools: (name) => opened?.options.moreTools(name) },
    begin: async () => opened?.begin() ?? {},
    attach(engine) {
      attached = engine
      opened?.attach(engine)
    },
    tools: () => opened?.tools() ?? [],
    prompt: async (text, signal) => opened?.prompt(text, signal),
    statuses: () => opened?.statuses() ?? [],
    prompts: () => opened?.prompts() ?? [],
    settled: async () => opened?.settled() ?? [],
    async replace(entries): Promise<ServersReplaced> {
      if (entries.length === 0 && opening === undefined) return { added: [], removed: [], errors: {} }
      const servers = await (opening ??= openNow())
      return servers.replace(entries)
    },
    reconnect: async (name) => (opened === undefined ? none(name) : opened.reconnect(name)),
    toggle: async (name, how) => (opened === undefined ? none(name) : opened.toggle(name, how)),
    ask: async (name, input, signal) =>
      opened === undefined
        ? Promise.reject(new Error(`There is no tool ${name}: no server is connected.`))
        : opened.ask(name, input, signal),
    async end() {
      isOver = true
      await opened?.end()
    },
  }
}
