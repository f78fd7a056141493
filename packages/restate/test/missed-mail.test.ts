// Holds rules of docs/spec: R-CLU-10: a request that arrives while the work awaits something else is handled, in order, in every attempt.
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { attempt, mailSignal } from '../src/engine/attempt.ts'
import { moneyMail, moneySignal, type NumberedRequest } from '../src/service/messages.ts'
import { missedMailReader } from '../src/service/session-object.ts'
import { FakeInvocation } from './support/fake-engine.ts'

const request = (number: number): NumberedRequest => ({ number, id: `r${number}`, request: { type: 'stop' } })

/** What an attempt receives, as numbers; 0 for money. `there`: what waits in the mailbox. */
function listening(invocation: FakeInvocation, before: number, there: { upTo: number }): readonly number[] {
  const received: number[] = []
  const mail = Array.from({ length: before }, (_, index) => request(index + 1))
  void attempt({
    engine: invocation.attempt(),
    mail: mail.map((each) => JSON.stringify(each)),
    bells: [moneySignal],
    missedBefore: missedMailReader(mail, (after) =>
      Promise.resolve(Array.from({ length: there.upTo - after }, (_, index) => request(after + index + 1))),
    ),
    begin: () => ({
      deliver: (message) => void received.push((JSON.parse(message) as NumberedRequest).number),
      cancel: () => {},
      run: () => new Promise(() => {}),
    }),
  })
  return received
}

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1)

test('every attempt receives all requests of a burst in order, although the engine delivers only the last', async () => {
  const bursts = fc.array(fc.record({ length: fc.integer({ min: 1, max: 4 }), isKilled: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), bursts, async (before, all) => {
      const invocation = new FakeInvocation()
      const there = { upTo: before }
      let received = listening(invocation, before, there)
      for (const { length, isKilled } of all) {
        there.upTo += length
        invocation.signal(mailSignal, JSON.stringify(request(there.upTo)))
        await vi.waitFor(() => expect(received).toEqual(upTo(there.upTo)), { interval: 1 })
        if (isKilled) received = listening(invocation, before, there)
        await vi.waitFor(() => expect(received).toEqual(upTo(there.upTo)), { interval: 1 })
      }
      invocation.end()
    }),
    { numRuns: 25 },
  )
})

test('a message about money has its own signal and hides no request', async () => {
  const invocation = new FakeInvocation()
  const received = listening(invocation, 1, { upTo: 2 })
  await vi.waitFor(() => expect(received).toEqual([1]))
  invocation.signal(mailSignal, JSON.stringify(request(2)))
  invocation.signal(moneySignal, moneyMail)
  await vi.waitFor(() => expect(received).toEqual([1, 2, 0]))
  invocation.signal(moneySignal, moneyMail)
  await vi.waitFor(() => expect(received).toEqual([1, 2, 0, 0]))
  invocation.end()
})
