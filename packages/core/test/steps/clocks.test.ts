// Tests R-STEP-9a, R-STEP-9b, R-ABORT-8b, R-ABORT-8c, R-JOUR-4d: clocks that show a wrong time.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { streamRun, QueryEngine, replay, startRun, type RunOptions, type StepRecord } from '../../src/index.ts'
import { createMemorySteps, validateRecord, splitRuns, systemClock, type Clock } from '../../src/entries/steps.ts'
import { accountOf, trajectoryOf, whatIf } from '@halting/analysis'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json, reader } from '../support/harness.ts'

/** A clock that is set manually, forward or back, and whose timers fire too late, as on a machine that slept. */
function handClock(): Clock & { move(ms: number): void } {
  let time = 1_000_000
  return {
    now: () => time,
    after: () => () => {},
    move(ms) {
      time += ms
    },
  }
}

const usage = { input_tokens: 1_000, output_tokens: 100 }
/** A reply during which the clock is set. */
const replyThatMovesClock = (
  clock: { move(ms: number): void },
  ms: number,
  reply: ReturnType<typeof calls> | { readonly text: string } = { text: 'done' },
): ScriptedReply => ({ ...reply, usage, before: () => clock.move(ms) })

async function runWithClock(clock: Clock, script: readonly ScriptedReply[], overrides: Partial<RunOptions> = {}) {
  const steps = createMemorySteps({ clock })
  const model = scriptedModel(script)
  const { terminal } = await streamRun(startRun({ prompt: 'go' }), { model, clock, ...overrides, steps }).ended
  return { terminal, model, records: json(steps.records) as unknown as readonly StepRecord[] }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('the clock of the host', () => {
  test('is not the one that people and time servers set', () => {
    const before = systemClock.now()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    expect(systemClock.now() - before).toBeLessThan(3_600_000)
    vi.setSystemTime(1_000)
    expect(systemClock.now()).toBeGreaterThanOrEqual(before)
    expect(systemClock.wallTime?.()).toBe(1_000)
  })

  test('counts whole milliseconds', () => {
    expect(Number.isInteger(systemClock.now())).toBe(true)
  })

  test('names sessions by the time of day: two processes may have run equally long', () => {
    let callCount = 0
    const wallTime = (): number => 1_000 + callCount++
    const engine = new QueryEngine({
      model: scriptedModel([]),
      clock: { now: () => 5, wallTime, after: () => () => {} },
    })
    expect([callCount, engine.sessionId]).toEqual([1, expect.stringMatching(/^[\da-f-]{36}$/)])
  })
})

describe('a clock that is set back', () => {
  test('takes no time from work in flight, and time continues after it', async () => {
    const clock = handClock()
    const script = [replyThatMovesClock(clock, -700, calls('Look')), replyThatMovesClock(clock, 300)]
    const { terminal, records } = await runWithClock(clock, script, { tools: [reader('Look')] })
    const results = records.flatMap((record) => (record.type === 'result' ? [[record.at, record.durationMs]] : []))
    expect(results).toEqual([
      [0, 0],
      [0, 0],
      [0, 300],
    ])
    expect([terminal.reason, terminal.durationMs, terminal.summary.apiMs]).toEqual(['completed', 300, 300])
    expect(records.map(validateRecord)).toEqual(records.map(() => undefined))
  })

  test('does not stretch the time limit', async () => {
    const clock = handClock()
    const script = [replyThatMovesClock(clock, 400, calls('Look')), replyThatMovesClock(clock, -5_000, calls('Look'))]
    const last = replyThatMovesClock(clock, 700)
    const { terminal } = await runWithClock(clock, [...script, last], { tools: [reader('Look')], maxDurationMs: 1_000 })
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 1_100])
  })

  test('that returns no number stands still', async () => {
    const times = [0, Number.NaN, 100, Number.POSITIVE_INFINITY, 250]
    let reads = 0
    const clock: Clock = { now: () => times[Math.min(reads++, times.length - 1)] ?? 0, after: () => () => {} }
    const { terminal } = await runWithClock(clock, [{ text: 'done', usage }])
    expect([terminal.reason, terminal.durationMs <= 250]).toEqual(['completed', true])
  })
})

