import type { Json } from '@halting/core'
import type { Work } from '../engine/attempt.ts'
import type { ClusterLog } from '../engine/cluster-log.ts'
import type { Spent } from '@halting/core/adapters'
import type { NumberedRequest } from './messages.ts'
import { encodeNote } from './notes.ts'
import type { WorkerSession } from './session-options.ts'
import { spendingFields, type WorkEnd } from './work.ts'

/** This worker can never open the session as requested, so retrying is useless. */
export class SessionRefusedError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SessionRefusedError'
  }
}

type OpenOutcome =
  | { readonly kind: 'open'; readonly session: WorkerSession }
  | { readonly kind: 'refused'; readonly error: SessionRefusedError }

/** Rejects with any other error. */
export async function openOrRefuse(opening: Promise<WorkerSession>): Promise<OpenOutcome> {
  try {
    return { kind: 'open', session: await opening }
  } catch (error) {
    if (error instanceof SessionRefusedError) return { kind: 'refused', error }
    throw error
  }
}

interface RefusedSession {
  readonly log: Pick<ClusterLog, 'note' | 'finish'>
  readonly spent: Spent | null
}

/** The work at a session that cannot be opened: refuses every request with the reason. */
export class RefusedWork implements Work {
  readonly #because: string
  readonly #session: RefusedSession
  #upTo = 0

  constructor(because: string, session: RefusedSession) {
    this.#because = because
    this.#session = session
  }

  deliver(message: string): void {
    // Only the mailbox sends messages.
    const { id, number } = JSON.parse(message) as NumberedRequest
    this.#upTo = number
    this.#session.log.note(encodeNote({ type: 'refused', id, because: this.#because }))
  }

  cancel(): void {}

  run(): Promise<void> {
    const { log, spent } = this.#session
    const end: WorkEnd = { upTo: this.#upTo, snapshot: null, ...spendingFields(spent) }
    // This cast is safe: all of it is JSON.
    log.finish(end as unknown as Json)
    return Promise.resolve()
  }
}
