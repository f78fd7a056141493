import type { AssistantMessage, ContentBlock } from '@halting/core'
import { headOf, isJsonObject, wellFormed } from '@halting/core/adapters'

/** A page that a search has found. */
export interface SearchSource {
  readonly title: string
  readonly url: string
}

/** What a reply says of its searches beside its text. */
export interface Found {
  readonly sources: readonly SearchSource[]
  /** Hosts of all pages, also of those that were only opened, and of those whose address is too long to be shown. */
  readonly hosts: readonly string[]
  /** Codes of searches that the service refused. */
  readonly errors: readonly string[]
}

const mostUrlCharacters = 2_000
const mostTitleCharacters = 200

/**
 * The pages that the blocks of a reply name, each once: results of `web_search` in the shape of the Messages API, or as the
 * AI SDK has them, sources that stand alone, and citations. What has no address on the web is none.
 */
export function foundIn({ content }: Pick<AssistantMessage, 'content'>): Found {
  const sources = new Map<string, SearchSource>()
  const hosts = new Set<string>()
  const errors: string[] = []
  const add = (value: unknown): void => {
    const address = addressOf(value)
    if (address === undefined) return
    hosts.add(address.hostname)
    const source = { url: address.href, title: titleOf(value) || address.href }
    if (source.url.length > mostUrlCharacters) return
    const before = sources.get(source.url)
    if (before === undefined || before.title === before.url) sources.set(source.url, source)
  }
  // What the answer rests on comes before what was only found.
  const cited = content.filter(({ type }) => type === 'text')
  const others = content.filter(({ type }) => type !== 'text')
  for (const block of [...cited, ...others]) for (const value of resultsIn(block)) add(value)
  for (const block of others) {
    errors.push(...errorsIn(block))
    if (isOfService(block)) for (const { hostname } of addressesIn(block)) hosts.add(hostname)
  }
  return { sources: [...sources.values()], hosts: [...hosts], errors }
}

/** A call of the service's own tools, or its result. */
function isOfService({ type }: ContentBlock): boolean {
  return type === 'server_tool_use' || type.endsWith('_tool_result')
}

/** Addresses in any field `url`: services say in several shapes which page they opened. */
function addressesIn(value: unknown): readonly URL[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).flatMap(addressesIn)
  if (!isJsonObject(value)) return []
  const own = addressOf(value)
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(addressesIn)]
}

function resultsIn(block: ContentBlock): readonly unknown[] {
  if (block.type === 'text') return Array.isArray(block.citations) ? block.citations : []
  if (/^(?:web_search|server)_tool_result$/.test(block.type) && 'content' in block) return listIn(block.content)
  // A source that stands alone, as the AI SDK tells it.
  if (!/source|search_result/.test(block.type)) return []
  return 'sources' in block ? listIn(block) : [block]
}

/** Services give a list, or an object that holds one. */
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

/** Read as browsers do: white space around it, or a slash too few, is none of another address. */
function addressOf(value: unknown): URL | undefined {
  if (!isJsonObject(value) || typeof value['url'] !== 'string' || !URL.canParse(value['url'])) return undefined
  const address = new URL(value['url'])
  // OpenAI marks the pages that it cites, and not the same ones among those that it found.
  if (address.searchParams.get('utm_source') === 'openai') address.searchParams.delete('utm_source')
  return /^https?:$/.test(address.protocol) ? address : undefined
}

function titleOf(value: unknown): string {
  return isJsonObject(value) && typeof value['title'] === 'string' ? plain(value['title']) : ''
}

/** One line: a title may say anything. */
function plain(title: string): string {
  return wellFormed(headOf(title.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), mostTitleCharacters))
}

export function hostOf({ url }: SearchSource): string {
  return new URL(url).hostname
}
