import type { AssistantMessage, ContentBlock } from '@halting/core'
import { headOf, isJsonObject, wellFormed } from '@halting/core/adapters'

/** A page that a search has found. */
export interface SearchSource {
  readonly title: string
  readonly url: string
}

/** What a reply says about its searches, apart from its text. */
export interface SearchResults {
  readonly sources: readonly SearchSource[]
  /** Hosts of all pages, including those only opened, and those whose URL is too long to show. */
  readonly hosts: readonly string[]
  /** Error codes of refused searches. */
  readonly errors: readonly string[]
}

const maxUrlCharacters = 2_000
const maxTitleCharacters = 200

/**
 * The pages in the blocks of a reply, without duplicates: results of `web_search` in the form of the Messages API, or
 * of the AI SDK, separate sources, and citations. Only web addresses count.
 */
export function searchResultsIn({ content }: Pick<AssistantMessage, 'content'>): SearchResults {
  const sources = new Map<string, SearchSource>()
  const hosts = new Set<string>()
  const errors: string[] = []
  const add = (value: unknown): void => {
    const address = addressOf(value)
    if (address === undefined) return
    hosts.add(address.hostname)
    const source = { url: address.href, title: titleOf(value) || address.href }
    if (source.url.length > maxUrlCharacters) return
    const before = sources.get(source.url)
    if (before === undefined || before.title === before.url) sources.set(source.url, source)
  }
  // Cited pages come before pages that were only found.
  const cited = content.filter(({ type }) => type === 'text')
  const others = content.filter(({ type }) => type !== 'text')
  for (const block of [...cited, ...others]) for (const value of resultsIn(block)) add(value)
  for (const block of others) {
    errors.push(...errorsIn(block))
    if (isOfService(block)) for (const { hostname } of addressesIn(block)) hosts.add(hostname)
  }
  return { sources: [...sources.values()], hosts: [...hosts], errors }
}

/** A call of a server tool, or its result. */
function isOfService({ type }: ContentBlock): boolean {
  return type === 'server_tool_use' || type.endsWith('_tool_result')
}

/** Collects URLs in any field `url`: services report opened pages in several forms. */
function addressesIn(value: unknown): readonly URL[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).flatMap(addressesIn)
  if (!isJsonObject(value)) return []
  const own = addressOf(value)
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(addressesIn)]
}

function resultsIn(block: ContentBlock): readonly unknown[] {
  if (block.type === 'text') return Array.isArray(block.citations) ? block.citations : []
  if (/^(?:web_search|server)_tool_result$/.test(block.type) && 'content' in block) return listIn(block.content)
  // A separate source, in the form of the AI SDK.
  if (!/source|search_result/.test(block.type)) return []
  return 'sources' in block ? listIn(block) : [block]
}

/** Services return a list, or an object that contains one. */
function listIn(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content
  if (!isJsonObject(content)) return []
  const { sources, results } = content
  return Array.isArray(sources) ? sources : Array.isArray(results) ? results : []
}

function errorsIn(block: ContentBlock): readonly string[] {
  if (!block.type.endsWith('_tool_result') || !('content' in block)) return []
  const { content } = block
  const values: readonly unknown[] = Array.isArray(content) ? content : [content]
  return values.flatMap((value) => {
    if (!isJsonObject(value)) return []
    const code = value['error_code'] ?? value['errorCode']
    return typeof code === 'string' ? [headOf(code, 100)] : []
  })
}

/** Parses an address like browsers do: surrounding white space, or a missing slash, does not make another address. */
function addressOf(value: unknown): URL | undefined {
  if (!isJsonObject(value) || typeof value['url'] !== 'string' || !URL.canParse(value['url'])) return undefined
  const address = new URL(value['url'])
  // OpenAI marks the pages that it cites, but not the same pages among the results.
  if (address.searchParams.get('utm_source') === 'openai') address.searchParams.delete('utm_source')
  return /^https?:$/.test(address.protocol) ? address : undefined
}

function titleOf(value: unknown): string {
  return isJsonObject(value) && typeof value['title'] === 'string' ? plain(value['title']) : ''
}

/** Returns a title on one line; a title may contain any text. */
function plain(title: string): string {
  return wellFormed(headOf(title.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), maxTitleCharacters))
}

export function hostOf({ url }: SearchSource): string {
  return new URL(url).hostname
}
