// Holds rules of docs/spec: R-STEP-13b: in a process, one attempt at a time works at a session.
import { expect, test } from 'vitest'
import { SessionLocks } from '../src/service/session-locks.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** An attempt that works until it is ended, and takes its time to leave. */
async function workAt(locks: SessionLocks, name: string, gone: AbortSignal, log: string[]): Promise<void> {
  try {
    const { leaveBy, release } = await locks.acquire('one', gone)
    log.push(`${name} begins`)
    await new Promise<void>((resolve) => leaveBy(resolve))
    for (let left = 5; left > 0; left--) await turn()
    log.push(`${name} ends`)
    release()
  } catch {
    log.push(`${name} does not begin`)
  }
}

test('the next attempt waits until the previous one has left, even if another was lost while waiting', async () => {
  const locks = new SessionLocks()
  const log: string[] = []
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
  const works = [workAt(locks, 'first', first.signal, log)]
  await turn()
  first.abort()
  works.push(workAt(locks, 'second', second.signal, log))
  await turn()
  second.abort()
  works.push(workAt(locks, 'third', third.signal, log))
  for (let left = 20; left > 0; left--) await turn()
  expect(log).toEqual(['first begins', 'first ends', 'second does not begin', 'third begins'])
  third.abort()
  await Promise.all(works)
})

test('the next attempt ends the previous one, which does not know that it is lost', async () => {
  const locks = new SessionLocks()
  const log: string[] = []
  const never = new AbortController()
  const first = workAt(locks, 'first', never.signal, log)
  await turn()
  const gone = new AbortController()
  const second = workAt(locks, 'second', gone.signal, log)
  await first
  await turn()
  gone.abort()
  await second
  expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})
