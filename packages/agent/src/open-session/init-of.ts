import type { QueryOptions } from '@halting/core'
import type { SessionFrontend } from './session-options.ts'
import type { SessionServers } from './mcp.ts'
import { pluginRow } from './plugins.ts'
import type { Written } from './written.ts'

interface Moment {
  readonly permissionMode: () => string
  readonly servers: SessionServers | undefined
  readonly written: Written
}

/** What `init` tells, with the servers that are there: their prompts are commands beside those that people wrote. The mode is that of the moment. */
export function initOf(
  { capabilities, ownCommands = [] }: Pick<SessionFrontend, 'capabilities' | 'ownCommands'>,
  [init, ofServers]: readonly [session: QueryOptions['init'], servers: QueryOptions['init']],
  { permissionMode, servers, written }: Moment,
): NonNullable<QueryOptions['init']> {
  const { plugin_errors: errors, ...others } = init ?? {}
  const told: NonNullable<QueryOptions['init']> = {
    ...others,
    ...ofServers,
    get plugins() {
      return written.plugins.all.map(pluginRow)
    },
    get slash_commands() {
      const names = [...ownCommands, ...(written.briefing?.init.slash_commands ?? [])]
      return [...new Set(names), ...(servers?.prompts() ?? []).map(({ name }) => name)]
    },
    get skills() {
      return written.briefing?.init.skills ?? []
    },
    get agents() {
      return written.agents?.names ?? []
    },
    ...(capabilities !== undefined && { capabilities }),
    get permissionMode() {
      return permissionMode()
    },
    get mcp_servers() {
      return servers?.statuses().map(({ name, status }) => ({ name, status })) ?? []
    },
  }
  // Where there was none the key is absent.
  return errors === undefined ? told : Object.defineProperty(told, 'plugin_errors', errorsOf(written))
}

function errorsOf(written: Written): PropertyDescriptor {
  return { enumerable: true, get: () => written.plugins.problems.map((problem) => ({ ...problem })) }
}
