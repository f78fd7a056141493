/** A session that a worker event is about. */
export interface SessionOfWorker {
  /** Id of the session. */
  readonly session: string
  /** The tenant whose budget it spends from; absent for a session without one. */
  readonly tenant?: string
}

/**
 * What changed with a worker or with one of its sessions: one event for each change of state, as the worker saw it. No event has a prompt, an answer of a model or
 * the output of a tool in it. Other types may be added.
 */
export type WorkerEvent =
  /** The session waits for a place in this process (`--concurrency`). */
  | (SessionOfWorker & { readonly type: 'session_waiting' })
  /** This process works at the session from here on. Again after a rest, and after another worker had it. */
  | (SessionOfWorker & { readonly type: 'session_started' })
  /** The session waits for a person, a timer or a limit, and has no place in this process any more. */
  | (SessionOfWorker & { readonly type: 'session_resting' })
  /** A run of the session ended here. Figures are those of the whole run, also of what other workers did of it. */
  | (SessionOfWorker & {
      readonly type: 'run_ended'
      /** Why it ended. */
      readonly reason: string
      /** US dollars, settled, plus the worst case of requests whose usage is unknown. */
      readonly usd: number
      /** Tokens that count against a limit on tokens. */
      readonly tokens: number
      /** Attempts that reached the model. */
      readonly requests: number
      /** Results of tool calls. */
      readonly toolCalls: number
    })
  /** Nothing is left to do in the session. */
  | (SessionOfWorker & {
      readonly type: 'session_ended'
      /** The ending of its last run; absent where no run ended here. */
      readonly reason?: string
    })
  /** This process leaves the session, and the engine continues it elsewhere or here later. */
  | (SessionOfWorker & {
      readonly type: 'session_left'
      /** Why, as a clause. */
      readonly because: string
    })
  /** This worker had the engine bind the session's work to another worker. */
  | (SessionOfWorker & {
      readonly type: 'session_moved'
      /** The address of the worker that had it; absent where unknown. */
      readonly from?: string
      /** The address of the worker that gets it; absent where unknown. */
      readonly to?: string
    })
  /** The session is not worked at any more until a person releases it. */
  | (SessionOfWorker & {
      readonly type: 'session_set_aside'
      /** Why, as a clause. */
      readonly because: string
    })
  /** A person released a session that was set aside. */
  | (SessionOfWorker & { readonly type: 'session_released' })
  /** Sessions that nobody has used for long were removed (`retainMs`). */
  | {
      readonly type: 'sessions_removed'
      /** How many. */
      readonly count: number
    }
  /** A worker does not answer any more. */
  | {
      readonly type: 'worker_lost'
      /** The one under which the engine knows it. */
      readonly address: string
    }
  /** A worker that was lost answers again. */
  | {
      readonly type: 'worker_back'
      /** The one under which the engine knows it. */
      readonly address: string
    }
  /** This worker leaves its sessions to another one. */
  | {
      readonly type: 'giving_way'
      /** That of the worker that takes over. */
      readonly address: string
    }
  /** The worker that took over is gone: this one works at sessions again. */
  | { readonly type: 'staying' }
  /** Whether this worker can do work has changed. */
  | {
      readonly type: 'ready'
      /** It can. */
      readonly isReady: boolean
      /** Why it cannot, as a clause; absent where it can. */
      readonly because?: string
    }
  /** Something failed and is tried again, or needs a person. */
  | {
      readonly type: 'trouble'
      /** An error needs somebody to look; a warning may pass by itself. */
      readonly level: 'warn' | 'error'
      /** What failed, in a sentence. */
      readonly message: string
      /** The session that it is about; absent for none. */
      readonly session?: string
    }

/** Is notified of the events of a worker. It must not throw. */
export type WorkerListener = (event: WorkerEvent) => void
