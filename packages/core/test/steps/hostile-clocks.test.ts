// Tests R-STEP-15b: clocks that break their contract never end a run wrongly, and never prevent its end.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { steadyClock, type Clock } from '../../src/values/clock.ts'
import { createFakeClock, scriptedModel, type FakeClock } from '../../src/testing/index.ts'
import { calls, reader, run } from '../support/harness.ts'

const busy = { error: { kind: 'overloaded', message: 'busy', retryable: true } } as const
const model = () => scriptedModel([calls('Look'), busy, 'answer'])
const options = { tools: [reader('Look')], maxDurationMs: 60_000 }

/** A run under a custom clock, not that of the harness, which does not advance it. */
const runUnder = (clock: unknown, more: object = {}) =>
  run([], { ...options, ...more, model: model(), clock: clock as FakeClock })

/** A clock whose timers fire when the host is idle. */
const quick = (): Clock => createFakeClock({ autoAdvance: true })

describe('a pause', () => {
  const never = new Promise<void>(() => undefined)
  /** Values that another realm or plain JavaScript code can return. */
  const thenable = (then: () => unknown): object =>
    new Proxy({}, { get: (_target, name) => (name === 'then' ? then() : undefined) })
  test.each<[string, () => unknown]>([
    ['that never resolves', () => never],
    ['that rejects', () => Promise.reject(new Error('no pause'))],
    ['that is a foreign thenable', () => thenable(() => (resolve: () => void) => void setTimeout(resolve, 0))],
    [
      'whose then throws',
      () =>
        thenable(() => {
          throw new Error('no then')
        }),
    ],
    [
      'that throws',
      () => {
        throw new Error('no pause')
      },
    ],
    ['that is not a promise', () => 7],
  ])('%s does not delay a run', async (_name, pause) => {
    const fine = quick()
    const clock = { now: () => fine.now(), after: fine.after.bind(fine), pause }
    expect((await runUnder(clock)).terminal.reason).toBe('completed')
  })
})

describe('a timer', () => {
  test('that fires at once ends waits, and breaks nothing', async () => {
    const clock: Clock = { now: () => 0, after: (_ms, callback) => (callback(), () => undefined) }
    expect((await runUnder(clock, { maxDurationMs: Infinity })).terminal.reason).toBe('completed')
    // A time limit that is over at once has passed.
    expect((await runUnder(clock)).terminal.reason).toBe('time_limit')
  })

  const deed = fc.constantFrom('fire', 'cancel')
  test('calls back once, after `after`, and not after it was cancelled, whatever the clock does', () =>
    fc.assert(
      fc.asyncProperty(fc.nat(3), fc.array(deed, { maxLength: 6 }), fc.boolean(), async (atOnce, deeds, hasCancel) => {
        let fire = (): void => undefined
        const clock = {
          now: () => 0,
          after(_ms: number, callback: () => void) {
            fire = callback
            for (let times = 0; times < atOnce; times++) callback()
            return hasCancel ? () => undefined : undefined
          },
        }
        let isBehind = false
        let isCancelled = false
        const seen: boolean[] = []
        // A clock in plain JavaScript may return nothing.
        const cancel = steadyClock(clock as unknown as Clock).after(5, () => void seen.push(isBehind && !isCancelled))
        isBehind = true
        for (const each of deeds) {
          if (each === 'fire') fire()
          else {
            isCancelled = true
            cancel()
          }
        }
        await Promise.resolve()
        await Promise.resolve()
        const first = atOnce > 0 ? 'fire' : deeds[0]
        const isOver = atOnce > 0 ? !deeds.includes('cancel') || deeds.indexOf('fire') !== -1 : first === 'fire'
        expect(seen.every(Boolean)).toBe(true)
        expect(seen.length).toBeLessThanOrEqual(1)
        expect(seen.length === 1 || !isOver || isCancelled).toBe(true)
      }),
    ))
})
