import type { McpServer } from '@agentclientprotocol/sdk'
import type { McpServerEntry } from '@halting/agent/mcp'

/** The servers that a client gives to a session. What they say is meant as it stands: nothing is put in for what looks like a variable. */
export function serverEntriesOf(servers: readonly McpServer[]): readonly McpServerEntry[] {
  return servers.map((server) => ({ name: server.name, server: configOf(server) }))
}

function configOf(server: McpServer): McpServerEntry['server'] {
  if (!('type' in server)) return { type: 'stdio', command: server.command, args: server.args, env: pairs(server.env) }
  if (!/^https?:\/\//i.test(server.url) || !URL.canParse(server.url))
    return { problem: 'its url must begin with http:// or https://' }
  return { type: server.type, url: server.url, headers: pairs(server.headers) }
}

function pairs(given: readonly { readonly name: string; readonly value: string }[]): Readonly<Record<string, string>> {
  return Object.fromEntries(given.map(({ name, value }) => [name, value]))
}
