import type { EndingReason } from '../endings/ending.ts'
import type { Clock } from '../values/clock.ts'
import type { AnswerableStepEngine } from './driver.ts'
import type { StoredSession } from './fold-session.ts'
import type { StepRecord } from './log.ts'

/** What a session says of itself, apart from its records. */
export interface SessionHead {
  /** The folder that the session works in; absent where it works in none. */
  readonly cwd?: string
  /** What a person or a program calls it. */
  readonly title?: string
  /** Of the program that began it. */
  readonly version?: string
  /** When it began: ISO 8601 in UTC. The present when absent; a copy keeps that of the original. */
  readonly createdAt?: string
}

/** One session of a store, as a list shows it. */
export interface StoredSessionInfo extends SessionHead {
  /** Id of the session. */
  readonly sessionId: string
  /** ISO 8601 in UTC. */
  readonly createdAt: string
  /** When its newest record was stored: ISO 8601 in UTC. */
  readonly updatedAt: string
  /** How many records it has. */
  readonly records: number
  /** Bytes of its records, payloads included. */
  readonly bytes: number
  /** How its newest run ended; null while that run is open, or where the session has none. */
  readonly lastReason: EndingReason | null
  /** A process has it open at this moment. */
  readonly isLocked: boolean
}

/** Which sessions a list gives, the one that was written last first. */
export interface SessionListOptions {
  /** Only sessions of this working directory. Default: of all. */
  readonly cwd?: string
  /** At most so many; 1,000 when absent. */
  readonly limit?: number
  /** Those whose newest record is older than that of the session with this id: the last of the page before. @throws ConfigurationError where it is not there any more. */
  readonly after?: string
}

/** A session that this process alone writes, until it is closed or another process has taken it over. */
export interface OpenSession extends StoredSession {
  /** Id of the session. */
  readonly sessionId: string
  /** What the session began with. */
  readonly head: SessionHead
  /**
   * The number of the lock that this process has. It rises with each lock on the session, and the store takes no record under a lower one than the last: a process
   * that stood still for longer than its lock lasts can write nothing after another one has taken the session.
   */
  readonly fence: number
  /** A driver for a new run. */
  steps(options?: {
    /** Where time comes from. Default: the system's clock. */
    readonly clock?: Clock
  }): AnswerableStepEngine
  /** All that was appended is durable, and another process may open the session. Rejects with what kept records from being stored; the session is closed then, too. */
  close(): Promise<void>
}

/**
 * Keeps many sessions: a database, a folder. Records of one session come back whole and in order, what was flushed outlives a kill, and one process at a time writes
 * a session. Errors are `HaltingError`s with the code `driver` whose message says what to do.
 */
export interface SessionStore {
  /**
   * Opens a session, or begins it. `head` is that of one that begins.
   * @throws HaltingError `driver` where another process has it open (and which), where a later version wrote it, and for records that are damaged (and which).
   */
  open(sessionId: string, head?: SessionHead): Promise<OpenSession>
  /**
   * All records of a session, without its lock: for whoever reads only. Undefined where there is no such session.
   * @throws HaltingError `driver` where a later version wrote it, and for records that are damaged (and which).
   */
  read(sessionId: string): Promise<
    | {
        /** The session, as a list shows it. */
        readonly info: StoredSessionInfo
        /** Its records, in order. */
        readonly records: readonly StepRecord[]
      }
    | undefined
  >
  /** The sessions, a page of them. */
  list(options?: SessionListOptions): Promise<readonly StoredSessionInfo[]>
  /** False where there is no such session. @throws HaltingError `driver` where a process has it open. */
  remove(sessionId: string): Promise<boolean>
  /** Removes the sessions whose newest record is older, but for those that a process has open. Gives how many. */
  removeOlderThan(moment: Date): Promise<number>
  /** Ends the connection. Sessions that are open are closed first. */
  close(): Promise<void>
}
