import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, Model, WebSearchUse } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { numberOf } from '../usage-counts.ts'
import type { ProviderTool } from './language-model.ts'
import type { Provider } from './provider-traits.ts'

type ProviderSettings = Readonly<Record<string, JsonObject>>

/** The web search of a provider, as its package offers it. */
interface SearchTool {
  readonly provider: RegExp
  /** Models to which the row applies (default: all). */
  readonly model?: RegExp
  readonly id: ProviderTool['id']
  /** Name that the packages expect. */
  readonly name: string
  readonly domains: NonNullable<Model['webSearch']>['domains']
  args(use: WebSearchUse): ProviderTool['args']
  /** Request options that limit the searches, if the tool itself has no limit. */
  bound?(use: WebSearchUse, given: ProviderSettings): ProviderSettings
}

function listed(name: string, domains: readonly string[] | undefined): ProviderTool['args'] {
  return domains === undefined ? {} : { [name]: [...domains] }
}

/** Search tools taken from the sources of the packages; the first matching row applies. Bedrock has no web search. */
const tools: readonly SearchTool[] = [
  {
    // Anthropic itself, Foundry and Vertex.
    provider: /^(?!.*bedrock).*anthropic/,
    // This version has a maximum number of uses; later versions do not (spec R-SEARCH-6).
    id: 'anthropic.web_search_20250305',
    name: 'web_search',
    domains: 'allowed and blocked',
    args: ({ maxUses, allowedDomains, blockedDomains }) => ({
      maxUses,
      ...listed('allowedDomains', allowedDomains),
      ...listed('blockedDomains', blockedDomains),
    }),
  },
  {
    provider: /^openai\.responses$/,
    id: 'openai.web_search',
    name: 'web_search',
    // Packages silently drop a list of blocked domains that they do not support.
    domains: 'allowed',
    args: ({ allowedDomains }) =>
      allowedDomains === undefined ? {} : { filters: { allowedDomains: [...allowedDomains] } },
    bound: ({ maxUses }, { openai, ...others }) => ({
      ...others,
      openai: { ...openai, maxToolCalls: maxUses + numberOf(openai?.maxToolCalls) },
    }),
  },
  {
    provider: /^google\.(?:generative-ai|vertex)/,
    model: /gemini-(?:[2-9]|\d\d|.*latest)/,
    id: 'google.google_search',
    name: 'google_search',
    domains: 'none',
    args: () => ({}),
  },
  {
    provider: /^xai\.responses$/,
    id: 'xai.web_search',
    name: 'web_search',
    domains: 'allowed and blocked',
    args: ({ allowedDomains, blockedDomains }) => ({
      ...listed('allowedDomains', allowedDomains),
      ...listed('excludedDomains', blockedDomains),
    }),
  },
]

function searchToolOf({ provider, modelId }: Provider): SearchTool | undefined {
  return tools.find((row) => row.provider.test(provider) && (row.model?.test(modelId) ?? true))
}

/** Describes the web search of a model; undefined if its package has none. */
export function webSearchOf(model: Provider): Model['webSearch'] {
  const tool = searchToolOf(model)
  return tool === undefined ? undefined : { domains: tool.domains }
}

/** Returns the provider's tool and its options for a request that may search. */
export function searchOptions(
  use: WebSearchUse | undefined,
  model: Provider,
  given: ProviderSettings | undefined,
): { readonly tool?: ProviderTool; readonly providerOptions: ProviderSettings | undefined } {
  const row = use === undefined ? undefined : searchToolOf(model)
  if (use === undefined || row === undefined) return { providerOptions: given }
  const tool: ProviderTool = { type: 'provider', id: row.id, name: row.name, args: row.args(use) }
  return { tool, providerOptions: row.bound?.(use, given ?? {}) ?? given }
}

/** Counts searches in the parts of a reply, for services that do not report them in the usage. */
export class SearchCount {
  #calls = 0

  /** Counts a call that the provider ran. */
  call(name: string): void {
    if (name.startsWith('web_search')) this.#calls++
  }

  /** Corrects the count by its result: opening a page, or finding text in one, is not a search. */
  result(name: string, result: Json | undefined): void {
    if (!name.startsWith('web_search') || !isJsonObject(result) || !isJsonObject(result.action)) return
    if (['openPage', 'findInPage', 'open_page', 'find_in_page'].includes(stringOf(result.action.type))) this.#calls--
  }

  /** Adds the count to the usage. A count from the service takes precedence, and unknown usage stays unknown. */
  in(usage: JsonObject, metadata: Json | undefined, modelId: string): JsonObject {
    if (Object.keys(usage).length === 0 || isJsonObject(usage.server_tool_use)) return usage
    const count = Math.max(this.#calls, groundedSearches(metadata, modelId))
    return count <= 0 ? usage : { ...usage, server_tool_use: { web_search_requests: count } }
  }
}

/** Returns Google's billable searches: one per query, or one per grounded request for models before Gemini 3. */
function groundedSearches(metadata: Json | undefined, modelId: string): number {
  const ofGoogle = isJsonObject(metadata) ? (metadata.google ?? metadata.vertex ?? metadata.googleVertex) : undefined
  const grounding = isJsonObject(ofGoogle) ? ofGoogle.groundingMetadata : undefined
  if (!isJsonObject(grounding)) return 0
  const queries = listOf(grounding.webSearchQueries).length
  return /gemini-[12]/.test(modelId) ? Math.min(1, queries) : queries
}
