import type { CallerRights } from '@halting/core/adapters'
import type { SearchBounds } from '@halting/policy'
import type { JsonObject } from '@halting/core'

/** Input of the WebSearch tool. */
export interface WebSearchInput {
  /** What to search for. */
  readonly query: string
  /** Results of these domains, and of what lies below them, alone. */
  readonly allowed_domains?: readonly string[]
  /** No results of these. */
  readonly blocked_domains?: readonly string[]
}

/** A tool of an MCP server that searches. */
export interface SearchServer {
  /** As the setting names it: `server/tool`. */
  readonly name: string
  /** The schema of its input; undefined while the server has no such tool. */
  schema(): JsonObject | undefined
  /** Gives its text. @throws Error that says why there is no answer */
  ask(input: JsonObject, signal: AbortSignal): Promise<string>
}

/** `server/tool`, as the setting names it: the name of a tool may hold more slashes. */
export function searchServerNames(name: string): { readonly server: string; readonly tool: string } {
  const at = name.indexOf('/')
  return { server: name.slice(0, at), tool: name.slice(at + 1) }
}

/** Who searches the web for a session. */
export interface WebSearchPort {
  /** `off`: nobody does. */
  readonly by: 'service' | 'off' | SearchServer
  /** What rules deny of the results, for whoever calls. */
  readonly bounds?: (rights?: CallerRights) => SearchBounds
}
