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
  /** The opening that came with its first request. */
  readonly opening: Opening
  /** The tenant whose budget it spends from; undefined for none. */
  readonly tenant?: string | undefined
  /** Its stored records: the `journal` of a session object. */
  readonly journal: ClusterSession
  /** Aborted when the engine continues the session in another process, or when this process releases it at rest. */
  readonly gone: AbortSignal
  /** Milliseconds since 1970 by the engine's clock, for times that the session compares or stores across processes. Default: the clock of this machine. */
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
   * Prepares a prompt, for example by reading the files that it names. Called once for each prompt that is in no run on record, so again if a worker is lost meanwhile. An error
   * refuses the prompt. Default: the prompt is sent unchanged.
   */
  readonly prepare?: (content: MessageContent, signal: AbortSignal) => Promise<PreparedPrompt>
}

/** A listener that is notified of the sessions of this process, such as the listener of `createLiveEvents`. */
export interface SessionListener {
  /** Address at which it serves live events; null if it does not. It is put on record with each attempt. */
  readonly url: string | null
  /** Called when this process begins to work at a session. */
  onOpen(sessionId: string, session: Pick<Session, 'snapshot'>): void
  /** Called when something happened in a session. */
  onEvent(sessionId: string, event: SessionEvent): void
  /** Called when records were stored. `first`: the number of the first of them. */
  onStored(sessionId: string, first: number, records: readonly StepRecord[]): void
  /** Called when this process has released a session. */
  onLeave(sessionId: string, session: Pick<Session, 'snapshot'>): void
}

/** Options of the service that runs sessions. */
export interface SessionServiceOptions {
  /**
   * Opens a session in this process. It is closed when nothing is left to do. If it rejects, the engine retries, here or elsewhere. If it rejects with a `SessionRefusedError`
   * and the session has no open run, its requests are refused.
   */
  readonly open: (session: SessionToOpen) => Promise<WorkerSession>
  /** Removes what this worker has of a removed session besides its records, such as its folder. May be called more than once. */
  readonly onRemove?: (sessionId: string) => Promise<void>
  /** Tokens of the cluster: a call from outside has to prove that it knows one of them (the `token` of a client). Must be the same on all workers. */
  readonly tokens?: readonly string[]
  /** Where large data is stored. Must be the same on all workers. */
  readonly payloads?: PayloadStores
  /**
   * The tenant whose budget a session spends from, by its opening; undefined for none. Called until it names one, which the session then keeps, whatever other workers or
   * openings say. An error refuses the work. Default: the `tenant` of the opening.
   */
  readonly tenantOf?: (opening: Opening) => string | undefined
  /**
   * The way back to the engine. Needed for sessions with a tenant, and for detecting sessions that kill their workers: a
   * session that killed three workers without progress is set aside. Without it, such a session is retried again and
   * again.
   */
  readonly ingress?: IngressOptions
  /** Address at which the engine reaches this process, shown to people who look for where a session killed it; undefined if unknown. */
  readonly workerUrl?: () => string | undefined
  /** Additional amount in US dollars that a session leases from the budget at once, beyond what it needs. */
  readonly chunkUsd?: number
  /**
   * Why the work at a session has stalled, as far as this process knows; undefined while it continues. Part of `status`, and called for each status, so it must answer from
   * memory.
   */
  readonly stalledOf?: (sessionId: string) => Stall | undefined
  /** Listener for the sessions of this process. Default: none. */
  readonly listener?: SessionListener
  /**
   * Places of this process; further sessions wait in order. A session that only waits, for example for a person, gives
   * its place to another session. Default: no limit.
   */
  readonly places?: Places
  /** Called with operational events of the sessions of this process. Must not throw. Default: no listener. */
  readonly onEvent?: WorkerListener
  /**
   * How much the work at a session puts on record before it continues in a new invocation of the engine, at the next turn without open effects. This bounds what a worker reads
   * to take over a session, and what the engine stores. Clients do not notice. Default: 20,000 records or 20 MB.
   */
  readonly renewAfter?: RenewAfter
  /** How this process gives up its sessions before it ends. */
  readonly departure?: Departure
  /** Takes over sessions that run on workers of another version, at their next iteration, if this version reads their storage format. */
  readonly takesOver?: boolean
}
