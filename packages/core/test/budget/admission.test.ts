// Holds rules of docs/spec: R-REQ-12: a model whose requests wait for their turn.
import { expect, test } from 'vitest'
import { resume, type Model } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, reader, run, until } from '../support/harness.ts'
import { killedAfter, killedBefore } from '../support/killed.ts'

/** Notes what happens; `isOpen` says whether anybody is let in. */
function gated(isOpen = true): { readonly model: Model; readonly told: string[] } {
  const told: string[] = []
  const inner = scriptedModel(() => 'answer')
  const model: Model = {
    ...inner,
    admit: async ({ tokens, signal }) => {
      told.push('waits')
      expect(tokens).toBeGreaterThan(0)
      if (!isOpen)
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))))
      return {
        call: (request, options) => {
          told.push('asks')
          return inner.call(request, options)
        },
        leave: () => void told.push('leaves'),
      }
    },
    call: (request, options) => {
      told.push('asks by itself')
      return inner.call(request, options)
    },
  }
  return { model, told }
}

test('is asked once its turn has come', async () => {
  const { model, told } = gated()
  const { terminal } = await begin([], { model }).loop.ended
  expect([terminal.reason, told]).toEqual(['completed', ['waits', 'asks']])
})

test('gets its turn back when the budget has no room', async () => {
  const { model, told } = gated()
  const { terminal } = await begin([], { model, prices, maxBudgetUsd: 10 }).loop.ended
  expect([terminal.reason, told]).toEqual(['max_budget_usd', ['waits', 'leaves']])
})

test('costs nothing when the run is aborted, or killed, while it waits', async () => {
  const { model, told } = gated(false)
  const options = { model, prices, maxBudgetUsd: 1e9 }
  const going = begin([], options)
  await until(() => told.length > 0)
  going.loop.abort('user')
  const { terminal } = await going.loop.ended
  expect([terminal.reason, terminal.committedUsd, told]).toEqual(['aborted_streaming', 0, ['waits']])
  const records = await killedBefore(({ type }) => type === 'result', { ...options, model: gated().model })
  const again = await resume(records, { ...options, model: scriptedModel(['answer']) }).loop.ended
  expect([again.terminal.reason, again.terminal.committedUsd]).toEqual(['completed', again.terminal.costUsd])
})

test('waits by itself in the process that finds the wait on record, and no request', async () => {
  let waits = 0
  const { model } = gated()
  const isAttempt = (key: string): boolean => key.endsWith('/model:1.1')
  const records = await killedBefore((record) => record.type === 'intent' && isAttempt(record.key), {
    model,
    prices,
    maxBudgetUsd: 1e9,
  })
  expect(records.some((record) => record.type === 'result' && record.key.endsWith('/admit:model:1.1'))).toBe(true)
  const later = gated()
  const counted: Model = { ...later.model, admit: (options) => (waits++, later.model.admit!(options)) }
  const { terminal } = await resume(records, { model: counted, prices, maxBudgetUsd: 1e9 }).loop.ended
  expect([terminal.reason, waits, later.told]).toEqual(['completed', 0, ['asks by itself']])
})

test('is one like any other where it has no such turn', async () => {
  const { steps } = await run(['answer'])
  expect(JSON.stringify(steps.records)).not.toContain('admit:')
})

test('keeps no place for a request that a program without turns had made before it was killed', async () => {
  const usage = { input_tokens: 10, output_tokens: 10 }
  const options = { tools: [reader('Look')], prices }
  const model = (): Model =>
    scriptedModel([
      { ...calls('Look'), usage },
      { text: 'answer', usage },
    ])
  let resumed = 0
  for (let count = 1; ; count++) {
    const records = await killedAfter(count, { ...options, model: model() })
    if (records.some(({ type }) => type === 'end')) break
    const { model: waiting, told } = gated()
    const lease = { name: 'ours', usd: 1_000_000, growTo: async () => undefined }
    const { terminal } = await resume(records, { ...options, model: waiting, lease }).loop.ended
    expect([count, terminal.reason]).toEqual([count, 'completed'])
    // Each turn that it was given is used, or given back.
    const times = (word: string): number => told.filter((one) => one === word).length
    expect([count, times('waits')]).toEqual([count, times('asks') + times('leaves')])
    resumed++
  }
  expect(resumed).toBeGreaterThan(5)
})
