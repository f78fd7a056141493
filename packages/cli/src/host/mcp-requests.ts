import type { Json } from '@halting/core'
import { UsageError } from '../usage-error.ts'
import type { ServeOne, Serving } from './serving.ts'

/** What hosts ask for about servers, by its subtype (spec R-HOST-14). */
export const mcpRequests: { readonly [subtype: string]: ServeOne } = {
  async mcp_set_servers({ servers: given }, { opened }) {
    const entries = await opened.hostServers.entries(given, opened.env)
    const { added, removed, errors } = await serversOf(opened).replace(entries)
    return { response: { added, removed, errors } }
  },
  async mcp_reconnect({ serverName }, { opened }) {
    await serversOf(opened).reconnect(nameIn(serverName))
    return { response: {} }
  },
  async mcp_toggle({ serverName, enabled }, { opened }) {
    if (typeof enabled !== 'boolean') throw new UsageError('The request needs "enabled": true or false.')
    await serversOf(opened).toggle(nameIn(serverName), { isOn: enabled })
    return { response: {} }
  },
  mcp_message(fields, { opened }) {
    opened.hostServers.receive(fields)
    return { response: {} }
  },
}

function serversOf({ servers }: Serving['opened']): NonNullable<Serving['opened']['servers']> {
  if (servers === undefined) throw new UsageError('This session does not support MCP servers.')
  return servers
}

function nameIn(value: Json | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw new UsageError('The request needs "serverName", a string.')
}
