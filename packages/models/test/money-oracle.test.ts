// Tests R-BUD-1, R-BUD-5a, R-BUD-11, R-BUD-14 to R-BUD-16 and R-LIM-60 of docs/spec: the cost of a run equals the bill
// of the service, for every form of billing. HALTING_MONEY_RUNS sets the number of random sequences, HALTING_MONEY_SEED
// their seed.
import type { Model, Usage } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPrices } from '../src/index.ts'
import { tieredPrice } from './support/billing-meter.ts'
import type { Pass } from './support/billing-passes.ts'
import { anySequence, runSequence } from './support/billing-sequence.ts'
import type { RunOutcome, Sequence, Settled } from './support/billing-sequence.ts'
import { drawn } from './support/deep.ts'

const prices = createPrices({ tiered: tieredPrice })
const numRuns = Number(process.env['HALTING_MONEY_RUNS'] ?? drawn(4_000))
const seed = Number(process.env['HALTING_MONEY_SEED'] ?? 20_261_122)

/** The reported usage has no figure that core would reject. */
const hasValidUsage = ({ account }: Settled): boolean => account.garbage === undefined

/** The amount that was billed beyond the reservation of a request. */
function above(currency: Sequence['currency'], { granted, picodollars, tokens }: Settled): number {
  return currency === 'usd' ? Number(picodollars) / 1_000 - granted.nanos : tokens - granted.tokens
}

function isSurprise(request: Settled): boolean {
  return above('usd', request) > 0.5 || above('tokens', request) > 0
}

/** Promises that this sequence broke. */
function broken(drawn: Sequence, outcome: RunOutcome): readonly string[] {
  const { requests, limit, committed, notices, modelUsage } = outcome
  const billed = requests.reduce((all, { picodollars }) => all + picodollars, 0n)
  const tokens = sum(requests.map((request) => request.tokens))
  const overshoot = (drawn.currency === 'usd' ? Number(billed) / 1_000 : tokens) - limit
  const surprises = requests.filter(isSurprise)
  const uncountable = requests.filter((request) => !hasValidUsage(request))
  // Of a request with uncountable usage nobody can know its hidden cost.
  const hid = (request: Settled): number => Math.max(0, above(drawn.currency, request))
  const promises: { readonly [promise: string]: boolean } = {
    'the run ends without an error': outcome.reason !== 'error' && outcome.reason !== 'model_error',
    'the reported usage equals the bill': requests.filter(hasValidUsage).every(isExact),
    'uncountable usage is charged at the reserved amount at least': uncountable.every(
      ({ charged, granted }) => !charged.known && charged.nanos >= granted.nanos && charged.tokens >= granted.tokens,
    ),
    'amounts are at least 0': [committed.nanos, committed.tokens].every((figure) => figure >= 0),
    'only hidden usage exceeds the reservation': surprises.every(({ account }) => account.hides !== 'nothing'),
    'the budget is exceeded by the hidden usage of one request at most':
      overshoot <= 0.5 + Math.max(0, ...requests.filter(hasValidUsage).map(hid)) + sum(uncountable.map(hid)),
    'its tokens are within its certificate':
      requests.some(({ account }) => account.hides !== 'nothing') || committed.tokens <= outcome.mostTokens,
    'hidden usage is noticed': said(notices, 'billed more') === surprises.filter(hasValidUsage).length,
    'uncountable usage is noticed': said(notices, 'cannot be counted') === uncountable.length,
    'each model has its own tokens': uncountable.length > 0 || isSame(modelUsage, tokensByModel(requests)),
  }
  return Object.entries(promises).flatMap(([promise, isKept]) => (isKept ? [] : [promise]))
}

/** Each pass is rounded up to a whole nano-dollar. */
function isExact({ charged, passes, picodollars, tokens }: Settled): boolean {
  const more = BigInt(charged.nanos) * 1_000n - picodollars
  return charged.known && charged.tokens === tokens && more >= 0n && more <= BigInt(passes.length + 1) * 1_000n
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((all, amount) => all + amount, 0)
}

function said(notices: readonly string[], words: string): number {
  return notices.filter((notice) => notice.includes(words)).length
}

function tokensByModel(requests: readonly Settled[]): RunOutcome['modelUsage'] {
  const byModel = new Map<string, { input: number; output: number }>()
  for (const { model, bill } of requests.flatMap(({ passes }): readonly Pass[] => passes)) {
    const before = byModel.get(model) ?? { input: 0, output: 0 }
    byModel.set(model, { input: before.input + bill.promptTokens, output: before.output + bill.output })
  }
  return Object.fromEntries(byModel)
}

