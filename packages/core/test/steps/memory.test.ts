// Tests R-STEP-4 to R-STEP-9, R-STEP-12.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, HaltingError, type StepRecord } from '../../src/index.ts'
import type { StepKey, StepEngine } from '../../src/entries/steps.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { calls, reader, run, until } from '../support/harness.ts'

const signal = new AbortController().signal
const base = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'none' } as const
const value = (steps: StepEngine, key: StepKey, result: string, more: object = {}) =>
  steps.run(key, () => Promise.resolve(result), { ...base, ...more })

describe('the step engine in memory', () => {
  test('records a result, when it began and how long it took', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    await clock.advance(10)
    const startedAt = clock.now()
    expect(await steps.run('k', async () => (await clock.advance(5), 'v'), base)).toEqual({
      value: 'v',
      replayed: false,
      at: startedAt,
      durationMs: 5,
    })
    expect(steps.records).toEqual([
      { type: 'result', key: 'k', digest: null, value: 'v', at: startedAt, durationMs: 5 },
    ])
  })

  test('records the intent before the side effect is called', async () => {
    const seen: string[] = []
    const steps = createMemorySteps({ clock: createFakeClock(), onRecord: ({ type }) => void seen.push(type) })
    await steps.run('k', () => (seen.push('effect'), Promise.resolve('v')), {
      ...base,
      intent: () => ({ a: 1 }),
      digest: () => 'd',
    })
    expect(seen).toEqual(['intent', 'effect', 'result'])
    expect(steps.records[0]).toEqual({ type: 'intent', key: 'k', digest: 'd', intent: { a: 1 }, at: 0 })
  })

  test('gives each step the same name for every try', async () => {
    const steps = createMemorySteps({ clock: createFakeClock(), sessionId: 's' })
    expect((await steps.run('run1/k', ({ idempotencyKey }) => Promise.resolve(idempotencyKey), base)).value).toBe(
      's/run1/k',
    )
  })
})

describe('answering from a record', () => {
  const recorded = async (): Promise<readonly StepRecord[]> => {
    const steps = createMemorySteps({ clock: createFakeClock() })
    await value(steps, 'a', 'first', { digest: () => 'd' })
    return steps.records
  }

  test('returns the recorded result and calls nothing', async () => {
    const steps = createMemorySteps({ replay: await recorded(), clock: createFakeClock() })
    expect(steps.replaying).toBe(true)
    expect(await value(steps, 'a', 'again', { digest: () => 'd' })).toMatchObject({ value: 'first', replayed: true })
    expect((await value(steps, 'b', 'new')).replayed).toBe(false)
    expect(steps.replaying).toBe(false)
  })

  test('rejects another digest under the same key as a mismatch', async () => {
    const steps = createMemorySteps({ replay: await recorded(), clock: createFakeClock() })
    const mismatch = value(steps, 'a', 'again', { digest: () => 'other' })
    await expect(mismatch).rejects.toThrow(HaltingError)
    await expect(mismatch).rejects.toMatchObject({ code: 'step_mismatch' })
  })

  test('repeats an intent without a result, or uses the meaning that the step defines', async () => {
    const open: StepRecord = { type: 'intent', key: 'a', digest: null, intent: { cost: 5 }, at: 3 }
    const again = createMemorySteps({ replay: [open], clock: createFakeClock() })
    expect(await value(again, 'a', 'again')).toMatchObject({ value: 'again', replayed: false })
    expect(again.records.map(({ type }) => type)).toEqual(['intent', 'result'])
    const resumed = createMemorySteps({ replay: [open], clock: createFakeClock() })
    expect(
      await value(resumed, 'a', 'never', { onUnfinished: (intent: unknown) => `unknown ${JSON.stringify(intent)}` }),
    ).toEqual({ value: 'unknown {"cost":5}', replayed: true, at: 3, durationMs: 0 })
  })

  test('answers the parts of a recorded composite: nothing is left to replay', async () => {
    const done = (key: StepKey): StepRecord => ({ type: 'result', key, digest: null, value: key, at: 0, durationMs: 0 })
    const steps = createMemorySteps({ replay: [done('c/1'), done('c/2'), done('c')], clock: createFakeClock() })
    expect(await value(steps, 'c', 'never', { composite: true })).toMatchObject({ value: 'c', replayed: true })
    let polled = 0
    const poll = () => (polled++, undefined)
    expect([steps.replaying, steps.peek('c/1'), await steps.control('next', poll), polled]).toEqual([
      false,
      'absent',
      undefined,
      1,
    ])
  })

  test('rejects what is not on record when it may only replay', async () => {
    const steps = createMemorySteps({ replay: await recorded(), recordedOnly: true, clock: createFakeClock() })
    await expect(value(steps, 'b', 'new')).rejects.toMatchObject({ code: 'replay_exhausted' })
  })

  test('delivers inputs where they were recorded, and polls nothing during a replay', async () => {
    const control: StepRecord = { type: 'control', key: 'c2', control: { abort: 'user' }, at: 0 }
    const steps = createMemorySteps({ replay: [control], clock: createFakeClock() })
    let polled = 0
    const poll = () => (polled++, undefined)
    expect([await steps.control('c1', poll), await steps.control('c2', poll), polled]).toEqual([
      undefined,
      { abort: 'user' },
      0,
    ])
    expect([await steps.control('c3', poll), polled]).toEqual([undefined, 1])
  })
})

