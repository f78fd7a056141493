import { foldSession } from '@halting/core/steps'
import type { CheckedSession } from '@halting/core/testing'
import { attempt, type AttemptContext } from '../../src/engine/attempt.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { PayloadStore } from '../../src/payloads/payload-store.ts'

type OpenedSession = Pick<CheckedSession, 'transcript' | 'open'> &
  Pick<AttemptContext, 'records' | 'log'> & {
    /** The attempt: rejects if it fails. */
    readonly over: Promise<unknown>
  }

/** The session as an attempt finds it. It is open once the engine has something of it on record. Rejects if the attempt fails. */
export async function openSession(engine: Engine, store?: PayloadStore): Promise<OpenedSession> {
  let over: Promise<unknown> = Promise.resolve()
  const { records, log } = await new Promise<AttemptContext>((resolve, reject) => {
    let found: AttemptContext | undefined
    let isOnRecord = false
    const settle = (): void => {
      if (found !== undefined && isOnRecord) resolve(found)
    }
    over = attempt({
      engine,
      store,
      begin(context) {
        found = context
        settle()
        return { deliver() {}, cancel() {}, run: async () => {} }
      },
      onBatch() {
        isOnRecord = true
        settle()
      },
    })
    over.catch(reject)
  })
  const { transcript, open } = foldSession(records.length === 0 ? [] : [records])
  return { transcript, open, records, log, over }
}
