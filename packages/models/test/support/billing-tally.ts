import type { ReplyBehaviour } from './billing-behaviour.ts'
import { chatWire } from './billing-chat-wire.ts'
import { messagesWire } from './billing-messages-wire.ts'
import type { Case, Outcome } from './billing-customer.ts'
import type { Served } from './billing-service.ts'

/** Events of a run. A test that claims to cover all of them must have met each one. */
const ofRuns = [
  'completed',
  'ended by the budget',
  'aborted',
  'killed',
  'killed in a request',
  'killed more than once',
  'fell back',
  'fell back from messages to chat',
  'fell back from chat to messages',
  'fell back to or from responses',
  'subagent',
  'subagents side by side',
] as const

/** Events of a request, whatever its format is. */
const inEither = [
  'aborted',
  'killed',
  'cap lowered by the budget',
  'retried',
  'wrapped up',
  'cut',
  'refused by the model',
  'thought',
  'cache read',
  'cache written',
  'upper tier',
  'usage absent',
  'usage zero',
  'usage no_prompt',
  'usage start_only',
  'ending drop',
  'ending truncate',
  'ending stall',
  'ending error_event',
  'gateway page',
  'gateway message',
  'gateway error',
  'error_in_200',
  'silent',
  'status 400',
  'status 401',
  'status 413',
  'status 429',
  'status 500',
  'status 529',
] as const
const inMessages = ['paused', 'searched', 'cache written for an hour'] as const
const inResponses = ['searched'] as const
const inChat = ['usage running', 'usage with_reason', 'ended with running usage', 'thought apart'] as const

type Format = 'messages' | 'chat' | 'responses'
type InRequest = (typeof inEither | typeof inMessages | typeof inChat)[number]
type Happening = (typeof ofRuns)[number] | `${Format}: ${InRequest}`

const happenings: readonly Happening[] = [
  ...ofRuns,
  ...[...inEither, ...inMessages].map((each) => `messages: ${each}` as const),
  ...[...inEither, ...inChat].map((each) => `chat: ${each}` as const),
  // An intermediary responds in the same way for every format.
  ...[...inEither.filter((each) => !/^(status|gateway)/.test(each)), ...inResponses].map(
    (each) => `responses: ${each}` as const,
  ),
]

/** Counts the cases in which each event happened. */
export interface Tally {
  add(drawn: Case, outcome: Outcome): void
  /** Events that never happened. */
  missing(): readonly Happening[]
  readonly counts: ReadonlyMap<Happening, number>
}

export function createTally(): Tally {
  const counts = new Map<Happening, number>()
  return {
    counts,
    add(drawn, outcome) {
      for (const each of new Set([...ofRun(drawn, outcome), ...ofRequests(drawn, outcome)])) {
        counts.set(each, (counts.get(each) ?? 0) + 1)
      }
    },
    missing: () => happenings.filter((each) => !counts.has(each)),
  }
}

function* ofRun({ models: [first, fallback] }: Case, outcome: Outcome): Iterable<Happening> {
  const { reason, kills, killsInRequest, served } = outcome
  if (reason === 'completed') yield 'completed'
  if (reason === 'max_budget_usd' || reason === 'token_limit') yield 'ended by the budget'
  if (reason.startsWith('aborted_')) yield 'aborted'
  if (kills > 0) yield 'killed'
  if (kills > 1) yield 'killed more than once'
  if (killsInRequest > 0) yield 'killed in a request'
  if (served.some(({ model }) => model === fallback.name)) {
    yield 'fell back'
    if (first.speaks === 'messages' && fallback.speaks === 'chat') yield 'fell back from messages to chat'
    if (first.speaks === 'chat' && fallback.speaks === 'messages') yield 'fell back from chat to messages'
    if (first.speaks !== fallback.speaks && [first.speaks, fallback.speaks].includes('responses'))
      yield 'fell back to or from responses'
  }
  const agents = new Set(served.flatMap(({ key }) => /agent:\d+:\d+/.exec(key)?.[0] ?? []))
  if (agents.size > 0) yield 'subagent'
  const turns = new Set([...agents].map((agent) => agent.replace(/:\d+$/, '')))
  if (turns.size < agents.size) yield 'subagents side by side'
}

function* ofRequests(drawn: Case, outcome: Outcome): Iterable<Happening> {
  for (const request of outcome.served) {
    for (const each of ofRequest(drawn, request)) yield `${formatOf(request)}: ${each}`
  }
  for (const { request, what } of outcome.interrupted) {
    yield `${formatOf(request)}: ${what === 'kill' ? 'killed' : 'aborted'}`
  }
}

function formatOf({ wire }: Pick<Served, 'wire'>): Format {
  if (wire === messagesWire) return 'messages'
  return wire === chatWire ? 'chat' : 'responses'
}

function* ofRequest(drawn: Case, { key, model, wire, maxTokens, behaviour, bill }: Served): Iterable<InRequest> {
  if (maxTokens !== drawn.defaultOutputTokens && maxTokens !== drawn.maxOutputTokens) yield 'cap lowered by the budget'
  if (/\.[2-9]$/.test(key)) yield 'retried'
  if (key.includes('wrap_up:')) yield 'wrapped up'
  if (bill !== null && bill.read > 0) yield 'cache read'
  if (bill !== null && bill.write5m > 0) yield 'cache written'
  if (bill !== null && bill.write1h > 0) yield 'cache written for an hour'
  if (bill !== null && bill.searches > 0) yield 'searched'
  if (bill !== null && model === 'tiered' && bill.promptTokens > 1_500) yield 'upper tier'
  if (behaviour.kind === 'refused') yield `status ${behaviour.status}`
  else if (behaviour.kind === 'gateway') yield `gateway ${behaviour.says}`
  else if (behaviour.kind !== 'reply') yield behaviour.kind
  else yield* ofReply(behaviour, formatOf({ wire }))
}

function* ofReply({ what, usage, ending, ...drawn }: ReplyBehaviour, format: Format): Iterable<InRequest> {
  const isChat = format === 'chat'
  if (what === 'cut') yield 'cut'
  if (what === 'pause' && format === 'messages') yield 'paused'
  if (what === 'refusal') yield 'refused by the model'
  if (drawn.isThinking) yield 'thought'
  if (ending.how !== 'whole') yield `ending ${ending.how}`
  if (usage === 'running' || usage === 'with_reason') {
    if (!isChat) return
    yield `usage ${usage}`
    if (usage === 'running' && ending.how !== 'whole' && ending.at > 0.2 && ending.at < 0.9)
      yield 'ended with running usage'
  } else if (usage !== 'reported') yield `usage ${usage}`
  if (isChat && drawn.thoughtIsApart && drawn.hidden > 0) yield 'thought apart'
}
