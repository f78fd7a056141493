import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, Model, WebSearchUse } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { numberOf } from '../usage-counts.ts'
import type { ProviderTool } from './language-model.ts'
import type { Provider } from './provider-traits.ts'

type ProviderSettings = Readonly<Record<string, JsonObject>>

/** The web search of a provider, as its package has it. */
interface SearchTool {
  readonly provider: RegExp
  /** Models that it is so for; all when absent. */
  readonly model?: RegExp
  readonly id: ProviderTool['id']
  /** The packages expect this name. */
  readonly name: string
  readonly domains: NonNullable<Model['webSearch']>['domains']
  args(use: WebSearchUse): ProviderTool['args']
  /** Options of the request that bound the searches, where the tool has none for it. */
  bound?(use: WebSearchUse, given: ProviderSettings): ProviderSettings
}

function listed(name: string, domains: readonly string[] | undefined): ProviderTool['args'] {
  return domains === undefined ? {} : { [name]: [...domains] }
}

/** Read from the sources of the packages; the first row that fits counts. Bedrock has none. */
const tools: readonly SearchTool[] = [
  {
    // Of Anthropic itself, of Foundry and of Vertex.
    provider: /^(?!.*bedrock).*anthropic/,
    // Bounded by a number, which later versions are not (spec R-SEARCH-6).
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
    // Packages drop a list of blocked ones that they do not know, and say nothing.
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

/** What a model says of its searches; undefined where its package has none. */
export function webSearchOf(model: Provider): Model['webSearch'] {
  const tool = searchToolOf(model)
  return tool === undefined ? undefined : { domains: tool.domains }
}

/** The tool of the provider and the options that go with it, for a request that may search. */
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

/** Searches that the parts of a reply tell of, for services that do not count them in the usage. */
export class SearchCount {
  #calls = 0

  /** A call that the provider carried out by itself. */
  call(name: string): void {
    if (name.startsWith('web_search')) this.#calls++
  }

  /** Its result: to open a page and to find something in one is no search. */
  result(name: string, result: Json | undefined): void {
    if (!name.startsWith('web_search') || !isJsonObject(result) || !isJsonObject(result.action)) return
    if (['openPage', 'findInPage', 'open_page', 'find_in_page'].includes(stringOf(result.action.type))) this.#calls--
  }

  /** The usage with what is counted. What the service says itself stands, and so does a usage that it did not tell. */
  in(usage: JsonObject, metadata: Json | undefined, modelId: string): JsonObject {
    if (Object.keys(usage).length === 0 || isJsonObject(usage.server_tool_use)) return usage
    const count = Math.max(this.#calls, groundedSearches(metadata, modelId))
    return count <= 0 ? usage : { ...usage, server_tool_use: { web_search_requests: count } }
  }
}

/** Google bills a fee for each query; for models before Gemini 3 one for each request that was grounded. */
function groundedSearches(metadata: Json | undefined, modelId: string): number {
  const ofGoogle = isJsonObject(metadata) ? (metadata.google ?? metadata.vertex ?? metadata.googleVertex) : undefined
  const grounding = isJsonObject(ofGoogle) ? ofGoogle.groundingMetadata : undefined
  if (!isJsonObject(grounding)) return 0
  const queries = listOf(grounding.webSearchQueries).length
  return /gemini-[12]/.test(modelId) ? Math.min(1, queries) : queries
}
