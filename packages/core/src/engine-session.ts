import type { QueryOptions } from './query-options.ts'
import type { Ended } from './run-context.ts'
import type { SessionAccount } from './session-account.ts'
import type { StepLog } from './steps/log.ts'

/** What runs beside the runs of an engine needs of it, and no caller. */
export interface EngineSession {
  readonly options: QueryOptions
  readonly account: SessionAccount
  readonly last: Ended | undefined
  readonly isRunning: boolean
  /** Where records go; undefined where none are kept, or each run has a driver of its own. */
  readonly log: StepLog | undefined
}

const sessions = new WeakMap<object, () => EngineSession>()

/** An engine makes itself known, once. */
export function keepEngineSession(engine: object, session: () => EngineSession): void {
  sessions.set(engine, session)
}

/** @throws TypeError for what is no engine. */
export function engineSession(engine: object): EngineSession {
  const session = sessions.get(engine)
  if (session === undefined) throw new TypeError('This is no QueryEngine.')
  return session()
}
