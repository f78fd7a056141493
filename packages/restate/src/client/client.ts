import type { Session } from '@halting/core/session'
import type { SdkResult } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { PayloadStores } from '../payloads/payload-store.ts'
import type { RequestAnswer } from '../service/answers.ts'
import type { Opening, SessionRequest } from '../service/messages.ts'
import type { FullStatus } from '../service/full-status.ts'
import type { WorkDone } from '../service/session-object.ts'

/** Options of a client of a cluster. */
export interface ClusterClientOptions {
  /** Where the engine takes requests, such as `http://127.0.0.1:8080`. */
  readonly ingress: string
  /** Sent with each request to it, such as an authorization. */
  readonly headers?: { readonly [name: string]: string }
  /** Of the cluster, where its workers ask for one. Each request proves that this client knows it, and does not carry it. */
  readonly token?: string
  /** How live events are had of workers. */
  readonly worker?: {
    /** The token that workers ask of readers of live events. */
    readonly token?: string
    /** The address at which this process reaches a worker that calls itself so; the same unless said otherwise. */
    readonly reach?: (url: string) => string
  }
  /** Where the workers put large records. */
  readonly payloads?: PayloadStores
  /** As the runtime has it when absent. */
  readonly fetch?: typeof fetch
}

/** Options of a request to a session. */
export interface RequestOptions {
  /** Under which it counts once. A new one when absent. */
  readonly id?: string
  /** How the session is opened, if it is new. */
  readonly opening?: Opening
}

/**
 * Sessions of a cluster, for programs that are not part of it. All of it may be asked again after a failure.
 * What asks it rejects with a ConfigurationError for what the cluster refuses, and with a HaltingError `driver` where it does not answer.
 */
export interface ClusterClient {
  /** False for a request that came before, or that means nothing now. */
  request(sessionId: string, request: SessionRequest, options?: RequestOptions): Promise<boolean>
  /** How a session stands, and what was asked of it. */
  status(
    sessionId: string,
    options?: {
      /** Aborts the call. */
      readonly signal?: AbortSignal
    },
  ): Promise<FullStatus>
  /** The same by a long call: answered at once where the session is not as in `since`, else when anything changes, or when the wait is over. Where `since` is absent, at once. */
  changed(sessionId: string, options?: ChangedOptions): Promise<FullStatus>
  /** Records from this number on, all that are there. */
  records(sessionId: string, since?: number): Promise<readonly StepRecord[]>
  /** What became of a request; with `wait` it answers when that is known, and rejects when `signal` is aborted. */
  result(
    sessionId: string,
    requestId: string,
    options?: {
      /** Answer only when the outcome is known. Default: false. */
      readonly wait?: boolean
      /** Aborts the wait. */
      readonly signal?: AbortSignal
    },
  ): Promise<RequestAnswer>
  /** The result of a run, once it is on record. */
  resultOfRun(sessionId: string, runId: string): Promise<SdkResult | undefined>
  /** What came of the work at it, the last time that there was some. Undefined before. */
  done(sessionId: string): Promise<WorkDone | undefined>
  /** Ends what goes on. The session takes nothing more. */
  close(sessionId: string): Promise<void>
  /** Deletes the session, with all that is stored of it and its folder on the worker. It waits until nobody works at the session. */
  remove(sessionId: string): Promise<void>
  /** A new session with what was said in the runs that ended; gives its name: `as`, or a new one. */
  fork(sessionId: string, as?: string): Promise<string>
  /** The session for the faces, as one of this process is. `close` of it leaves the session on the cluster as it is: what goes on, goes on. */
  session(sessionId: string, opening?: Opening, options?: RemoteSessionOptions): Session
}

/** Options of a call that waits for a change of a session. */
export interface ChangedOptions {
  /** The `version` of the status that the caller has. */
  readonly since?: string
  /** A name of the caller's own: of its calls the engine keeps the newest. A new one when absent. */
  readonly by?: string
  /** How long it may wait, in milliseconds. Default: 50 s, which is the longest. */
  readonly waitMs?: number
  /** Aborts the call. */
  readonly signal?: AbortSignal
}

/** Options of a session that is followed over the cluster. */
export interface RemoteSessionOptions {
  /** The number of records from which on it tells what happened; what there is when it is opened is passed over when absent. */
  readonly since?: number
  /** The run that went on then, or was the last one, as the status of that moment has it. */
  readonly runId?: string
}
