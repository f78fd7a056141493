import type { CallerRights } from '@halting/core/adapters'
import type { SearchBounds } from '@halting/policy'
import type { JsonObject } from '@halting/core'

/** Input of the WebSearch tool. */
export interface WebSearchInput {
  /** What to search for. */
  readonly query: string
  /** Only results of these domains and their subdomains. */
  readonly allowed_domains?: readonly string[]
  /** No results of these domains. */
  readonly blocked_domains?: readonly string[]
}

/** A search tool of an MCP server. */
export interface SearchServer {
  /** The value of the setting: `server/tool`. */
  readonly name: string
  /** The schema of its input; undefined while the server has no such tool. */
  schema(): JsonObject | undefined
  /**
   * Calls the search tool and returns its text.
   * @throws Error that says why there is no answer
   */
  ask(input: JsonObject, signal: AbortSignal): Promise<string>
}

/** Parses `server/tool`: the name of a tool may contain more slashes. */
export function searchServerNames(name: string): { readonly server: string; readonly tool: string } {
  const at = name.indexOf('/')
  return { server: name.slice(0, at), tool: name.slice(at + 1) }
}

/** The provider of web searches for a session. */
export interface WebSearchPort {
  /** `off`: web search is disabled. */
  readonly by: 'service' | 'off' | SearchServer
  /** Which results rules deny the caller. */
  readonly bounds?: (rights?: CallerRights) => SearchBounds
}
