import type { SessionParts } from '@halting/core/session'
import type { BudgetLease, Transcript } from '@halting/core'
import {
  foldSession,
  rewindRecord,
  splitRuns,
  type EndedRun,
  type FoldedSession,
  type PersonsMessage,
  type StepStore,
  type StepRecord,
} from '@halting/core/steps'
import type { Spent } from '@halting/core/adapters'
import { findPersonsMessage } from './persons-message.ts'
import { sessionSpending } from './spending.ts'

type SessionFile = NonNullable<SessionParts['journal']>

export interface ClusterSessionParts {
  readonly sessionId: string
  readonly path: string
  /** The conversation of earlier invocations, and all records of this one. */
  readonly records: readonly StepRecord[]
  readonly log: StepStore
  readonly lease?: BudgetLease | undefined
}

/** A session stored in the engine, as this process has it: the journal of a session object. */
export class ClusterSession implements SessionFile {
  /** Id of the session. */
  readonly sessionId: string
  /** Name of the session object, in place of a path. */
  readonly path: string
  /** Where new records go. */
  readonly log: StepStore
  /** Its lease on the budget of a tenant, if it has one. */
  readonly lease: BudgetLease | undefined
  #folded: FoldedSession
  readonly #records: StepRecord[]

  constructor({ sessionId, path, records, log, lease }: ClusterSessionParts) {
    this.sessionId = sessionId
    this.lease = lease
    this.path = path
    this.#records = [...records]
    this.#folded = foldSession(splitRuns(records))
    this.log = {
      keeps: 'all',
      append: (record) => {
        log.append(record)
        this.#records.push(record)
      },
      flush: () => log.flush(),
      rests: (ms) => log.rests?.(ms),
    }
  }

  /** The conversation so far. */
  get transcript(): Transcript {
    return this.#folded.transcript
  }

  /** Records of the run that has not ended; undefined for none. */
  get open(): readonly StepRecord[] | undefined {
    return this.#folded.open
  }

  /** The finished runs, the oldest first. */
  get ended(): readonly EndedRun[] {
    return this.#folded.ended
  }

  /** The stages after runs, the oldest first. */
  get stages(): NonNullable<FoldedSession['stages']> {
    return this.#folded.stages ?? []
  }

  /** Total that the session has spent or may have spent; null while a run is open. */
  get spent(): Spent | null {
    const folded = foldSession(splitRuns(this.#records))
    return folded.open === undefined ? sessionSpending(folded) : null
  }

  /** Whether the conversation was rewound. */
  get isRewound(): boolean {
    return this.#folded.isRewound === true
  }

  /** The message of a person that `rewind` would go back to. */
  async messageOf(message: string): Promise<PersonsMessage> {
    return this.#found(message)
  }

  /** Rewinds to before a message of a person. It is on record when this resolves. */
  async rewind(message: string): Promise<PersonsMessage> {
    const found = this.#found(message)
    this.log.append(rewindRecord(this.#folded, found.index))
    await this.log.flush()
    this.#folded = foldSession(splitRuns(this.#records))
    return found
  }

  #found(message: string): PersonsMessage {
    // Runs of this process are among the records.
    this.#folded = foldSession(splitRuns(this.#records))
    return findPersonsMessage(this.#folded.transcript, this.sessionId, message)
  }
}
