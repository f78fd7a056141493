/** The session that an event is about. */
export interface SessionOfWorker {
  /** Id of the session. */
  readonly session: string
  /** The tenant whose budget it spends from; absent for a session without one. */
  readonly tenant?: string
}

/**
 * A change of a worker or of one of its sessions: one event for each change of state, as the worker saw it. Events never contain prompts, answers of models or output of tools.
 * Other types may be added.
 */
export type WorkerEvent =
  /** The session waits for a place in this process (`--concurrency`). */
  | (SessionOfWorker & { readonly type: 'session_waiting' })
  /** This process begins to work at the session. Emitted again after a rest, and after another worker had it. */
  | (SessionOfWorker & { readonly type: 'session_started' })
  /** The session waits for a person, a timer or a limit, and no longer has a place in this process. */
  | (SessionOfWorker & { readonly type: 'session_resting' })
  /** A run of the session ended here. Its figures are those of the whole run, including what other workers did. */
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
      /** The ending of its last run; absent if no run ended here. */
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
      /** The address of the worker that had it; absent if unknown. */
      readonly from?: string
      /** The address of the worker that gets it; absent if unknown. */
      readonly to?: string
    })
  /** No worker works at the session until a person releases it. */
  | (SessionOfWorker & {
      readonly type: 'session_set_aside'
      /** Why, as a clause. */
      readonly because: string
    })
  /** A person released a session that was set aside. */
  | (SessionOfWorker & { readonly type: 'session_released' })
  /** Sessions that were not used for long were removed (`retainMs`). */
  | {
      readonly type: 'sessions_removed'
      /** How many. */
      readonly count: number
    }
  /** A worker no longer answers. */
  | {
      readonly type: 'worker_lost'
      /** Its address at the engine. */
      readonly address: string
    }
  /** A worker that was lost answers again. */
  | {
      readonly type: 'worker_back'
      /** Its address at the engine. */
      readonly address: string
    }
  /** This worker leaves its sessions to another one. */
  | {
      readonly type: 'giving_way'
      /** Address of the worker that takes over. */
      readonly address: string
    }
  /** The worker that took over is gone: this one works at sessions again. */
  | { readonly type: 'staying' }
  /** Whether this worker can work has changed. */
  | {
      readonly type: 'ready'
      /** Whether it can. */
      readonly isReady: boolean
      /** Why it cannot, as a clause; absent if it can. */
      readonly because?: string
    }
  /** Something failed and is retried, or needs a person. */
  | {
      readonly type: 'trouble'
      /** An error needs attention; a warning may pass by itself. */
      readonly level: 'warn' | 'error'
      /** What failed, in a sentence. */
      readonly message: string
      /** The session that it is about; absent for none. */
      readonly session?: string
    }

/** Is notified of the events of a worker. It must not throw. */
export type WorkerListener = (event: WorkerEvent) => void
