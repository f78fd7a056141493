// Holds rules of docs/spec: R-STEP-13b: in a process one attempt at a time works at a session.
import { expect, test } from 'vitest'
import { SessionLocks } from '../src/service/session-locks.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** An attempt that works until it is ended, and takes its time to let go. */
async function workAt(held: SessionLocks, name: string, gone: AbortSignal, told: string[]): Promise<void> {
  try {
    const { leaveBy, release } = await held.acquire('one', gone)
    told.push(`${name} begins`)
    await new Promise<void>((resolve) => leaveBy(resolve))
    for (let left = 5; left > 0; left--) await turn()
    told.push(`${name} ends`)
    release()
  } catch {
    told.push(`${name} does not begin`)
  }
}

test('the next attempt waits until the previous one has left, even if another was lost while waiting', async () => {
  const held = new SessionLocks()
  const told: string[] = []
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
  const works = [workAt(held, 'first', first.signal, told)]
  await turn()
  first.abort()
  works.push(workAt(held, 'second', second.signal, told))
  await turn()
  second.abort()
  works.push(workAt(held, 'third', third.signal, told))
  for (let left = 20; left > 0; left--) await turn()
  expect(told).toEqual(['first begins', 'first ends', 'second does not begin', 'third begins'])
  third.abort()
  await Promise.all(works)
})

test('the next attempt ends the previous one, which does not know that it is lost', async () => {
  const held = new SessionLocks()
  const told: string[] = []
  const never = new AbortController()
  const first = workAt(held, 'first', never.signal, told)
  await turn()
  const gone = new AbortController()
  const second = workAt(held, 'second', gone.signal, told)
  await first
  await turn()
  gone.abort()
  await second
  expect(told).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})
