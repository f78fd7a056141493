// Holds rules of docs/spec: R-POIS-3b
import { afterEach, expect, test, vi } from 'vitest'
import { Isolation, type IsolationSlot } from '../../src/attempts/isolation.ts'

afterEach(() => void vi.useRealTimers())

/** Sessions in the order in which they entered. */
function entering(isolation: Isolation) {
  const inside = new Map<string, IsolationSlot>()
  const never = new AbortController().signal
  const enter = async (name: string, isAlone = false): Promise<void> => {
    inside.set(name, await (isAlone ? isolation.enterAlone(never) : isolation.enter(never)))
  }
  return { inside, enter }
}

test('a session that waits to be alone during a long call alternates between keeping others out and letting them in', async () => {
  vi.useFakeTimers()
  const { inside, enter } = entering(new Isolation())
  await enter('long call')
  void enter('suspect', true)
  void enter('first')
  await vi.advanceTimersByTimeAsync(59_000)
  expect([...inside.keys()]).toEqual(['long call'])
  await vi.advanceTimersByTimeAsync(1_000)
  expect([...inside.keys()]).toEqual(['long call', 'first'])
  void enter('second')
  await vi.advanceTimersByTimeAsync(59_000)
  expect([...inside.keys()]).toEqual(['long call', 'first', 'second'])
  expect(inside.get('second')?.yieldRequested.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(inside.get('second')?.yieldRequested.aborted).toBe(true)
  void enter('third')
  for (const name of ['long call', 'first', 'second']) inside.get(name)?.leave()
  await vi.advanceTimersByTimeAsync(0)
  expect([...inside.keys()]).toEqual(['long call', 'first', 'second', 'suspect'])
  inside.get('suspect')?.leave()
  await vi.advanceTimersByTimeAsync(0)
  expect(inside.get('third')?.isAlone).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

test('a session that waits to be alone starts as soon as no other session is running, even while others may start', async () => {
  vi.useFakeTimers()
  const { inside, enter } = entering(new Isolation())
  await enter('long call')
  void enter('suspect', true)
  await vi.advanceTimersByTimeAsync(61_000)
  inside.get('long call')?.leave()
  await vi.advanceTimersByTimeAsync(0)
  expect(inside.get('suspect')?.isAlone).toBe(true)
})
