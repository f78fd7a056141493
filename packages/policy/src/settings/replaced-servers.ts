import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@halting/core'
import { validServerName } from '../mcp-names.ts'
import type { Fields } from './fields.ts'
import type { ReadFile } from './read-files.ts'

/** A file, and the servers of it that count. */
interface ServersFile {
  readonly file: Pick<ReadFile, 'level'>
  readonly fields: Pick<Fields, 'mcpServers'>
}

// Spec R-MCP-17.
/**
 * Names of servers, as tools have them, where one of the project stands in the place of another one of the person: what the person allows their own
 * server in all projects is not for it.
 */
export function replacedServers(counting: readonly ServersFile[], disabled: ReadonlySet<string>): readonly string[] {
  const first = new Map<string, { readonly server: JsonObject; readonly isOfProject: boolean }>()
  const replaced = new Set<string>()
  for (const { file, fields } of counting) {
    const isOfProject = file.level === 'project' || file.level === 'local'
    for (const [given, server] of Object.entries(fields.mcpServers ?? {})) {
      if (isOfProject && disabled.has(given)) continue
      const name = validServerName(given)
      const found = first.get(name)
      if (found === undefined) first.set(name, { server, isOfProject })
      else if (found.isOfProject && !isOfProject && !isDeepStrictEqual(found.server, server)) replaced.add(name)
    }
  }
  return [...replaced]
}

/** Whether a rule names this server, or some of the servers and this one among them. One for all servers names none. */
export function namesServer(rule: string, server: string): boolean {
  const written = /^\s*(mcp__[^(\s]*)/.exec(rule)?.[1]
  if (written === undefined) return false
  const tools = `mcp__${server}__`
  const star = written.indexOf('*')
  if (star === -1) return `${written}__` === tools || written.startsWith(tools)
  const beginning = written.slice(0, star)
  return beginning !== 'mcp__' && (tools.startsWith(beginning) || beginning.startsWith(tools))
}
