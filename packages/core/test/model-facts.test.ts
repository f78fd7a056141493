// Tests that wrapped models keep all facts of the model, also when it is a class with getters.
import { expect, test } from 'vitest'
import { cappedModel } from '../src/after/stage-run.ts'
import { modelFacts } from '../src/entries/adapters.ts'
import { type Model, ModelError } from '../src/index.ts'
import { withWebSearches } from '../src/model/web-search.ts'
import { dollarATokenPrices as prices, run } from './support/harness.ts'

/** None of its facts is an own property. */
class Getters implements Model {
  /** For the harness. */
  readonly requests: readonly never[] = []
  get id(): string {
    return 'getters'
  }
  get contextWindow(): number {
    return 9_000
  }
  get maxOutputTokens(): number {
    return 4_000
  }
  get defaultOutputTokens(): number {
    return 3_000
  }
  get maxServerToolUses(): number {
    return Infinity
  }
  get webSearch(): { readonly domains: 'none' } {
    return { domains: 'none' }
  }
  get extraPasses(): NonNullable<Model['extraPasses']> {
    return []
  }
  get maxImageTokens(): number {
    return 5
  }
  async lookUpUsage(): Promise<{ readonly usd: number }> {
    return { usd: this.maxImageTokens }
  }
  async call(): Promise<never> {
    throw new ModelError({ kind: 'connection', message: 'It broke off.', billed: 'unknown' })
  }
}

const facts = {
  id: 'getters',
  contextWindow: 9_000,
  maxOutputTokens: 4_000,
  defaultOutputTokens: 3_000,
  maxServerToolUses: Infinity,
  webSearch: { domains: 'none' },
  extraPasses: [],
  maxImageTokens: 5,
  lookUpUsage: expect.any(Function),
}

test('keeps all facts of a class with getters', () => {
  expect(modelFacts(new Getters())).toEqual(facts)
})

test('asks a model itself for what it reports later about a reply', async () => {
  const capped = cappedModel(new Getters(), 100)
  expect(await capped.lookUpUsage?.('id', { signal: new AbortController().signal })).toEqual({ usd: 5 })
})

test('keeps all facts of a capped model except its caps', () => {
  const { defaultOutputTokens: _, ...others } = facts
  expect(cappedModel(new Getters(), 100)).toMatchObject({ ...others, maxOutputTokens: 100 })
})

test('keeps all facts of a model bounded with searches except its uses', () => {
  expect(withWebSearches(new Getters(), { maxUses: 2 })).toMatchObject(facts)
})

test('charges a finite amount for a request without a report, even with unlimited tool uses', async () => {
  const { terminal } = await run([], { model: new Getters(), prices, maxRetries: 0 })
  expect(terminal.committedUsd).toBeGreaterThan(0)
  expect(Number.isFinite(terminal.committedUsd)).toBe(true)
})
