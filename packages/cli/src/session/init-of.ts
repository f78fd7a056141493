import type { QueryOptions } from '@halting/core'
import type { Face } from './face.ts'
import type { SessionServers } from './mcp.ts'

/** What `init` tells, with the servers that are there: their prompts are commands beside those that people wrote. The mode is that of the moment. */
export function initOf(
  { capabilities }: Pick<Face, 'capabilities'>,
  [init, ofServers]: readonly [session: QueryOptions['init'], servers: QueryOptions['init']],
  { permissionMode, servers }: { readonly permissionMode: () => string; readonly servers: SessionServers | undefined },
): NonNullable<QueryOptions['init']> {
  const commands = [...(init?.slash_commands ?? []), ...(ofServers?.slash_commands ?? [])]
  return {
    ...init,
    ...ofServers,
    ...(ofServers !== undefined && { slash_commands: commands }),
    ...(capabilities !== undefined && { capabilities }),
    get permissionMode() {
      return permissionMode()
    },
    get mcp_servers() {
      return servers?.statuses().map(({ name, status }) => ({ name, status })) ?? []
    },
  }
}
