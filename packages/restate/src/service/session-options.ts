import type { Session, SessionEvent } from '@halting/core/session'
import type { MessageContent } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { RenewAfter } from '../engine/cluster-log.ts'
import type { IngressOptions } from '../fleet/ingress.ts'
import type { PayloadStores } from '../payloads/payload-store.ts'
import type { Departure } from '../worker/departure.ts'
import type { Places } from '../worker/places.ts'
import type { WorkerListener } from '../worker/worker-events.ts'
import type { ClusterSession } from './cluster-session.ts'
import type { Opening } from './messages.ts'
import type { Stall } from './stall.ts'

/** A session that this process is to work at. */
export interface SessionToOpen {
  /** Id of the session. */
  readonly sessionId: string
  /** What whoever began it said of it. */
  readonly opening: Opening
  /** Whose budget it spends from; undefined for nobody's. */
  readonly tenant?: string | undefined
  /** What is kept of it: the `journal` of a session object. */
  readonly journal: ClusterSession
  /** Aborted when the engine goes on with the session in another process, or this one lets go of it as it waits. */
  readonly gone: AbortSignal
  /** Milliseconds since 1970 by the engine's clock: what the session compares or stores across processes is by this. Default: the clock of this machine. */
  readonly now?: () => number
}

/** A prompt as it is sent. */
export interface PreparedPrompt {
  /** The message. */
  readonly content: MessageContent
  /** The model of the run that begins with it. */
  readonly model?: string
}

/** A session as a worker opens it. */
export interface WorkerSession extends Session {
  /**
   * Makes a prompt ready, such as looking up the files that it names: once for each that is in no run on record, so again where a worker is lost meanwhile. What it
   * throws refuses the prompt. Without it a prompt is sent as it is.
   */
  readonly prepare?: (content: MessageContent, signal: AbortSignal) => Promise<PreparedPrompt>
}

/** Who hears of the sessions of this process, such as `liveEvents` makes it. */
export interface SessionListener {
  /** Where it tells others; null where it does not. It is on record with each attempt. */
  readonly url: string | null
  /** This process works at a session from here on. */
  onOpen(sessionId: string, session: Pick<Session, 'snapshot'>): void
  /** Something happened in a session. */
  onEvent(sessionId: string, event: SessionEvent): void
  /** Records are kept. `first` is the number of the first of them. */
  onKept(sessionId: string, first: number, records: readonly StepRecord[]): void
  /** This process has let go of a session. */
  onLeave(sessionId: string, session: Pick<Session, 'snapshot'>): void
}

/** Options of the service that runs sessions. */
export interface SessionServiceOptions {
  /**
   * Opens a session in this process. It is closed when nothing is left to do in it. Rejecting makes the engine try again, here or elsewhere; rejecting with a
   * `SessionRefusedError` refuses what was asked of a session that has no open run.
   */
  readonly open: (session: SessionToOpen) => Promise<WorkerSession>
  /** A session is removed: so is what this worker has of it beside the records, such as its folder. May be called more than once. */
  readonly onRemove?: (sessionId: string) => Promise<void>
  /** With them, a call from outside has to prove that it knows one of them (the `token` of a client). All workers of a cluster have the same. */
  readonly tokens?: readonly string[]
  /** Where what is large is kept. All workers of a cluster have the same. */
  readonly payloads?: PayloadStores
  /**
   * Whose budget a session works within, by its opening; undefined for nobody's. Asked until it names one, which the session keeps: no other worker and no other
   * opening changes it. What it throws refuses the work. Without it, it is the `tenant` that the opening names.
   */
  readonly tenantOf?: (opening: Opening) => string | undefined
  /**
   * The way back to the engine, for a session that has a tenant, and for noticing which session ends its workers: one that ended three without progress is set aside. Without it
   * such a session is tried again and again.
   */
  readonly ingress?: IngressOptions
  /** Where the engine reaches this process, for people who look where a session ended it; undefined where that is unknown. */
  readonly workerUrl?: () => string | undefined
  /** How much more than it needs such a session takes of the budget at once, in US dollars. */
  readonly chunkUsd?: number
  /** Why the work at a session does not go on, as far as this process knows; undefined while it does. `status` tells it. Asked for each status: it answers from memory. */
  readonly stalledOf?: (sessionId: string) => Stall | undefined
  /** Is notified of what happens in the sessions of this process. Default: nobody. */
  readonly listener?: SessionListener
  /** Places of this process: other sessions wait in their order. A session that only waits, such as for a person, gives its place to one of them. Default: no limit. */
  readonly places?: Places
  /** Is notified of what changes with the sessions of this process, for whoever operates it. It must not throw. Default: nobody. */
  readonly onEvent?: WorkerListener
  /**
   * How much the work at a session puts on record before it goes on as another invocation of the engine, at the next turn at which nothing is under way: what a worker
   * reads that takes the session up, and what the engine stores of running work, have a bound. Nobody else notices. Default: 20,000 records or 20 MB.
   */
  readonly renewAfter?: RenewAfter
  /** How this process ends, where it does not just die. */
  readonly departure?: Departure
  /** Sessions that run on a worker of another version, whose format of what is kept this one reads, come to this one at their next lap. */
  readonly takesOver?: boolean
}
