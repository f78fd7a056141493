// Tests R-STEP-14: a log is notified when a run only waits.
import { expect, test } from 'vitest'
import { DurableStepEngine } from '../../src/steps/durable-step-engine.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'

const { signal } = new AbortController()
const options = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'none' } as const

function watched() {
  const clock = createFakeClock()
  const restTimes: (number | null | undefined)[] = []
  const log = {
    keeps: 'all' as const,
    append: () => {},
    flush: () => undefined,
    rests: (ms: number | null | undefined) => void restTimes.push(ms),
  }
  return { clock, restTimes, steps: new DurableStepEngine({ clock, log }) }
}

test('reports that the run waits for a person, and the end of the wait', async () => {
  const { steps, restTimes } = watched()
  const answer = steps.wait('run1/approval:a', { signal })
  expect(restTimes).toEqual([null])
  steps.answer('run1/approval:a', 'yes')
  expect(await answer).toMatchObject({ outcome: 'answered', answer: 'yes' })
  expect(restTimes).toEqual([null, undefined])
})

test('reports no rest for a wait next to work in progress until that has ended', async () => {
  const { steps, restTimes } = watched()
  let end = (): void => {}
  const work = (): Promise<string> => new Promise((resolve) => (end = () => resolve('done')))
  const step = steps.run('run1/tool:a', work, options)
  void steps.wait('run1/approval:b', { signal })
  expect(restTimes).toEqual([])
  end()
  await step
  expect(restTimes).toEqual([null])
})

test('reports the length of a sleep, and the shortest of several', async () => {
  const { steps, restTimes, clock } = watched()
  const long = steps.sleep('run1/sleep:a', 5000, { signal })
  const short = steps.sleep('run1/sleep:b', 2000, { signal })
  void steps.wait('run1/approval:c', { signal })
  expect(restTimes).toEqual([5000, 2000])
  await clock.advance(2000)
  await short
  expect(restTimes).toEqual([5000, 2000, 3000])
  await clock.advance(3000)
  await long
  expect(restTimes).toEqual([5000, 2000, 3000, null])
})
