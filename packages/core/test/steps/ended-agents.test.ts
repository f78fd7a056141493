// Holds rules of docs/spec: R-BACK-15b: an agent of the background whose end is on record does not go on, whatever program resumes.
import { expect, test } from 'vitest'
import { resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { recordedWork } from '@halting/analysis'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { agent, byPrompt, start } from '../support/background.ts'
import { calls, dollarATokenPrices as prices, json, run, tool } from '../support/harness.ts'
import { killedAfter } from '../support/killed.ts'

/** A run beside which an agent writes three times; `written` has the keys of what it wrote. */
function world(written: string[]): RunOptions {
  const script = byPrompt({
    go: [calls(start('sub')), 'it works', 'done'],
    sub: [calls('Write'), calls('Write'), calls('Write'), 'found'],
  })
  const write = tool('Write', (_input, { idempotencyKey }) => {
    written.push(idempotencyKey)
    return 'ok'
  })
  return {
    model: scriptedModel(script, { maxOutputTokens: 2_000 }),
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [agent(), write],
  }
}

/** What all attempts on record come to, with those whose replies are not. */
const paidIn = (records: readonly StepRecord[]): number =>
  recordedWork(records).requests.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9

async function goOn(records: readonly StepRecord[], options: RunOptions) {
  const { loop, steps } = resume(records, options)
  const { terminal } = await loop.ended
  return { terminal, records: json(steps.records) as never as readonly StepRecord[] }
}

const tellsItsEnd = (record: StepRecord): boolean =>
  (record.type === 'control' && record.control.agents !== undefined) ||
  (record.type === 'result' && record.key.endsWith('/background:stop'))

test('it writes no more where its tool was gone, its end is on record, and the tool is there again; its cost is in that of the run', async () => {
  const { steps } = await run([], world([]) as never)
  let ended = 0
  for (let count = 2; count < steps.records.length; count++) {
    const killed = await killedAfter(count, world([]))
    if (killed.some((record) => record.type === 'end' && record.scope === '')) continue
    const first = await goOn(killed, { ...world([]), tools: [] })
    for (let length = killed.length; length < first.records.length; length++) {
      const left = first.records.slice(0, length)
      const written: string[] = []
      const second = await goOn(left, world(written))
      expect([count, length, second.terminal.committedUsd]).toEqual([count, length, paidIn(second.records)])
      if (!left.some(tellsItsEnd)) continue
      expect([count, length, written]).toEqual([count, length, []])
      ended++
    }
  }
  expect(ended).toBeGreaterThan(3)
})
