import { headOf, isJsonObject, messageOf, textOf, wellFormed, type CompactionReply } from '@halting/core/adapters'
import type { AssistantMessage, JsonObject, Model, ModelMessage, ToolContext, ToolOutput } from '@halting/core'
import { searchDomain, type SearchBounds } from '@halting/policy'
import type { Workspace } from '../tools/workspace.ts'
import type { SearchServer, WebSearchInput } from './search-port.ts'
import * as texts from './web-search-texts.ts'
import { searchResultsIn, hostOf, type SearchSource } from './search-sources.ts'

type Ask = NonNullable<ToolContext['ask']>
type Context = Pick<ToolContext, 'signal' | 'ask' | 'rights'>

/** Domains to include or exclude. Never both. */
interface Lists {
  readonly allowed: readonly string[]
  readonly blocked: readonly string[]
}

/** Maximum number of searches of one call; fewer if a budget does not allow that many. */
const searches = [8, 4, 2, 1] as const
/** How often an interrupted reply is continued. */
const maxPauses = 3
const answerTokens = 4_000
const answerMs = 120_000
const maxSources = 50

// Spec R-SEARCH-10 to R-SEARCH-18.
/** Searches the web with the provider of the workspace. */
export async function searchWeb(input: WebSearchInput, context: Context, workspace: Workspace): Promise<ToolOutput> {
  const { by = 'service', bounds } = workspace.webSearch ?? {}
  const denied: SearchBounds = bounds?.(context.rights) ?? nothingDenied
  const lists = listsOf(input, denied)
  if (typeof lists === 'string') return failure(texts.notSearched(lists))
  if (by === 'off') return failure(texts.notSearched(texts.searchOff))
  if (by !== 'service') return searchByServer(by, { query: input.query, lists, denied }, context)
  const { ask } = context
  if (ask === undefined) return failure(texts.notSearched(texts.noModel))
  const { smallModel } = workspace
  const model = smallModel?.webSearch === undefined ? undefined : smallModel
  return searchByService({ query: input.query, lists, ask, model, isWanted: domainFilter(lists, denied) })
}

const nothingDenied: SearchBounds = { blocked: [], denies: () => false, mayFindDenied: () => false }

/**
 * Combines requested and denied domains into one list, or returns why nothing remains. A service accepts only one of
 * the two lists, so requested domains with a denied subdomain are removed.
 */
function listsOf(input: WebSearchInput, { blocked: denied, denies, mayFindDenied }: SearchBounds): Lists | string {
  const named = (requestedDomains: readonly string[] = []): readonly string[] =>
    requestedDomains.flatMap((domain) => searchDomain(domain) ?? [])
  const requested = named(input.allowed_domains)
  if (requested.length === 0) {
    if (mayFindDenied()) return texts.cannotExclude
    return { allowed: [], blocked: [...new Set([...named(input.blocked_domains), ...denied])] }
  }
  const allowed = [...new Set(requested)].filter((domain) => !mayFindDenied(domain))
  if (allowed.length > 0) return { allowed, blocked: [] }
  const below = requested.filter((domain) => !denies(domain))
  if (below.length === 0) return texts.allDenied
  return texts.partlyDenied(below)
}

/** Returns a test whether a result of a host was requested and no rule denies it, whatever the service was asked. */
function domainFilter({ allowed, blocked }: Lists, { denies }: SearchBounds): (host: string) => boolean {
  const isIn = (list: readonly string[], host: string): boolean =>
    list.some((domain) => host === domain || host.endsWith(`.${domain}`))
  return (host) => !denies(host) && !isIn(blocked, host) && (allowed.length === 0 || isIn(allowed, host))
}

interface ServiceSearch {
  readonly query: string
  readonly lists: Lists
  readonly ask: Ask
  /** The model to ask (default: the model of the run). */
  readonly model: Model | undefined
  readonly isWanted: (host: string) => boolean
}

async function searchByService({ query, lists, ask, model, isWanted }: ServiceSearch): Promise<ToolOutput> {
  const begun = { role: 'user', content: texts.searchRequest(query) } as const
  const replies: AssistantMessage[] = []
  let reply: CompactionReply = { kind: 'over_budget' }
  let granted = 0
  for (const maxUses of searches) {
    granted = maxUses
    reply = await askOnce(ask, { messages: [begun], lists, model, maxUses })
    if (reply.kind !== 'over_budget') break
  }
  for (let pauses = 0; reply.kind === 'answered'; pauses++) {
    replies.push(reply.message)
    if (reply.message.stop_reason !== 'pause_turn' || pauses === maxPauses) break
    const left = granted - searchesIn(replies)
    if (left < 1) break
    const messages = [begun, ...replies.map(({ content, by }) => answered(content, by))]
    reply = await askOnce(ask, { messages, lists, model, maxUses: left })
  }
  if (replies.length === 0) return failure(texts.nothingFoundBecause(whyNot(reply)))
  const cut = reply.kind !== 'answered' || reply.streamError !== null || reply.message.stop_reason === 'max_tokens'
  return webSearchOutput(query, replies, { isWanted, isCut: cut })
}

function answered(content: AssistantMessage['content'], by: string | undefined): ModelMessage {
  return { role: 'assistant', content, ...(by !== undefined && { by }) }
}

interface Question {
  readonly messages: readonly ModelMessage[]
  readonly lists: Lists
  readonly model: Model | undefined
  readonly maxUses: number
}

