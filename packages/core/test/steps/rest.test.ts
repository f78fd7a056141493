// Holds rules of docs/spec: R-STEP-14: a log hears when nothing but waiting goes on.
import { expect, test } from 'vitest'
import { DurableStepEngine } from '../../src/steps/driver.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'

const { signal } = new AbortController()
const options = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'none' } as const

function watched() {
  const clock = createFakeClock()
  const told: (number | null | undefined)[] = []
  const log = {
    keeps: 'all' as const,
    append: () => {},
    flush: () => undefined,
    rests: (ms: number | null | undefined) => void told.push(ms),
  }
  return { clock, told, steps: new DurableStepEngine({ clock, log }) }
}

test('that a person is waited for is told, and that it is over', async () => {
  const { steps, told } = watched()
  const answer = steps.wait('run1/approval:a', { signal })
  expect(told).toEqual([null])
  steps.answer('run1/approval:a', 'yes')
  expect(await answer).toMatchObject({ outcome: 'answered', answer: 'yes' })
  expect(told).toEqual([null, undefined])
})

test('a wait beside something that goes on is no rest until that has ended', async () => {
  const { steps, told } = watched()
  let end = (): void => {}
  const work = (): Promise<string> => new Promise((resolve) => (end = () => resolve('done')))
  const step = steps.run('run1/tool:a', work, options)
  void steps.wait('run1/approval:b', { signal })
  expect(told).toEqual([])
  end()
  await step
  expect(told).toEqual([null])
})

test('a sleep says how long it lasts, and the shortest of several counts', async () => {
  const { steps, told, clock } = watched()
  const long = steps.sleep('run1/sleep:a', 5000, { signal })
  const short = steps.sleep('run1/sleep:b', 2000, { signal })
  void steps.wait('run1/approval:c', { signal })
  expect(told).toEqual([5000, 2000])
  await clock.advance(2000)
  await short
  expect(told).toEqual([5000, 2000, 3000])
  await clock.advance(3000)
  await long
  expect(told).toEqual([5000, 2000, 3000, null])
})