function isSame(one: RunOutcome['modelUsage'], other: RunOutcome['modelUsage']): boolean {
  const entries = (figures: RunOutcome['modelUsage']): string =>
    JSON.stringify(Object.entries(figures).toSorted(([a], [b]) => a.localeCompare(b)))
  return entries(one) === entries(other)
}

/** The events of a sequence. A test that claims to cover all of them must have met each one. */
function happeningsIn(drawn: Sequence, outcome: RunOutcome): readonly string[] {
  const { requests } = outcome
  const types = new Set(requests.flatMap(({ passes }) => passes.map(({ type }) => type)))
  const met: { readonly [happening: string]: boolean } = {
    'compaction declared': drawn.compacts && types.has('compaction'),
    'advice declared': drawn.advises && types.has('advisor_message'),
    'hidden compaction': requests.some(({ account }) => account.hides === 'compaction'),
    'hidden advice': requests.some(({ account }) => account.hides === 'advice'),
    'over the budget': requests.some(isSurprise),
    'ended by the budget': outcome.reason === 'max_budget_usd' || outcome.reason === 'token_limit',
    'no request fits': requests.length === 0,
    completed: outcome.reason === 'completed',
    falling: requests.some(({ account }) => account.course === 'falling'),
    rising: requests.some(({ account }) => account.course === 'rising'),
    priority: requests.some(({ account }) => account.tier === 'priority'),
    garbage: requests.some((request) => !hasValidUsage(request)),
    searched: requests.some(({ passes }) => passes.some(({ bill }) => bill.searches > 0)),
    'cached for an hour': requests.some(({ passes }) => passes.some(({ bill }) => bill.write1h > 0)),
    'upper tier':
      drawn.model === 'tiered' && requests.some(({ passes }) => passes.some(({ bill }) => bill.promptTokens > 1_500)),
    chat: drawn.speaks === 'chat',
    responses: drawn.speaks === 'responses',
    'searched in responses':
      drawn.speaks === 'responses' && requests.some(({ passes }) => passes.some(({ bill }) => bill.searches > 0)),
  }
  return Object.entries(met).flatMap(([happening, isMet]) => (isMet ? [happening] : []))
}

describe("the run's cost equals the service's bill", () => {
  test("in every documented form, to the cent, and exceeds the budget only by one request's hidden cost", async () => {
    const met = new Set<string>()
    const keepsPromises = fc.asyncProperty(anySequence, async (drawn) => {
      const outcome = await runSequence(drawn, prices)
      for (const happening of happeningsIn(drawn, outcome)) met.add(happening)
      expect(broken(drawn, outcome)).toEqual([])
    })
    await fc.assert(keepsPromises, { numRuns, seed, endOnFailure: true })
    expect(numRuns < 400 ? 18 : met.size).toBe(18)
  }, 1_000_000)
})

describe('the test detects', () => {
  async function brokenIn(sabotage: (model: Model) => Model, own = prices): Promise<readonly string[]> {
    const all = new Set<string>()
    for (const drawn of fc.sample(anySequence, { numRuns: 120, seed: 20_261_122 })) {
      for (const promise of broken(drawn, await runSequence(drawn, own, sabotage))) all.add(promise)
    }
    return [...all].toSorted()
  }

  /** A model whose reported usage is changed. */
  const telling =
    (change: (usage: Usage) => Usage) =>
    (model: Model): Model => ({
      ...model,
      async call(request, options) {
        const { message, ...reply } = await model.call(request, options)
        return { ...reply, message: { ...message, usage: change(message.usage) } }
      },
    })

  test('passes that are not charged', async () => {
    expect(await brokenIn(telling(({ iterations: _, ...usage }) => usage))).toEqual([
      'each model has its own tokens',
      'hidden usage is noticed',
      'the reported usage equals the bill',
    ])
  })

  test('output counts that are reported too low', async () => {
    const lower = telling((usage) => ({ ...usage, output_tokens: Math.floor(usage.output_tokens / 2) }))
    expect(await brokenIn(lower)).toContain('the reported usage equals the bill')
  })

  test('a minimum token price that is too high', async () => {
    const dear = { ...prices, leastPerToken: (id: string) => prices.cost(id, { ...noUsage, output_tokens: 1 }) }
    expect(await brokenIn((model) => model, dear)).toEqual(['its tokens are within its certificate'])
  })

  test('passes for which nothing was reserved', async () => {
    const undeclared = ({ extraPasses: _, ...model }: Model): Model => model
    expect(await brokenIn(undeclared)).toContain('only hidden usage exceeds the reservation')
  })
})
