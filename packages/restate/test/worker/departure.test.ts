// Holds rules of docs/spec: R-WORK-4
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { attempt, type AttemptContext } from '../../src/engine/attempt.ts'
import { ClusterLog } from '../../src/engine/cluster-log.ts'
import { Departure, LeftError } from '../../src/worker/departure.ts'
import { FakeInvocation } from '../support/fake-engine.ts'

const intent = (key: string): StepRecord => ({ type: 'intent', key, digest: null, intent: null, at: 1 })
const result = (key: string): StepRecord => ({ type: 'result', key, digest: null, value: null, at: 1, durationMs: 0 })
// The log reads only the scope of an iteration.
const lap = (scope: string): StepRecord => ({ type: 'lap', lap: { scope } }) as unknown as StepRecord
const typesIn = (text: string): readonly string[] =>
  (JSON.parse(text) as { records: readonly StepRecord[] }).records.map(({ type }) => type)

test('a worker leaves a session at its first iteration without open side effects, with everything on record', async () => {
  const log = new ClusterLog()
  log.append(intent('a'))
  log.leave()
  log.append(lap(''))
  log.append(result('a'))
  // The iteration of a subagent does not count for the session.
  log.append(lap('agent'))
  log.append(lap(''))
  expect(() => log.append(intent('b'))).toThrow('goes on with this session elsewhere')
  // The loop's reaction is not a failure of the log.
  log.fail(new Error('the run broke'))
  // Nor is the rest of its work the end of it.
  log.finish({ upTo: 1 })
  const last = await log.take()
  expect(last).not.toContain('"done"')
  expect(typesIn(last)).toEqual(['intent', 'lap', 'result', 'lap', 'lap'])
  await expect(log.take()).rejects.toBeInstanceOf(LeftError)
})

/** An attempt whose work runs forever once it has begun. */
async function going(
  departure: Departure,
  { invocation = new FakeInvocation(), onMail = (): void => {} } = {},
): Promise<AttemptContext & { readonly over: Promise<unknown> }> {
  return new Promise((resolve) => {
    const over = attempt({
      engine: invocation.attempt(),
      departure,
      begin(found) {
        resolve({ ...found, over })
        return { deliver: onMail, cancel() {}, run: () => new Promise(() => {}) }
      },
    })
    over.catch(() => undefined)
  })
}

test('a worker leaves a session that only waits at once', async () => {
  const departure = new Departure()
  const { log, over } = await going(departure)
  log.rests(null)
  let isResting = false
  void (async () => {
    await over.catch(() => undefined)
    isResting = true
  })()
  departure.begin()
  await expect(over).rejects.toBeInstanceOf(LeftError)
  expect(isResting).toBe(true)
})

test('a session without a further iteration is left at hurry', async () => {
  const departure = new Departure()
  const { log, over } = await going(departure)
  log.append(intent('a'))
  departure.begin()
  await log.flush()
  log.append(result('a'))
  departure.hurry()
  await expect(over).rejects.toBeInstanceOf(LeftError)
  expect(() => log.append(lap(''))).toThrow('elsewhere')
})

test.each(['as it rests', 'in the middle'])(
  'messages and closings after a session was left %s are not on record',
  async (when) => {
    const departure = new Departure()
    const invocation = new FakeInvocation()
    const { log, over } = await going(departure, {
      invocation,
      onMail: () => log.note({ type: 'settled', numbers: [1] }),
    })
    if (when === 'as it rests') {
      log.rests(null)
      while (!invocation.kept.some((text) => text.includes('"restMs"')))
        await new Promise((done) => setTimeout(done, 10))
      departure.begin()
    } else {
      departure.begin()
      departure.hurry()
    }
    await expect(over).rejects.toBeInstanceOf(LeftError)
    // The process still exists, and closes what it opened.
    log.note({ type: 'settled', numbers: [1] })
    invocation.signal('mail', '{}')
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect(invocation.kept.join('')).not.toContain('settled')
  },
)

test('a departure is over when all its work is', async () => {
  const departure = new Departure()
  const ends: (() => void)[] = []
  departure.hold(new Promise<void>((resolve) => ends.push(resolve)))
  departure.hold(Promise.reject(new Error('a session that did not close')))
  let isOver = false
  const over = departure.over().then(() => (isOver = true))
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  for (const end of ends) end()
  await over
  expect(isOver).toBe(true)
})