describe('time', () => {
  test('stands still between processes', async () => {
    const clock = createFakeClock({ start: 1_000_000 })
    const steps = createMemorySteps({
      clock,
      replay: [{ type: 'result', key: 'a', digest: null, value: 1, at: 40, durationMs: 2 }],
    })
    await value(steps, 'a', 'x')
    expect(await value(steps, 'b', 'x')).toMatchObject({ at: 42 })
  })

  test('stands still while the run waits for a person', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    const waiting = steps.wait('w', { signal })
    await clock.advance(5_000)
    steps.answer('w', { behavior: 'allow' })
    expect(await waiting).toMatchObject({ outcome: 'answered', answer: { behavior: 'allow' }, waitedMs: 0 })
    expect(await value(steps, 'b', 'x')).toMatchObject({ at: 0 })
  })

  test('stands still until no wait is left, and once for all parallel waits', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    const [first, second] = [steps.wait('v', { signal }), steps.wait('w', { signal })]
    await clock.advance(5_000)
    expect(await value(steps, 'a', 'x')).toMatchObject({ at: 0 })
    steps.answer('v', 1)
    await first
    await clock.advance(1_000)
    steps.answer('w', 2)
    await second
    await clock.advance(10)
    expect(await value(steps, 'b', 'x')).toMatchObject({ at: 10 })
  })

  test('returns an answer that was given before at once', async () => {
    const steps = createMemorySteps({ clock: createFakeClock() })
    steps.answer('w', 'yes')
    expect(await steps.wait('w', { signal })).toMatchObject({ outcome: 'answered', answer: 'yes' })
  })

  test('ends a wait with an abort, without an answer', async () => {
    const controller = new AbortController()
    const steps = createMemorySteps({ clock: createFakeClock() })
    const waiting = steps.wait('w', { signal: controller.signal })
    controller.abort()
    expect(await waiting).toEqual({ outcome: 'aborted', waitedMs: 0, endedMs: 0 })
  })

  test('records the deadline of a sleep as its intent, and ends it early with an abort', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    const slept = steps.sleep('s', 500, { signal })
    await clock.advance(499)
    expect(steps.records).toEqual([{ type: 'intent', key: 's', digest: null, intent: { until: 500 }, at: 0 }])
    await clock.advance(1)
    await slept
    const controller = new AbortController()
    const early = steps.sleep('t', 500, { signal: controller.signal })
    await until(() => clock.pending === 1)
    controller.abort()
    await early
    expect([clock.pending, clock.now()]).toEqual([0, 500])
  })

  test('resumes a sleep until its recorded deadline', async () => {
    const clock = createFakeClock()
    const first = createMemorySteps({ clock })
    void first.sleep('s', 500, { signal })
    await clock.advance(300)
    await value(first, 'other', 'x')
    const steps = createMemorySteps({ clock, replay: [...first.records] })
    const slept = steps.sleep('s', 500, { signal })
    await clock.advance(200)
    await slept
    expect(clock.now()).toBe(500)
  })
})

test('stores nothing without a future resume, and everything works the same', async () => {
  const steps = createMemorySteps({ clock: createFakeClock(), keep: 'nothing', sessionId: 's' })
  expect(await steps.run('k', ({ idempotencyKey }) => Promise.resolve(idempotencyKey), base)).toEqual({
    value: 's/k',
    replayed: false,
    at: 0,
    durationMs: 0,
  })
  const withRecords = await run([calls('Look'), 'answer'], { tools: [reader('Look')] })
  const runOptions = {
    tools: [reader('Look')],
    steps: createMemorySteps({ clock: createFakeClock(), keep: 'nothing' }),
  }
  const forgotten = await run([calls('Look'), 'answer'], runOptions)
  expect([forgotten.steps.records, forgotten.events]).toEqual([[], withRecords.events])
})
