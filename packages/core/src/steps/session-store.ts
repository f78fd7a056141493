import type { EndingReason } from '../endings/ending.ts'
import type { Clock } from '../values/clock.ts'
import type { AnswerableStepEngine } from './durable-step-engine.ts'
import type { StoredSession } from './fold-session.ts'
import type { StepRecord } from './step-record.ts'

/** Information about a session, apart from its records. */
export interface SessionHead {
  /** The working directory of the session; absent if it has none. */
  readonly cwd?: string
  /** A title from a person or a program. */
  readonly title?: string
  /** Version of the program that created it. */
  readonly version?: string
  /** When it was created: ISO 8601 in UTC. Default: now. A copy has the time of the original. */
  readonly createdAt?: string
}

/** One session in a list. */
export interface StoredSessionInfo extends SessionHead {
  /** Id of the session. */
  readonly sessionId: string
  /** ISO 8601 in UTC. */
  readonly createdAt: string
  /** When its newest record was stored: ISO 8601 in UTC. */
  readonly updatedAt: string
  /** How many records it has. */
  readonly records: number
  /** Bytes of its records, including payloads. */
  readonly bytes: number
  /** How its newest run ended; null while that run is open, or if the session has no run. */
  readonly lastReason: EndingReason | null
  /** A process currently has it open. */
  readonly isLocked: boolean
}

/** Options for listing sessions, the most recently written first. */
export interface SessionListOptions {
  /** Only sessions with this working directory. Default: all. */
  readonly cwd?: string
  /** Maximum number of sessions. Default: 1,000. */
  readonly limit?: number
  /** Only sessions after the one with this id, the last of the previous page. @throws ConfigurationError if it no longer exists. */
  readonly after?: string
}

/** A session that only this process writes, until it is closed or another process takes it over. */
export interface OpenSession extends StoredSession {
  /** Id of the session. */
  readonly sessionId: string
  /** The head that was stored when the session was created. */
  readonly head: SessionHead
  /**
   * The number of this process's lock. It increases with each lock on the session, and the store accepts no record with
   * a lower number than the latest. If a process stalls for longer than its lock lasts, it therefore cannot write after
   * another process has taken over the session.
   */
  readonly fence: number
  /** Creates a step engine for a new run. */
  steps(options?: {
    /** The time source. Default: the system's clock. */
    readonly clock?: Clock
  }): AnswerableStepEngine
  /**
   * Makes all appended records durable and releases the session for other processes. Rejects if records could not be
   * stored; the session is closed even then.
   */
  close(): Promise<void>
}

/**
 * Stores many sessions, in a database or a folder. A store must return the records of a session completely and in order,
 * preserve flushed records when the process is killed, and let only one process at a time write a session. Errors are
 * `HaltingError`s with the code `driver`, whose message says what to do.
 */
export interface SessionStore {
  /**
   * Opens or creates a session; `head` is for a new one.
   * @throws HaltingError `driver` if another process has it open, if a later version wrote it, or if a record is
   * damaged. The message names that process or record.
   */
  open(sessionId: string, head?: SessionHead): Promise<OpenSession>
  /**
   * All records of a session, without locking it, for read-only use. Undefined if it does not exist.
   * @throws HaltingError `driver` if a later version wrote it, or if a record is damaged. The message names that record.
   */
  read(sessionId: string): Promise<
    | {
        /** The session's entry in a list. */
        readonly info: StoredSessionInfo
        /** Its records, in order. */
        readonly records: readonly StepRecord[]
      }
    | undefined
  >
  /** One page of the sessions. */
  list(options?: SessionListOptions): Promise<readonly StoredSessionInfo[]>
  /** Removes a session; false if it does not exist. @throws HaltingError `driver` if a process has it open. */
  remove(sessionId: string): Promise<boolean>
  /** Removes the sessions whose newest record is older, except those that a process has open. Returns their number. */
  removeOlderThan(moment: Date): Promise<number>
  /** Closes the connection, after closing open sessions. */
  close(): Promise<void>
}