function askOnce(ask: Ask, { messages, lists, model, maxUses }: Question): Promise<CompactionReply> {
  const { allowed, blocked } = lists
  return ask({
    system: texts.searcherPrompt,
    messages,
    maxOutputTokens: answerTokens,
    timeoutMs: answerMs,
    webSearch: {
      maxUses,
      ...(allowed.length > 0 && { allowedDomains: allowed }),
      ...(blocked.length > 0 && { blockedDomains: blocked }),
    },
    ...(model !== undefined && { model }),
  })
}

function searchesIn(replies: readonly AssistantMessage[]): number {
  return replies.reduce((sum, { usage }) => sum + (usage.server_tool_use?.web_search_requests ?? 0), 0)
}

function webSearchOutput(
  query: string,
  replies: readonly AssistantMessage[],
  { isWanted, isCut }: Pick<ServiceSearch, 'isWanted'> & { readonly isCut: boolean },
): ToolOutput {
  const { sources: all, hosts, errors } = searchResultsIn({ content: replies.flatMap(({ content }) => content) })
  const sources = all.filter((source) => isWanted(hostOf(source))).slice(0, maxSources)
  const text = replies
    .map(({ content }) => textOf(content))
    .join('')
    .trim()
  const count = searchesIn(replies)
  const details = { query, results: sources.map(({ title, url }) => ({ title, url })), searches: count }
  const why = [...new Set(errors)].map(texts.serviceError)
  if (sources.length === 0 && why.length > 0)
    return { content: texts.nothingFoundBecause(why.join(' ')), isError: true, details }
  // The service was asked not to search this host: its answer may be based on such a page.
  const isTainted = hosts.some((host) => !isWanted(host))
  const answer = isTainted
    ? texts.taintedAnswer
    : text === ''
      ? texts.noAnswer
      : `${text}${isCut ? texts.answerCut : ''}`
  const rest = [...(sources.length === 0 ? [] : [sourceLines(sources)]), ...why]
  const none = sources.length === 0 ? [texts.noSources] : []
  return { content: wellFormed([texts.searchedByModel, answer, ...none, ...rest].join('\n\n')), details }
}

function sourceLines(sources: readonly SearchSource[]): string {
  return ['Sources:', ...sources.map(({ title, url }) => texts.sourceLine(title, url))].join('\n')
}

function whyNot(reply: CompactionReply): string {
  switch (reply.kind) {
    case 'over_budget':
      return texts.failureReasons.budget
    case 'aborted':
      return texts.failureReasons.aborted
    case 'failed':
      return texts.searchFailed(oneLine(reply.error.message))
    case 'answered':
      return texts.failureReasons.empty
  }
}

function oneLine(text: string): string {
  return headOf(text, 300)
    .replace(/[\s.]+$/, '')
    .replace(/\s+/g, ' ')
}

interface ServerSearch {
  readonly query: string
  readonly lists: Lists
  readonly denied: SearchBounds
}

/** Names of domain lists in tools of servers. */
const listNames = {
  allowed: ['allowed_domains', 'allowedDomains', 'include_domains', 'includeDomains'],
  blocked: ['blocked_domains', 'blockedDomains', 'exclude_domains', 'excludeDomains'],
} as const

async function searchByServer(server: SearchServer, search: ServerSearch, { signal }: Context): Promise<ToolOutput> {
  const schema = server.schema()
  if (schema === undefined) return failure(texts.notSearched(texts.searchToolMissing(server.name)))
  const fields = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const input: { [name: string]: JsonObject[string] } = { query: search.query }
  for (const kind of ['allowed', 'blocked'] as const) {
    const domains = search.lists[kind]
    if (domains.length === 0) continue
    const name = listNames[kind].find((each) => Object.hasOwn(fields, each))
    if (name === undefined) return failure(texts.notSearched(texts.searchToolWithoutDomains(server.name, kind)))
    input[name] = domains
  }
  try {
    const text = wellFormed(await server.ask(input, signal)).trim()
    const head = texts.searchedByTool(server.name)
    if (hostsIn(text).some(search.denied.denies)) return failure(texts.searchToolFoundDenied(server.name))
    const found = text === '' ? texts.nothingFound : bounded(text)
    return { content: `${head}\n\n${found}`, details: { query: search.query, server: server.name } }
  } catch (thrown) {
    if (signal.aborted) throw thrown
    return failure(texts.searchToolFailed(server.name, oneLine(messageOf(thrown))))
  }
}

/**
 * Hosts of the URLs in a text, whatever follows them: `URL` may take a comma or an asterisk as part of a host, and
 * JSON may escape a slash.
 */
function hostsIn(text: string): readonly string[] {
  const authorities = [...text.matchAll(/[\\/]{2,}([^\s\\/?#"'<>]+)/g)].map(([, authority = '']) => authority)
  const hosts = authorities.flatMap((authority) => authority.split('@')).map((part) => hostAt.exec(part)?.[0] ?? '')
  return [...new Set(hosts)].flatMap((host) => {
    const url = `http://${host}`
    return URL.canParse(url) ? [new URL(url).hostname] : []
  })
}

/** Matches letters of any script, separated by a dot of any script. */
const hostAt = /^[\p{L}\p{M}\p{N}\p{Cf}._%\u3002\uFF0E\uFF61-]+/u

const maxCharacters = 50_000

function bounded(text: string): string {
  return text.length <= maxCharacters
    ? text
    : `${headOf(text, maxCharacters)}${texts.moreCharacters(text.length - maxCharacters)}`
}

function failure(content: string): ToolOutput {
  return { content, isError: true }
}
