// Holds rules of docs/spec: R-STEP-13, R-STEP-13b: the driver on the cluster keeps what every driver must. Of the engine only its order of events is real.
import { checkStepEngine, type CheckedStore } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { randomOf } from './support/random.ts'
import { FakeInvocation } from './support/fake-engine.ts'
import { openSession } from './support/open-session.ts'

interface Fate {
  /** What the engine has not received is lost with the process. */
  readonly losesWhatWasNotFlushed?: boolean
  /** Turns of the event loop after which the engine moves the work by itself. */
  readonly movesAfter?: () => number
}

function fakeStore({ losesWhatWasNotFlushed = false, movesAfter }: Fate): CheckedStore {
  const invocation = new FakeInvocation()
  return {
    async open() {
      const engine = invocation.attempt()
      const opened = await openSession(engine)
      const lost = new Promise<void>((resolve) => engine.gone.addEventListener('abort', () => resolve()))
      if (movesAfter !== undefined) void turns(movesAfter()).then(() => engine.kill())
      return {
        ...opened,
        lost,
        async close() {
          await opened.log.flush()
          engine.kill()
        },
        async kill() {
          await turns(losesWhatWasNotFlushed ? 0 : 5)
          engine.kill()
        },
      }
    },
    async writeAsLaterVersion() {
      invocation.rewrite((value) => value.replace('"format":1,', '"format":99,'))
    },
  }
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate)
}

test('the driver check passes for kills after all records were sent, and before that', async () => {
  expect(await checkStepEngine(() => fakeStore({}))).toEqual([])
  expect(await checkStepEngine(() => fakeStore({ losesWhatWasNotFlushed: true }))).toEqual([])
}, 120_000)

test('the driver check passes while the engine moves the work at any time', async () => {
  const random = randomOf(14)
  expect(await checkStepEngine(() => fakeStore({ movesAfter: () => random(120) }))).toEqual([])
}, 120_000)
