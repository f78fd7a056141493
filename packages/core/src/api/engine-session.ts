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
import type { StepStore } from '../steps/step-record.ts'
import type { ModelFigures } from '../endings/run-result.ts'
import type { RunProgress } from '../state/state.ts'
import type { Transcript } from '../conversation/transcript.ts'
import { currentRound } from '../verification/goal-progress.ts'

/** The current run. */
export interface CurrentRun {
  readonly loop: RunStream
  /** Adds the outcome of the run to the session, once: for its reader or for the run that replaces it. */
  settle(): Promise<Settled>
}

export interface Settled extends FinishedRun {
  readonly sessionCostUsd: number
  readonly sessionUsage: { readonly [model: string]: ModelFigures }
}

/** Creates the current run. `settle` is called once, when the run has ended and its outcome is needed. */
export function currentRunOf(loop: RunStream, settle: (ended: FinishedRun, of: CurrentRun) => Settled): CurrentRun {
  let settled: Promise<Settled> | undefined
  const running: CurrentRun = { loop, settle: () => (settled ??= loop.ended.then((ended) => settle(ended, running))) }
  return running
}

/** The last message of a run, with the totals of the session. */
export function resultOf<Output>(
  options: QueryOptions<Output>,
  {
    runId,
    ...settled
  }: Settled & { readonly sessionId: string; readonly runId: string; readonly denials: readonly SdkPermissionDenial[] },
): SdkResult<Output> {
  const { output, contextWindow = null } = options
  const uuid = uuidOf(`${settled.sessionId}/${runId}/result`)
  return resultMessage({ ...settled, uuid, models: knownModels(contextOf(options)), contextWindow, output })
}

/** The internal state of an engine, for components that work together with its runs. Not for callers. */
export interface EngineSession {
  readonly options: QueryOptions
  readonly account: SessionAccount
  readonly last: FinishedRun | undefined
  readonly isRunning: boolean
  /** The store for records; undefined if nothing is recorded, or each run has its own step engine. */
  readonly log: StepStore | undefined
}

/** The account of earlier processes, excluding the run that another run continues. */
export function accountOf(options: QueryOptions, continued?: string): SessionAccount {
  const { session, spentBeforeUsd = 0 } = options
  const runs = session === undefined ? [] : countedRuns(session, continued)
  return new SessionAccount(settingsOf(options), spentBeforeUsd, runs, session?.stages)
}

const sessions = new WeakMap<object, () => EngineSession>()

/** Registers an engine, once. */
export function registerEngineSession(engine: object, session: () => EngineSession): void {
  sessions.set(engine, session)
}

/** @throws TypeError for anything but an engine. */
export function engineSession(engine: object): EngineSession {
  const session = sessions.get(engine)
  if (session === undefined) throw new TypeError('Not a QueryEngine.')
  return session()
}

export function notifyListener({ onEvent }: Pick<QueryOptions, 'onEvent'>, event: RunEvent): void {
  try {
    onEvent?.(event)
  } catch {
    // An error of a listener does not affect the run.
  }
}

/**
 * Whether the files that define the goals' checks were unmodified at the end of a run, and the agent cannot have changed
 * them since. This requires that no call followed the last check, and no task was left running. A person is then
 * responsible for changes before the next prompt.
 */
export function areGoalFilesUnmodified(spent: RunProgress, transcript: Transcript): boolean {
  const last = currentRound(spent)
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
