import type { ObjectContext, ObjectSharedContext } from '@restatedev/restate-sdk'
import type { ForkPage } from './fork.ts'
import type { WaitingPage } from './mailbox-state.ts'
import type { Tenancy } from './tenancy.ts'
import type { Opening, PushRequest } from './messages.ts'

/** Name of the virtual object of a session. If a name changes, state that was stored under the earlier name is not found. */
export const sessionObject = 'halting_session'
/** Name of the virtual object that holds the requests of a session. */
export const mailboxObject = 'halting_mailbox'

/** What an invocation receives when it begins. */
export interface WorkStart extends WaitingPage {
  readonly opening: Opening
  readonly tenancy?: Tenancy
  /** When the invocation began, in milliseconds since 1970. Absent if another version began it. */
  readonly sinceMs?: number
  /** Why the work is refused: its opening names a tenant that the session may not use. */
  readonly refusal?: string
}

/** State of a mailbox, for callers. */
export interface MailboxStatus {
  /** Whether a worker is at work, or was called. */
  readonly isWorking: boolean
  readonly isClosed: boolean
  /** Number of requests that the work has not settled. */
  readonly waiting: number
  /** Whether the request in question is among them. */
  readonly isWaiting: boolean
  /** The number of the next request, which changes with each request. */
  readonly asked: number
  readonly opening: Opening
  readonly tenancy?: Tenancy
}

/** A caller that waits until a request is settled. */
export interface Listener {
  readonly awakeable: string
  /** Register only while the request with this id waits. */
  readonly ifWaiting?: string
}

/** The state of a session that a watcher has seen. */
export interface SeenState {
  readonly records: number
  readonly live?: string
}

/** A client that waits for any change. */
export interface Watch {
  readonly awakeable: string
  /** Name of the client. Its next call replaces this one. */
  readonly by: string
  /** Register only while the mailbox has this version. */
  readonly ifStill: string
  readonly seen: SeenState
}

/** State of a mailbox, and whether it registered the watcher. */
export interface WatchResult extends Pick<MailboxStatus, 'isWorking' | 'isClosed' | 'waiting' | 'asked'> {
  readonly isWatching: boolean
}

/** Handlers that other objects call. */
export type MailboxObject = {
  push(context: ObjectContext, request: PushRequest): Promise<boolean>
  begin(context: ObjectContext, invocation: string): Promise<WorkStart>
  waiting(context: ObjectContext, after: number): Promise<WaitingPage>
  settle(context: ObjectContext, upTo: number): Promise<WaitingPage>
  listen(context: ObjectContext, listener: Listener): Promise<boolean>
  /** `watchers`: only those that wait for any change. Older versions wake all. */
  wake(context: ObjectContext, only?: 'watchers'): Promise<void>
  watch(context: ObjectContext, watch: Watch): Promise<WatchResult>
  unwatch(context: ObjectContext, by: string): Promise<void>
  adopt(context: ObjectContext, opening: Opening): Promise<void>
  forget(context: ObjectContext): Promise<void>
  status(context: ObjectSharedContext, id: string): Promise<MailboxStatus>
}
/** Conditions of a removal. */
export type RemoveRequest = {
  /** Remove only if the session has this many records, no run is running and nothing waits. */
  readonly ifRecords?: number
  /** The removal has waited once for the invocation that continues a run, when there were this many records. */
  readonly behind?: number
}
export type SessionObject = {
  remove(context: ObjectContext, given: RemoveRequest): Promise<boolean>
  work(context: ObjectContext): Promise<void>
  adopt(context: ObjectContext, page: ForkPage): Promise<boolean>
}
