import type { ObjectContext, ObjectSharedContext } from '@restatedev/restate-sdk'
import type { ForkPage } from './fork.ts'
import type { WaitingPage } from './mailbox-state.ts'
import type { Tenancy } from './tenancy.ts'
import type { Opening, PushRequest } from './messages.ts'

/** Names of the objects. What is kept under them stays where they change. */
export const sessionObject = 'halting_session'
/** The name of the virtual object that holds the messages of a session. */
export const mailboxObject = 'halting_mailbox'

/** What an invocation begins with. */
export interface WorkStart extends WaitingPage {
  readonly opening: Opening
  readonly tenancy?: Tenancy
  /** When the invocation began, in milliseconds since 1970; absent where another version has begun it. */
  readonly sinceMs?: number
  /** Why nothing comes of the work: its opening names a tenant that it may not have. */
  readonly refusal?: string
}

/** What others are told of a mailbox. */
export interface MailboxStatus {
  /** Somebody works at the session, or was called to. */
  readonly isWorking: boolean
  readonly isClosed: boolean
  /** How many requests the work has not answered for. */
  readonly waiting: number
  /** Whether the one that was asked about is among them. */
  readonly isWaiting: boolean
  /** The number of the next request: it changes with each. */
  readonly asked: number
  readonly opening: Opening
  readonly tenancy?: Tenancy
}

/** Who is to be woken when something is answered for. */
export interface Listener {
  readonly awakeable: string
  /** Only while the request of this name waits. */
  readonly ifWaiting?: string
}

/** The state of a session that somebody who watches it has seen. */
export interface SeenState {
  readonly records: number
  readonly live?: string
}

/** Who is to be woken when anything changes. */
export interface Watch {
  readonly awakeable: string
  /** A client. Its next call takes the place of this one. */
  readonly by: string
  /** Only while the mailbox is in the state of this version. */
  readonly ifStill: string
  readonly seen: SeenState
}

/** The state of a mailbox, and whether it keeps somebody who watches. */
export interface WatchResult extends Pick<MailboxStatus, 'isWorking' | 'isClosed' | 'waiting' | 'asked'> {
  readonly isWatching: boolean
}

/** What the objects ask of each other. */
export type MailboxObject = {
  push(context: ObjectContext, request: PushRequest): Promise<boolean>
  begin(context: ObjectContext, invocation: string): Promise<WorkStart>
  waiting(context: ObjectContext, after: number): Promise<WaitingPage>
  settle(context: ObjectContext, upTo: number): Promise<WaitingPage>
  listen(context: ObjectContext, listener: Listener): Promise<boolean>
  /** `watchers`: those alone who wait for any change. An older version wakes all. */
  wake(context: ObjectContext, only?: 'watchers'): Promise<void>
  watch(context: ObjectContext, watch: Watch): Promise<WatchResult>
  unwatch(context: ObjectContext, by: string): Promise<void>
  adopt(context: ObjectContext, opening: Opening): Promise<void>
  forget(context: ObjectContext): Promise<void>
  status(context: ObjectSharedContext, id: string): Promise<MailboxStatus>
}
/** Who removes a session may say of it. */
export type RemoveRequest = {
  /** It goes only if it has so many records, no run goes on and nothing waits. */
  readonly ifRecords?: number
  /** It has waited once for the invocation that goes on with a run, when there were so many records. */
  readonly behind?: number
}
export type SessionObject = {
  remove(context: ObjectContext, given: RemoveRequest): Promise<boolean>
  work(context: ObjectContext): Promise<void>
  adopt(context: ObjectContext, page: ForkPage): Promise<boolean>
}