describe('a record of a clock that was set back', () => {
  const setBack = async (): Promise<readonly StepRecord[]> => {
    const clock = handClock()
    const { records } = await runWithClock(
      clock,
      [replyThatMovesClock(clock, 500, calls('Look')), replyThatMovesClock(clock, 200)],
      {
        tools: [reader('Look')],
      },
    )
    // As written by versions that measured by the time of day.
    return records.map((record) =>
      record.type === 'result' && record.key.includes('model:1.') ? { ...record, durationMs: -200 } : record,
    )
  }

  test('is valid, and its negative durations are read as none', async () => {
    const records = await setBack()
    expect(records.map(validateRecord)).toEqual(records.map(() => undefined))
    const [run = []] = splitRuns(records)
    expect(run.flatMap((record) => (record.type === 'result' ? [record.durationMs] : []))).toEqual([0, 0, 200])
    const stage = { type: 'stage', stage: { phase: 'ended', durationMs: -5 } } as unknown as StepRecord
    expect(splitRuns([...records, stage])[0]?.at(-1)).toMatchObject({ stage: { durationMs: 0 } })
  })

  test('has an account, a what-if result and a replay, also when it was not read through a session', async () => {
    const records = await setBack()
    const account = accountOf(records)
    expect(account.slowest.map(({ ms }) => ms)).toEqual([200])
    expect(account.totals.tokens).toBe(2_200)
    expect(whatIf(trajectoryOf(records), { maxTurns: 1 })).toMatchObject({ verdict: 'stops' })
    const { terminal } = await replay(records, { model: scriptedModel([]), tools: [reader('Look')] })
    expect([terminal.reason, terminal.summary.apiMs]).toEqual(['completed', 200])
  })
})

describe('a clock that jumps ahead, as on a machine that slept and whose timers fire late', () => {
  const hour = 3_600_000

  test('compares the limit with the time after a reply', async () => {
    const clock = handClock()
    const { terminal, records } = await runWithClock(clock, [replyThatMovesClock(clock, hour)], {
      maxDurationMs: 60_000,
    })
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', hour])
    // The cause of the end is on record: a replay has the same result.
    const replayed = await replay(records, { model: scriptedModel([]), maxDurationMs: 60_000 })
    expect(replayed.terminal.reason).toBe('time_limit')
  })

  test('starts no tool and makes no request after it', async () => {
    const clock = handClock()
    const ranTools: string[] = []
    const slow = { ...reader('Slow'), execute: () => (ranTools.push('Slow'), clock.move(hour), 'seen') }
    const next = { ...reader('Next'), readOnly: false, execute: () => (ranTools.push('Next'), 'done') }
    const both = {
      toolCalls: [
        { name: 'Slow', input: {} },
        { name: 'Next', input: {} },
      ],
      usage,
    } as ScriptedReply
    const { terminal, model } = await runWithClock(clock, [both, { text: 'done', usage }], {
      tools: [slow, next],
      maxDurationMs: 60_000,
    })
    expect([terminal.reason, ranTools, model.requests.length]).toEqual(['time_limit', ['Slow'], 1])
  })

  test('makes no attempt after a wait for the next one', async () => {
    const clock = handClock()
    const sleepy: Clock = {
      now: () => clock.now(),
      after(ms, callback) {
        if (ms > 30_000) return () => {}
        queueMicrotask(() => {
          clock.move(hour)
          callback()
        })
        return () => {}
      },
    }
    const failing = { error: { kind: 'overloaded', message: 'busy', retryable: true } } as unknown as ScriptedReply
    const { terminal, model } = await runWithClock(sleepy, [failing, { text: 'done', usage }], {
      maxDurationMs: 60_000,
    })
    expect([terminal.reason, model.requests.length]).toEqual(['time_limit', 1])
  })

  test('ends the run when the limit passes in a wait for the next attempt, even without budget for it', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const failing: ScriptedReply = { error: { kind: 'overloaded', message: 'busy', retryAfterMs: 500 } }
    const prices = { cost: () => 0, worstCase: () => 6 }
    const runOptions = { clock, prices, maxRetries: 3, maxBudgetUsd: 10 }
    const { terminal } = await runWithClock(clock, [failing, { text: 'done', usage }], {
      ...runOptions,
      maxDurationMs: 100,
    })
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 100])
    // With enough time it is the budget: the unreported cost of the first attempt was charged at its worst case.
    const longer = await runWithClock(clock, [failing, { text: 'done', usage }], {
      ...runOptions,
      maxDurationMs: 60_000,
    })
    expect(longer.terminal.reason).toBe('max_budget_usd')
  })

  test('does not affect a run without a limit', async () => {
    const clock = handClock()
    const { terminal } = await runWithClock(clock, [replyThatMovesClock(clock, hour)])
    expect(terminal.reason).toBe('completed')
  })
})
