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
  /** Address of the engine's ingress, such as `http://127.0.0.1:8080`. */
  readonly ingress: string
  /** Headers of each request to the ingress, such as an authorization. */
  readonly headers?: { readonly [name: string]: string }
  /** Token of the cluster, if its workers require one. Requests prove that this client knows it without sending it. */
  readonly token?: string
  /** How to read live events from workers. */
  readonly worker?: {
    /** Token that workers require from readers of live events. */
    readonly token?: string
    /** Maps the address that a worker announces to the address at which this process reaches it. Default: the same address. */
    readonly reach?: (url: string) => string
  }
  /** Where the workers store large records. */
  readonly payloads?: PayloadStores
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
}

/** Options of a request to a session. */
export interface RequestOptions {
  /** Id of the request; a second request with the same id has no effect. Default: a new id. */
  readonly id?: string
  /** How to open the session if it is new. */
  readonly opening?: Opening
}

/**
 * Access to the sessions of a cluster, for programs that are not part of it. Every method may be called again after a failure. Methods reject with a ConfigurationError if the
 * cluster refuses, and with a HaltingError `driver` if it does not answer.
 */
export interface ClusterClient {
  /** Returns false for a repeated request and for one that has no effect now. */
  request(sessionId: string, request: SessionRequest, options?: RequestOptions): Promise<boolean>
  /** Status of a session, and of the requests that wait in it. */
  status(
    sessionId: string,
    options?: {
      /** Aborts the call. */
      readonly signal?: AbortSignal
    },
  ): Promise<FullStatus>
  /** Long poll: returns the status as soon as its version differs from `since`, or when the wait is over. Without `since`, returns at once. */
  changed(sessionId: string, options?: ChangedOptions): Promise<FullStatus>
  /** All records from this number on. */
  records(sessionId: string, since?: number): Promise<readonly StepRecord[]>
  /** Outcome of a request. With `wait`, resolves once it is known; rejects when `signal` is aborted. */
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
  /** Outcome of the last work at the session; undefined if there was none. */
  done(sessionId: string): Promise<WorkDone | undefined>
  /** Ends the current run. The session accepts nothing more. */
  close(sessionId: string): Promise<void>
  /** Deletes the session with everything stored for it and its folder on the worker. Waits until no work is running. */
  remove(sessionId: string): Promise<void>
  /** Creates a session with the conversation of the finished runs. Returns its id: `as`, or a new one. */
  fork(sessionId: string, as?: string): Promise<string>
  /** The session as a session object for frontends. Its `close` does not affect the session on the cluster: a running run continues. */
  session(sessionId: string, opening?: Opening, options?: RemoteSessionOptions): Session
}

/** Options of a call that waits for a change of a session. */
export interface ChangedOptions {
  /** The `version` of the status that the caller has. */
  readonly since?: string
  /** Name of the caller: the engine retains only the newest call of each name. Default: a new name. */
  readonly by?: string
  /** Maximum wait, in milliseconds. Default: 50 s, which is also the longest. */
  readonly waitMs?: number
  /** Aborts the call. */
  readonly signal?: AbortSignal
}

/** Options of a session that is followed over the cluster. */
export interface RemoteSessionOptions {
  /** Number of the record from which to emit events. Default: only what happens after the session is opened. */
  readonly since?: number
  /** Id of the run that was current or last when the session was opened, as in the status. */
  readonly runId?: string
}
