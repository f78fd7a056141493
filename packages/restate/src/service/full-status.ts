import { createHash } from 'node:crypto'
import type { MailboxStatus } from './names.ts'
import type { Stall } from './stall.ts'
import type { SessionStatus } from './status.ts'

/** What stands with a session, and with what was asked of it. */
export interface FullStatus extends SessionStatus {
  /** Somebody works at it, or was called to. */
  readonly isWorking: boolean
  /** Whether the session was closed. */
  readonly isClosed: boolean
  /** How many requests the work has not answered for. */
  readonly waiting: number
  /** Differs whenever anything of this does: `changed` waits until it is another one. Absent where a worker of an older version answers. */
  readonly version?: string
}

/** How a session stands: what its records say, its mailbox, and what this worker knows of work that does not continue. */
interface StatusParts {
  readonly session: SessionStatus
  readonly mailbox: MailboxState
  readonly stalled: Stall | undefined
}

/** The part of it that the mailbox knows. */
export type MailboxState = Pick<MailboxStatus, 'isWorking' | 'isClosed' | 'waiting' | 'asked'>

/** The three parts of a version change independently. Clients send it back as it is. */
function versionOf({ session, mailbox, stalled }: StatusParts): string {
  return [sessionVersion(session), mailboxVersion(mailbox), stalledVersion(stalled)].join('/')
}

/** All that the status of a session says follows from its records, except where its live events are. */
export function sessionVersion({ records, live }: Pick<SessionStatus, 'records' | 'live'>): string {
  return `${records}${live === undefined ? '' : `-${digest(live)}`}`
}

export function mailboxVersion({ isWorking, isClosed, waiting, asked }: MailboxState): string {
  return `${asked}-${waiting}${isWorking ? 'w' : ''}${isClosed ? 'c' : ''}`
}

export function stalledVersion(stalled: Stall | undefined): string {
  return stalled === undefined ? '' : digest(stalled.message)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** The answer of `status` and of `changed`. */
export function fullStatus(parts: StatusParts): FullStatus {
  const { session, mailbox, stalled } = parts
  const { isWorking, isClosed, waiting } = mailbox
  const status = { ...session, isWorking, isClosed, waiting, version: versionOf(parts) }
  return stalled === undefined ? status : { ...status, state: 'paused', stalled }
}
