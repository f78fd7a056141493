import type { Case, Outcome } from './billing-customer.ts'

/** What can happen to a run and its requests: a test that claims to hold for all of it has to have met all of it. */
const happenings = [
  'completed',
  'ended by the budget',
  'aborted',
  'killed',
  'killed in a request',
  'killed more than once',
  'cap lowered by the budget',
  'retried',
  'fell back',
  'wrapped up',
  'subagent',
  'subagents side by side',
  'cut',
  'paused',
  'refused by the model',
  'searched',
  'cache read',
  'cache written',
  'cache written for an hour',
  'upper tier',
  'usage absent',
  'usage zero',
  'usage start_only',
  'ending drop',
  'ending truncate',
  'ending stall',
  'ending error_event',
  'gateway',
  'error_in_200',
  'silent',
  'status 400',
  'status 401',
  'status 413',
  'status 429',
  'status 500',
  'status 529',
] as const

type Happening = (typeof happenings)[number]

/** Counts in how many cases each of them happened. */
export interface Tally {
  add(drawn: Case, outcome: Outcome): void
  /** Those that never happened. */
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

function* ofRun({ models }: Case, { reason, kills, killsInRequest, served }: Outcome): Iterable<Happening> {
  if (reason === 'completed') yield 'completed'
  if (reason === 'max_budget_usd' || reason === 'token_limit') yield 'ended by the budget'
  if (reason.startsWith('aborted_')) yield 'aborted'
  if (kills > 0) yield 'killed'
  if (kills > 1) yield 'killed more than once'
  if (killsInRequest > 0) yield 'killed in a request'
  if (served.some(({ model }) => model === models[1])) yield 'fell back'
  const agents = new Set(served.flatMap(({ key }) => /agent:\d+:\d+/.exec(key)?.[0] ?? []))
  if (agents.size > 0) yield 'subagent'
  const turns = new Set([...agents].map((agent) => agent.replace(/:\d+$/, '')))
  if (turns.size < agents.size) yield 'subagents side by side'
}

function* ofRequests(drawn: Case, { served }: Outcome): Iterable<Happening> {
  for (const { key, model, maxTokens, behaviour, bill } of served) {
    if (maxTokens !== drawn.defaultOutputTokens && maxTokens !== drawn.maxOutputTokens)
      yield 'cap lowered by the budget'
    if (/\.[2-9]$/.test(key)) yield 'retried'
    if (key.includes('wrap_up:')) yield 'wrapped up'
    if (bill !== null && bill.read > 0) yield 'cache read'
    if (bill !== null && bill.write5m > 0) yield 'cache written'
    if (bill !== null && bill.write1h > 0) yield 'cache written for an hour'
    if (bill !== null && bill.searches > 0) yield 'searched'
    if (bill !== null && model === 'tiered' && bill.promptTokens > 1_500) yield 'upper tier'
    if (behaviour.kind === 'refused') yield `status ${behaviour.status}`
    else if (behaviour.kind !== 'reply') yield behaviour.kind
    else {
      const { what, usage, ending } = behaviour
      if (what === 'cut') yield 'cut'
      if (what === 'pause') yield 'paused'
      if (what === 'refusal') yield 'refused by the model'
      if (usage !== 'told') yield `usage ${usage}`
      if (ending.how !== 'whole') yield `ending ${ending.how}`
    }
  }
}
