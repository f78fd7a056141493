import { mcpToolName, type RulePermissions } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'
import { searchServerNames, type SearchServer, type WebSearchPort } from '../web/search-port.ts'
import type { SessionServers } from './mcp.ts'

/** Who searches the web for a session, as the setting `webSearch` says. */
export function webSearchOf(
  setting: Settings['webSearch'] = 'auto',
  permissions: Pick<RulePermissions, 'searchBounds'>,
  servers: Pick<SessionServers, 'options' | 'ask'> | undefined,
): WebSearchPort {
  const bounds: WebSearchPort['bounds'] = (rights) => permissions.searchBounds(rights)
  if (typeof setting === 'object') return { by: searchServerOf(setting.mcp, servers), bounds }
  return { by: setting === 'off' ? 'off' : 'service', bounds }
}

function searchServerOf(name: string, servers: Pick<SessionServers, 'options' | 'ask'> | undefined): SearchServer {
  const { server, tool } = searchServerNames(name)
  const toolName = mcpToolName(server, tool)
  return {
    name,
    schema: () => servers?.options.moreTools(toolName)?.inputSchema,
    async ask(input, signal) {
      if (servers === undefined) throw new Error('the session has no MCP servers')
      return servers.ask(toolName, input, signal)
    },
  }
}
