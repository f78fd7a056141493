// Tests R-BACK-15b: a background agent whose end is on record does not continue, whatever program resumes.
import { expect, test } from 'vitest'
import { resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { recordedWork } from '@halting/analysis'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { agent, byPrompt, start } from '../support/background.ts'
import { calls, dollarATokenPrices as prices, json, run, tool } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** A run with a background agent that writes three times; `written` contains the keys of the writes. */
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

/** The cost of all recorded attempts, including those whose replies are not recorded. */
const paidIn = (records: readonly StepRecord[]): number =>
  recordedWork(records).requests.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9

async function resumeRun(records: readonly StepRecord[], options: RunOptions) {
  const { loop, steps } = resume(records, options)
  const { terminal } = await loop.ended
  return { terminal, records: json(steps.records) as never as readonly StepRecord[] }
}

const recordsItsEnd = (record: StepRecord): boolean =>
  (record.type === 'control' && record.control.agents !== undefined) ||
  (record.type === 'result' && record.key.endsWith('/background:stop'))

test('an agent that ended for a missing tool stays ended when the tool is back, and its cost counts in the run', async () => {
  const { steps } = await run([], world([]) as never)
  let ended = 0
  for (let count = 2; count < steps.records.length; count++) {
    const killed = await killedAfter(count, world([]))
    if (killed.some((record) => record.type === 'end' && record.scope === '')) continue
    const first = await resumeRun(killed, { ...world([]), tools: [] })
    for (let length = killed.length; length < first.records.length; length++) {
      const left = first.records.slice(0, length)
      const written: string[] = []
      const second = await resumeRun(left, world(written))
      expect([count, length, second.terminal.committedUsd]).toEqual([count, length, paidIn(second.records)])
      if (!left.some(recordsItsEnd)) continue
      expect([count, length, written]).toEqual([count, length, []])
      ended++
    }
  }
  expect(ended).toBeGreaterThan(3)
})
