// The hard budget of docs/spec, R-BUD-1 to R-BUD-6 and R-RES-4 to R-RES-5, from the loop to the wire.
// HALTING_BUDGET_RUNS sets the number of random cases, HALTING_BUDGET_SEED their seed.
import { ModelError } from '@halting/core'
import type { Model, Prices, StepRecord } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPrices } from '../src/index.ts'
import { anyBehaviours, anyTerms } from './support/billing-behaviour.ts'
import { runCase } from './support/billing-customer.ts'
import type { Case, DrawnModel, Outcome, Sabotage } from './support/billing-customer.ts'
import { anyInterruptions } from './support/billing-interruptions.ts'
import { tieredPrice } from './support/billing-meter.ts'
import { createTally } from './support/billing-tally.ts'
import { drawn, isDeep, isWhole } from './support/deep.ts'

const prices = createPrices({ tiered: tieredPrice })
const numRuns = Number(process.env['HALTING_BUDGET_RUNS'] ?? (isWhole ? 700 : drawn(400)))
const seed = Number(process.env['HALTING_BUDGET_SEED'] ?? 20_261_110)

type Speaks = DrawnModel['speaks']

/** Each protocol may be used. Those with their own events are drawn more often. */
const everyProtocol: readonly Speaks[] = ['messages', 'chat', 'messages', 'chat', 'responses']

const drawnModel = (name: string, protocols: readonly Speaks[]): fc.Arbitrary<DrawnModel> =>
  fc.record({ name: fc.constant(name), speaks: fc.constantFrom(...protocols), terms: anyTerms })

const anyModels = (protocols: readonly Speaks[]): fc.Arbitrary<Case['models']> =>
  fc
    .constantFrom(
      ['claude-opus-5-5', 'claude-haiku-4-5'] as const,
      ['claude-haiku-4-5', 'claude-fable-5'] as const,
      ['tiered', 'claude-opus-5-5'] as const,
      ['openai/gpt-4.1', 'tiered'] as const,
    )
    .chain(([first, fallback]) => fc.tuple(drawnModel(first, protocols), drawnModel(fallback, protocols)))

function caseIn(currency: Case['currency'], protocols = everyProtocol): fc.Arbitrary<Case> {
  return fc.record({
    models: anyModels(protocols),
    behaviours: anyBehaviours,
    interruptions: anyInterruptions,
    currency: fc.constant(currency),
    budget: fc.double({ min: 0.5, max: 12, noNaN: true }),
    maxOutputTokens: fc.integer({ min: 1_000, max: 8_000 }),
    defaultOutputTokens: fc.integer({ min: 100, max: 1_000 }),
    minUsefulTokens: fc.constantFrom(1, 50, 1_024),
    wrapUp: fc.boolean(),
    tokenBudget: fc.constantFrom(null, 3_000),
    maxSearches: fc.constantFrom(0, 0, 0, 1, 3),
    graceMs: fc.constantFrom(0, 250),
  })
}

/** Promises that this run broke. */
function broken({ currency }: Case, { billed, committed, limit, ...outcome }: Outcome): readonly string[] {
  const committedNanos = BigInt(Math.round(committed.usd * 1e9))
  const promises = {
    'the run does not break': outcome.reason !== 'error',
    'no more is billed than the budget':
      currency === 'usd' ? billed.picodollars <= BigInt(limit) * 1_000n : billed.tokens <= limit,
    'the run reports at least the bill':
      billed.picodollars <= committedNanos * 1_000n && billed.tokens <= committed.tokens,
    'no request is billed more than was reserved for it': outcome.underReserved.length === 0,
    'no request is settled below its bill': outcome.underSettled.length === 0,
  }
  return Object.entries(promises).flatMap(([promise, isKept]) => (isKept ? [] : [promise]))
}

describe('the bill of a service, including aborted, dropped and killed requests', () => {
  test.each(['usd', 'tokens'] as const)(
    'never exceeds the budget in %s, or what the run reports',
    async (currency) => {
      const tally = createTally()
      const keepsPromises = fc.asyncProperty(caseIn(currency), async (drawn) => {
        const outcome = await runCase(drawn, prices)
        tally.add(drawn, outcome)
        expect(broken(drawn, outcome)).toEqual([])
      })
      await fc.assert(keepsPromises, { numRuns, seed, endOnFailure: true })
      // 700 cases include everything that can happen.
      expect(numRuns < 700 ? [] : tally.missing()).toEqual([])
    },
    1_000_000,
  )
})

describe('the test detects', () => {
  /** Every promise that these cases break. */
  async function brokenIn(
    currency: Case['currency'],
    using: Prices,
    sabotage: Sabotage,
    cases = isDeep ? 60 : 30,
  ): Promise<readonly string[]> {
    const all = new Set<string>()
    for (const drawn of fc.sample(caseIn(currency, ['messages', 'chat']), { numRuns: cases, seed: 20_261_110 })) {
      for (const promise of broken(drawn, await runCase(drawn, using, sabotage))) all.add(promise)
    }
    return [...all].toSorted()
  }
  const allBroken = [
    'no more is billed than the budget',
    'no request is billed more than was reserved for it',
    'no request is settled below its bill',
    'the run reports at least the bill',
  ]

  test('reservations that are too small', async () => {
    const tooSmall: Prices = {
      cost: (model, usage) => prices.cost(model, usage),
      worstCase: (model, bound) => prices.worstCase(model, { ...bound, outputTokens: bound.outputTokens / 4 }),
    }
    expect(await brokenIn('usd', tooSmall, {})).toEqual(allBroken)
  })

  test.each(['usd', 'tokens'] as const)('failures that are not charged, in %s', async (currency) => {
    const takenForFree = (model: Model): Model => ({
      ...model,
      async call(request, options) {
        try {
          return await model.call(request, options)
        } catch (error) {
          throw error instanceof ModelError ? new ModelError({ ...error.toRecord(), billed: 'nothing' }) : error
        }
      },
    })
    expect(await brokenIn(currency, prices, { model: takenForFree })).toEqual([
      allBroken[0],
      allBroken[2],
      allBroken[3],
    ])
  })

  test('a resume that forgets open requests', async () => {
    const forgetful = (records: readonly StepRecord[]): readonly StepRecord[] => {
      const ended = new Set(records.flatMap((record) => (record.type === 'result' ? [record.key] : [])))
      return records.filter((record) => record.type !== 'intent' || ended.has(record.key))
    }
    // The progress of a request at the kill depends on the machine. So does whether the budget itself is exceeded.
    expect(await brokenIn('usd', prices, { onDisk: forgetful }, 160)).toEqual(
      expect.arrayContaining([allBroken[2], allBroken[3]]),
    )
  })
})
