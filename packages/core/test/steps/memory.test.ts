// Holds rules of docs/spec: R-STEP-4 to R-STEP-9, R-STEP-12.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, HaltingError, type StepRecord } from '../../src/index.ts'
import type { StepKey, StepEngine } from '../../src/entries/steps.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { calls, reader, run, until } from '../support/harness.ts'

const signal = new AbortController().signal
const base = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'none' } as const
const value = (steps: StepEngine, key: StepKey, result: string, more: object = {}) =>
  steps.run(key, () => Promise.resolve(result), { ...base, ...more })

describe('the memory driver', () => {
  test('records a result, when it began and how long it took', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    await clock.advance(10)
    const begun = clock.now()
    expect(await steps.run('k', async () => (await clock.advance(5), 'v'), base)).toEqual({
      value: 'v',
      replayed: false,
      at: begun,
      durationMs: 5,
    })
    expect(steps.records).toEqual([{ type: 'result', key: 'k', digest: null, value: 'v', at: begun, durationMs: 5 }])
  })

  test('puts the intent on record before the effect is called', async () => {
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

  test('names each effect the same for every try', async () => {
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

  test('gives the recorded result and calls nothing', async () => {
    const steps = createMemorySteps({ replay: await recorded(), clock: createFakeClock() })
    expect(steps.replaying).toBe(true)
    expect(await value(steps, 'a', 'again', { digest: () => 'd' })).toMatchObject({ value: 'first', replayed: true })
    expect((await value(steps, 'b', 'new')).replayed).toBe(false)
    expect(steps.replaying).toBe(false)
  })

  test('another digest under the same key is a mismatch, not an answer', async () => {
    const steps = createMemorySteps({ replay: await recorded(), clock: createFakeClock() })
    const mismatch = value(steps, 'a', 'again', { digest: () => 'other' })
    await expect(mismatch).rejects.toThrow(HaltingError)
    await expect(mismatch).rejects.toMatchObject({ code: 'step_mismatch' })
  })

  test('an intent without a result is run again, or is what the step says it means', async () => {
    const open: StepRecord = { type: 'intent', key: 'a', digest: null, intent: { cost: 5 }, at: 3 }
    const again = createMemorySteps({ replay: [open], clock: createFakeClock() })
    expect(await value(again, 'a', 'again')).toMatchObject({ value: 'again', replayed: false })
    expect(again.records.map(({ type }) => type)).toEqual(['intent', 'result'])
    const told = createMemorySteps({ replay: [open], clock: createFakeClock() })
    expect(
      await value(told, 'a', 'never', { onUnfinished: (intent: unknown) => `unknown ${JSON.stringify(intent)}` }),
    ).toEqual({ value: 'unknown {"cost":5}', replayed: true, at: 3, durationMs: 0 })
  })

  test('a composite that is on record answers for its parts: nothing is left to be replayed', async () => {
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

  test('refuses what is not on record when it may only play back', async () => {
    const steps = createMemorySteps({ replay: await recorded(), recordedOnly: true, clock: createFakeClock() })
    await expect(value(steps, 'b', 'new')).rejects.toMatchObject({ code: 'replay_exhausted' })
  })

  test('delivers what came in where it came in, and polls nothing while it replays', async () => {
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
  test('stands still while nobody runs', async () => {
    const clock = createFakeClock({ start: 1_000_000 })
    const steps = createMemorySteps({
      clock,
      replay: [{ type: 'result', key: 'a', digest: null, value: 1, at: 40, durationMs: 2 }],
    })
    await value(steps, 'a', 'x')
    expect(await value(steps, 'b', 'x')).toMatchObject({ at: 42 })
  })

  test('stands still while a person is waited for', async () => {
    const clock = createFakeClock()
    const steps = createMemorySteps({ clock })
    const waiting = steps.wait('w', { signal })
    await clock.advance(5_000)
    steps.answer('w', { behavior: 'allow' })
    expect(await waiting).toMatchObject({ outcome: 'answered', answer: { behavior: 'allow' }, waitedMs: 0 })
    expect(await value(steps, 'b', 'x')).toMatchObject({ at: 0 })
  })

  test('stands still until nobody is waited for, and once for all who were', async () => {
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

  test('an answer that was given before is there at once', async () => {
    const steps = createMemorySteps({ clock: createFakeClock() })
    steps.answer('w', 'yes')
    expect(await steps.wait('w', { signal })).toMatchObject({ outcome: 'answered', answer: 'yes' })
  })

  test('a wait ends with an abort, without an answer', async () => {
    const controller = new AbortController()
    const steps = createMemorySteps({ clock: createFakeClock() })
    const waiting = steps.wait('w', { signal: controller.signal })
    controller.abort()
    expect(await waiting).toEqual({ outcome: 'aborted', waitedMs: 0, endedMs: 0 })
  })

  test('a sleep has its deadline as intent, and ends early with an abort', async () => {
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

  test('a sleep that is resumed lasts until its recorded deadline', async () => {
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

test('nothing is kept when nobody will resume, and everything works the same', async () => {
  const steps = createMemorySteps({ clock: createFakeClock(), keep: 'nothing', sessionId: 's' })
  expect(await steps.run('k', ({ idempotencyKey }) => Promise.resolve(idempotencyKey), base)).toEqual({
    value: 's/k',
    replayed: false,
    at: 0,
    durationMs: 0,
  })
  const kept = await run([calls('Look'), 'answer'], { tools: [reader('Look')] })
  const given = { tools: [reader('Look')], steps: createMemorySteps({ clock: createFakeClock(), keep: 'nothing' }) }
  const forgotten = await run([calls('Look'), 'answer'], given)
  expect([forgotten.steps.records, forgotten.events]).toEqual([[], kept.events])
})
