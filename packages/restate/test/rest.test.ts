// Holds rules of docs/spec: R-LOAD-1a: a place that is requested at a rest is given up at that rest only.
import { expect, test, vi } from 'vitest'
import { attempt, mailSignal, type AttemptTurn, type AttemptContext } from '../src/engine/attempt.ts'
import { FakeInvocation } from './support/fake-engine.ts'

/** A turn that is granted at once. */
class FakeTurn implements AttemptTurn {
  giveUp: (() => void) | undefined
  next = (): Promise<'granted'> => Promise.resolve('granted')
  hear(): void {}
  hurry(): void {}
  rests(giveUp: () => void): void {
    this.giveUp = giveUp
  }
  works(): void {}
  leave(): void {}
}

test('the turn of an earlier rest does not release later work', async () => {
  const turns: FakeTurn[] = []
  const found: AttemptContext[] = []
  let makeWay = (): void => {}
  const invocation = new FakeInvocation()
  void attempt({
    engine: invocation.attempt(),
    onYieldRequest: (requestYield) => (makeWay = requestYield),
    turn: () => {
      const turn = new FakeTurn()
      turns.push(turn)
      return turn
    },
    begin: (context) => {
      found.push(context)
      // The first one rests at once, and the second works.
      if (found.length === 1) context.log.rests(null)
      return { deliver: () => {}, cancel: () => {}, run: () => new Promise(() => {}) }
    },
  })
  await vi.waitFor(() => expect(turns[0]?.giveUp).toBeTypeOf('function'))
  // It gives up its place for another reason, and its session is not closed yet when it works again.
  makeWay()
  expect(found[0]?.gone.aborted).toBe(true)
  invocation.signal(mailSignal, '{}')
  await vi.waitFor(() => expect(found).toHaveLength(2))
  turns[0]?.giveUp?.()
  expect([found[1]?.gone.aborted, found[1]?.log.isBroken]).toEqual([false, false])
})
