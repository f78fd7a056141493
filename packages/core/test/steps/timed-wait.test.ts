import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemorySteps, type Clock, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'

const { signal } = new AbortController()

/** A steady clock, and a separate wall clock that can be set. */
function twoClocks(wallAtFirst = 1_000_000) {
  const steady = createFakeClock()
  const wall = { offset: wallAtFirst }
  const clock: Clock = {
    now: () => steady.now(),
    wallTime: () => steady.now() + wall.offset,
    after: (ms, callback) => steady.after(ms, callback),
  }
  return { steady, wall, clock }
}

describe('a wait with a maximum time', () => {
  test('ends when its time has passed, and active time does not advance', async () => {
    const { steady, clock } = twoClocks()
    const steps = createMemorySteps({ clock })
    const waiting = steps.wait('w', { signal, longestMs: 3_600_000 })
    await steady.advance(3_599_999)
    expect(steps.records).toEqual([
      { type: 'intent', key: 'w', digest: null, intent: { since: 1_000_000, until: 4_600_000 }, at: 0 },
    ])
    await steady.advance(1)
    expect(await waiting).toEqual({ outcome: 'over', waitedMs: 3_600_000, endedMs: 4_600_000 })
    expect(steps.records.at(-1)).toMatchObject({ type: 'result', at: 0, durationMs: 0 })
  })

  test('ends with an answer, a wake-up or an abort, and reports the time until then', async () => {
    const { steady, clock } = twoClocks()
    const steps = createMemorySteps({ clock })
    const controller = new AbortController()
    let wake: (why: string) => void = () => {}
    let wakeUps = 0
    const wakeOn = (called: typeof wake) => {
      wake = called
      wakeUps++
      return () => wakeUps--
    }
    const [answered, woken, aborted] = [
      steps.wait('a', { signal, longestMs: 1_000 }),
      steps.wait('b', { signal, longestMs: 1_000, wakeOn }),
      steps.wait('c', { signal: controller.signal, longestMs: 1_000 }),
    ]
    await steady.advance(400)
    steps.answer('a', 'yes')
    wake('retry')
    wake('again')
    controller.abort()
    expect(await answered).toEqual({ outcome: 'answered', answer: 'yes', waitedMs: 400, endedMs: 1_000_400 })
    expect(await woken).toEqual({ outcome: 'woken', why: 'retry', waitedMs: 400, endedMs: 1_000_400 })
    expect(await aborted).toEqual({ outcome: 'aborted', waitedMs: 400, endedMs: 1_000_400 })
    expect([wakeUps, steady.pending]).toEqual([0, 0])
  })

  test('ends with a wake-up that arrives while it starts', async () => {
    const { steady, clock } = twoClocks()
    const steps = createMemorySteps({ clock })
    let stopped = 0
    const wakeOn = (wake: (why: string) => void) => {
      wake('at once')
      return () => stopped++
    }
    expect(await steps.wait('w', { signal, longestMs: 1_000, wakeOn })).toMatchObject({ why: 'at once' })
    expect([stopped, steady.pending]).toEqual([1, 0])
  })

  test('continues at most 15 s after the end of the wait on a machine that slept', async () => {
    const { steady, wall, clock } = twoClocks()
    const steps = createMemorySteps({ clock })
    const waiting = steps.wait('w', { signal, longestMs: 3_600_000 })
    await steady.advance(60_000)
    wall.offset += 7_200_000
    await steady.advance(15_000)
    expect(await waiting).toEqual({ outcome: 'over', waitedMs: 3_600_000, endedMs: 4_600_000 })
  })

  test('has its intended length over kills, whatever the clocks do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10_000_000 }),
        fc.array(
          fc.record({
            /** How long each process lives, and how long none runs after it. */
            aliveMs: fc.integer({ min: 0, max: 4_000_000 }),
            deadMs: fc.integer({ min: 0, max: 4_000_000 }),
            /** The amount by which the wall clock is set back. */
            setBackMs: fc.constantFrom(0, 0, 0, 3_600_000),
          }),
          { maxLength: 4 },
        ),
        async (longestMs, lives) => {
          expect(await endAfter(longestMs, lives)).toEqual(['over', longestMs, false])
        },
      ),
    )
  })
})

interface Life {
  readonly aliveMs: number
  readonly deadMs: number
  readonly setBackMs: number
}

/** How the wait ends, how long it took, and whether it ended early by the wall clock, if that was not set back. */
async function endAfter(longestMs: number, lives: readonly Life[]): Promise<readonly unknown[]> {
  const { steady, wall, clock } = twoClocks()
  let records: readonly StepRecord[] = []
  let setBack = 0
  for (const { aliveMs, deadMs, setBackMs } of lives) {
    const steps = createMemorySteps({ clock, replay: records })
    let isOver = false
    void steps.wait('w', { signal, longestMs }).then(() => (isOver = true))
    await steady.advance(aliveMs)
    records = [...records, ...steps.records]
    if (isOver) break
    wall.offset += deadMs - setBackMs
    setBack += setBackMs
  }
  const steps = createMemorySteps({ clock, replay: records })
  const waiting = steps.wait('w', { signal, longestMs })
  await steady.advance(longestMs + 15_000)
  const { outcome, waitedMs } = await waiting
  const isEarly = setBack === 0 && (clock.wallTime?.() ?? 0) < 1_000_000 + longestMs
  return [outcome, waitedMs, isEarly]
}
