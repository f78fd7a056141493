import type { RunEvent } from '../state/events.ts'
import type { RunStream } from './iterate.ts'
import { uuidOf } from '../values/hash.ts'
import { knownModels } from '../run/named-models.ts'
import type { QueryOptions } from './query-options.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { contextOf, settingsOf } from './options.ts'
import { resultMessage } from '../sdk/result-message.ts'
import type { SdkPermissionDenial, SdkResult } from '../sdk/sdk-messages.ts'
import { SessionAccount } from './session-account.ts'
import { countedRuns } from '../steps/fold-session.ts'
import type { StepStore } from '../steps/log.ts'
import type { ModelFigures } from '../endings/terminal.ts'
import type { RunProgress } from '../state/state.ts'
import type { Transcript } from '../conversation/transcript.ts'
import { standingRound } from '../verification/goal-progress.ts'

/** The run that goes on. */
export interface Running {
  readonly loop: RunStream
  /** Puts what the run came to into the session, once, whoever asks first: its reader or the run that takes its place. */
  settle(): Promise<Settled>
}

export interface Settled extends FinishedRun {
  readonly sessionCostUsd: number
  readonly sessionUsage: { readonly [model: string]: ModelFigures }
}

/** `settle` is called once, when the run has ended and somebody wants to know. */
export function runningOf(loop: RunStream, settle: (ended: FinishedRun, of: Running) => Settled): Running {
  let settled: Promise<Settled> | undefined
  const running: Running = { loop, settle: () => (settled ??= loop.ended.then((ended) => settle(ended, running))) }
  return running
}

/** The last message of a run, with what the session has come to. */
export function resultOf<Output>(
  options: QueryOptions<Output>,
  {
    runId,
    ...came
  }: Settled & { readonly sessionId: string; readonly runId: string; readonly denials: readonly SdkPermissionDenial[] },
): SdkResult<Output> {
  const { output, contextWindow = null } = options
  const uuid = uuidOf(`${came.sessionId}/${runId}/result`)
  return resultMessage({ ...came, uuid, models: knownModels(contextOf(options)), contextWindow, output })
}

/** What runs beside the runs of an engine needs of it, and no caller. */
export interface EngineSession {
  readonly options: QueryOptions
  readonly account: SessionAccount
  readonly last: FinishedRun | undefined
  readonly isRunning: boolean
  /** Where records go; undefined where none are kept, or each run has a driver of its own. */
  readonly log: StepStore | undefined
}

/** What earlier processes have spent, without the run that another one goes on from. */
export function accountOf(options: QueryOptions, continued?: string): SessionAccount {
  const { session, spentBeforeUsd = 0 } = options
  const runs = session === undefined ? [] : countedRuns(session, continued)
  return new SessionAccount(settingsOf(options), spentBeforeUsd, runs, session?.stages)
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

export function tellListener({ onEvent }: Pick<QueryOptions, 'onEvent'>, event: RunEvent): void {
  try {
    onEvent?.(event)
  } catch {
    // The run goes on; what a listener does with an event is its own affair.
  }
}

/**
 * Whether what the goals are checked by was in order when a run ended, and nothing that the agent began can have changed it since: nothing was called after
 * the last check, and nothing was left running. What has changed of it at the next prompt a person has changed.
 */
export function areFilesInOrder(spent: RunProgress, transcript: Transcript): boolean {
  const last = standingRound(spent)
  if (last === undefined || last.tampered.length > 0) return false
  if (spent.stillRunning.length > 0 || (spent.openAgents ?? []).length > 0) return false
  for (const entry of transcript)
    if (
      entry.kind === 'attachment' &&
      entry.tasks?.some((task) => task.type === 'left' && task.how === 'kept') === true
    )
      return false
  return true
}
