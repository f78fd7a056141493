// Tests R-REQ-1c, R-REQ-1d, R-RES-4: a request whose reply was lost with its process does not count as a failure of the model.
import { describe, expect, test } from 'vitest'
import { replay, resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { accountOf } from '@halting/analysis'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json, reader } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const done: ScriptedReply = { text: 'done', usage }
const busy: ScriptedReply = { error: { kind: 'overloaded', message: 'busy' } }
const reset: ScriptedReply = { error: { kind: 'connection', message: 'reset' } }
const prices = { cost: () => 1, worstCase: () => 5 }

type Made = Partial<RunOptions>

/** The process dies before it records the model's reply to this attempt. */
const lost = (name: string) => (record: StepRecord) => record.type === 'result' && record.key.endsWith(name)

const optionsOf = (script: readonly ScriptedReply[], overrides: Made): RunOptions => ({
  clock: createFakeClock({ autoAdvance: true }),
  model: scriptedModel(script),
  prices,
  ...overrides,
})

/** A resume that dies again before it records this. */
async function resumedUntil(
  records: readonly StepRecord[],
  isFatal: (record: StepRecord) => boolean,
  options: RunOptions,
): Promise<readonly StepRecord[]> {
  const storedRecords: StepRecord[] = []
  let isDead = false
  await new Promise<void>((dead) => {
    const log = {
      keeps: 'all' as const,
      append(record: StepRecord) {
        if (isDead || isFatal(record)) {
          isDead = true
          dead()
          throw new Error('died')
        }
        storedRecords.push(json(record) as unknown as StepRecord)
      },
      flush: () => undefined,
    }
    void resume(records, options, undefined, log).loop.ended.then(() => dead())
  })
  return [...records, ...storedRecords]
}

async function resumed(records: readonly StepRecord[], options: RunOptions) {
  const { loop, steps } = resume(records, options)
  const { terminal } = await loop.ended
  const all = 'records' in steps ? steps.records : []
  return { terminal, records: all, model: options.model as ReturnType<typeof scriptedModel> }
}

describe('a request whose reply was lost with its process', () => {
  test('is asked again, also with no retries, and its cost counts', async () => {
    const runOptions = { maxRetries: 0 }
    const records = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    const { terminal, model, records: all } = await resumed(records, optionsOf([done], runOptions))
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 1])
    expect([terminal.costUsd, terminal.committedUsd]).toEqual([1, 6])
    expect(accountOf(all).totals.committedUsd).toBe(6)
    const replayed = await replay(all, optionsOf([], runOptions))
    expect([replayed.terminal.reason, replayed.terminal.committedUsd]).toEqual(['completed', 6])
  })

  test('ended the run in earlier versions, whose records are replayed to the same end', async () => {
    const runOptions = { maxRetries: 0 }
    const records = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    const { terminal } = await replay(records, optionsOf([], runOptions))
    expect([terminal.reason, terminal.error?.message]).toEqual([
      'model_error',
      expect.stringContaining('ended repeatedly'),
    ])
  })

  test('does not use up retries: two kills, then a failure that is retried', async () => {
    const runOptions = { maxRetries: 1 }
    const first = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    const second = await resumedUntil(first, lost('model:1.2'), optionsOf([done], runOptions))
    const { terminal, model } = await resumed(second, optionsOf([reset, done], runOptions))
    expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual(['completed', 2, 16])
    const failing = await resumed(second, optionsOf([reset, reset, done], runOptions))
    expect([failing.terminal.reason, failing.model.requests.length]).toEqual(['model_error', 2])
    expect([...failing.terminal.signals].map(({ context }) => context['attempts'])).toEqual([2])
  })

  test('may lie between failures that count', async () => {
    const runOptions = { maxRetries: 2 }
    const first = await killedBefore(lost('model:1.2'), optionsOf([reset, done], runOptions))
    const { terminal, model } = await resumed(first, optionsOf([reset, done], runOptions))
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 2])
  })

  test('of a tool’s turn is no failure, and the turn continues', async () => {
    const runOptions = { maxRetries: 0, tools: [reader('Look')] }
    const records = await killedBefore(lost('model:2.1'), optionsOf([{ ...calls('Look'), usage }, done], runOptions))
    const { terminal, model } = await resumed(records, optionsOf([done], runOptions))
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 1])
  })

  test('does not prevent the fallback model from taking over', async () => {
    const fallbackModel = scriptedModel([done], { id: 'fallback' })
    const runOptions = { maxRetries: 0, fallbackModel }
    const records = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    const { terminal, model } = await resumed(records, optionsOf([busy], runOptions))
    expect([terminal.reason, model.requests.length, fallbackModel.requests.length]).toEqual(['completed', 1, 1])
  })

  test('neither counts as one of three overloads in a row nor interrupts them', async () => {
    const fallbackModel = scriptedModel([done], { id: 'fallback' })
    const runOptions = { maxRetries: 9, fallbackModel }
    const records = await killedBefore(lost('model:1.3'), optionsOf([busy, busy, done], runOptions))
    const { model } = await resumed(records, optionsOf([busy, 'never'], runOptions))
    expect([model.requests.length, fallbackModel.requests.length]).toEqual([1, 1])
  })

  test('does not take the second request of an empty reply', async () => {
    const runOptions = { maxRetries: 1 }
    const first = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    const empty: ScriptedReply = { text: '', usage }
    const { terminal, model } = await resumed(first, optionsOf([empty, done], runOptions))
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 2])
  })

  test('is not repeated forever: a request that kills the process each time ends the run', async () => {
    const runOptions = { maxRetries: 0 }
    let records = await killedBefore(lost('model:1.1'), optionsOf([done], runOptions))
    let kills = 1
    for (let attempt = 2; ; attempt++) {
      const before = records.length
      const next = await resumedUntil(records, lost(`model:1.${attempt}`), optionsOf([done], runOptions))
      records = next
      if (next.at(-1)?.type === 'end') break
      expect(next.length).toBeGreaterThan(before)
      kills++
    }
    const end = records.at(-1)
    expect([kills, end?.type === 'end' ? end.terminal.reason : '']).toEqual([11, 'model_error'])
    expect(end?.type === 'end' ? end.terminal.error?.message : '').toContain('ended repeatedly')
  })
})
