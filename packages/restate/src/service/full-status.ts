import { createHash } from 'node:crypto'
import type { MailboxStatus } from './names.ts'
import type { Stall } from './stall.ts'
import type { SessionStatus } from './status.ts'

/** Status of a session, and of the requests that wait in it. */
export interface FullStatus extends SessionStatus {
  /** Whether a worker is at work, or was called. */
  readonly isWorking: boolean
  /** Whether the session was closed. */
  readonly isClosed: boolean
  /** Number of requests that the work has not settled. */
  readonly waiting: number
  /** Changes whenever anything in the status changes: `changed` waits for a different version. Absent from workers of older versions. */
  readonly version?: string
}

/** The parts of a status: what the records say, the mailbox, and whether this worker knows that the work has stalled. */
interface StatusParts {
  readonly session: SessionStatus
  readonly mailbox: MailboxState
  readonly stalled: Stall | undefined
}

/** The part that the mailbox knows. */
export type MailboxState = Pick<MailboxStatus, 'isWorking' | 'isClosed' | 'waiting' | 'asked'>

/** The three parts of a version change independently. Clients return it unchanged. */
function versionOf({ session, mailbox, stalled }: StatusParts): string {
  return [sessionVersion(session), mailboxVersion(mailbox), stalledVersion(stalled)].join('/')
}

/** Everything in the status of a session follows from its records, except the address of its live events. */
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
