// Tests R-REQ-12: a model whose requests wait in an admission queue.
import { expect, test } from 'vitest'
import { resume, type Model } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, reader, run, until } from '../support/harness.ts'
import { killedAfter, killedBefore } from '../support/kill-process.ts'

/** Records the calls of the admission port; `isOpen` decides whether a request is admitted. */
function gated(isOpen = true): { readonly model: Model; readonly calledMethods: string[] } {
  const calledMethods: string[] = []
  const inner = scriptedModel(() => 'answer')
  const model: Model = {
    ...inner,
    admit: async ({ tokens, signal }) => {
      calledMethods.push('waits')
      expect(tokens).toBeGreaterThan(0)
      if (!isOpen)
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))))
      return {
        call: (request, options) => {
          calledMethods.push('asks')
          return inner.call(request, options)
        },
        leave: () => void calledMethods.push('leaves'),
      }
    },
    call: (request, options) => {
      calledMethods.push('asks without a queue')
      return inner.call(request, options)
    },
  }
  return { model, calledMethods }
}

test('asks the model once admitted', async () => {
  const { model, calledMethods } = gated()
  const { terminal } = await begin([], { model }).loop.ended
  expect([terminal.reason, calledMethods]).toEqual(['completed', ['waits', 'asks']])
})

test('leaves the queue when the budget has no room', async () => {
  const { model, calledMethods } = gated()
  const { terminal } = await begin([], { model, prices, maxBudgetUsd: 10 }).loop.ended
  expect([terminal.reason, calledMethods]).toEqual(['max_budget_usd', ['waits', 'leaves']])
})

test('costs nothing when the run is aborted or killed while it waits', async () => {
  const { model, calledMethods } = gated(false)
  const options = { model, prices, maxBudgetUsd: 1e9 }
  const going = begin([], options)
  await until(() => calledMethods.length > 0)
  going.loop.abort('user')
  const { terminal } = await going.loop.ended
  expect([terminal.reason, terminal.committedUsd, calledMethods]).toEqual(['aborted_streaming', 0, ['waits']])
  const records = await killedBefore(({ type }) => type === 'result', { ...options, model: gated().model })
  const again = await resume(records, { ...options, model: scriptedModel(['answer']) }).loop.ended
  expect([again.terminal.reason, again.terminal.committedUsd]).toEqual(['completed', again.terminal.costUsd])
})

test('waits again in a process that finds the wait on record, before any request', async () => {
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
  expect([terminal.reason, waits, later.calledMethods]).toEqual(['completed', 0, ['asks without a queue']])
})

test('works like any other model when it has no queue', async () => {
  const { steps } = await run(['answer'])
  expect(JSON.stringify(steps.records)).not.toContain('admit:')
})

test('leaves no entry in the queue for a request that a killed process had made without one', async () => {
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
    const { model: waiting, calledMethods } = gated()
    const lease = { name: 'ours', usd: 1_000_000, growTo: async () => undefined }
    const { terminal } = await resume(records, { ...options, model: waiting, lease }).loop.ended
    expect([count, terminal.reason]).toEqual([count, 'completed'])
    // Each admission is either used or released.
    const times = (word: string): number => calledMethods.filter((one) => one === word).length
    expect([count, times('waits')]).toEqual([count, times('asks') + times('leaves')])
    resumed++
  }
  expect(resumed).toBeGreaterThan(5)
})
