import { Ledger } from '../limits/ledger.ts'
import { nanosOf } from '../model/prices.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { QueryEngine } from '../api/engine.ts'
import { engineSession } from '../api/engine-session.ts'
import { isPositive, optional } from '../values/validators.ts'
import { settingsOf, type RunOptions } from '../api/options.ts'
import type { StepStore } from '../steps/step-record.ts'
import { Transcript } from '../conversation/transcript.ts'
import { startStages, type RunningStages, type StagesOptions } from './run-stages.ts'
import type { Stage } from './stage.ts'
import type { StageReport } from '../steps/stage-record.ts'

// Spec R-AFTER-1.
/**
 * Starts the stages after the last run of an engine, and returns their messages. Call it when the result is available;
 * it does not wait.
 * No stage starts unless that run completed. Stages spend from the ledger of the session: its budget limits them, and
 * later results include their costs.
 * @throws ConfigurationError for an invalid list of stages, and while a run is active.
 */
export function afterRun(engine: QueryEngine, stages: readonly Stage[], options: StagesOptions = {}): RunningStages {
  const session = engineSession(engine)
  const { last } = session
  if (session.isRunning) throw new ConfigurationError('A run is active. Start stages when its result is available.')
  const isDue = last?.terminal.reason === 'completed'
  const { prices, tokens, clock, mediaLimits, graceMs, standing, model } = session.options
  const runOptions = { prices, tokens, clock, mediaLimits, graceMs, standing }
  const host = {
    sessionId: engine.sessionId,
    runId: last?.state.run.runId ?? '',
    terminal: last?.terminal ?? null,
    transcript: engine.transcript,
    model,
    options: withoutUndefined(runOptions),
    ledger: session.account.ledger,
    lease: session.options.lease ?? null,
    signal: session.options.signal,
    log: session.log,
    idOf: (name: string) => session.account.stageIds.next(`${last?.state.run.runId ?? ''}/after/${name}`),
    onEnded: (report: StageReport) => session.account.addStage(report),
  }
  return startStages(isDue ? stages : [], host, options)
}

/** The environment of stages that are run without a preceding run. */
export interface AloneOptions
  extends StagesOptions, Pick<RunOptions, 'prices' | 'tokens' | 'clock' | 'mediaLimits' | 'graceMs' | 'standing'> {
  /** The model that stages ask unless they name another. */
  readonly model: RunOptions['model']
  /** Id of the session. */
  readonly sessionId: string
  /** Budget of all stages together. Default: only the limits of each stage apply. */
  readonly maxBudgetUsd?: number
  /** The session so far. Default: an empty one. */
  readonly transcript?: Transcript
  /** Where the records of stages are stored. Default: nowhere. */
  readonly log?: StepStore
}

/** Runs stages without a preceding run, for example for a command of a person. The same limits apply. @throws ConfigurationError */
export function runStages(stages: readonly Stage[], options: AloneOptions): RunningStages {
  const { model, prices, tokens, clock, mediaLimits, graceMs, standing } = options
  const { sessionId, maxBudgetUsd, transcript, log } = options
  const runOptions = withoutUndefined({ prices, tokens, clock, mediaLimits, graceMs, standing })
  settingsOf({ model, ...runOptions })
  optional(isPositive)('maxBudgetUsd', maxBudgetUsd)
  const host = {
    sessionId,
    runId: '',
    terminal: null,
    transcript: transcript ?? Transcript.empty(),
    model,
    options: runOptions,
    ledger: Ledger.create({ nanos: nanosOf(maxBudgetUsd ?? Infinity) }, { isMeasured: standing !== undefined }),
    lease: null,
    signal: undefined,
    log,
    idOf: (name: string) => `alone/${name}`,
    onEnded: () => undefined,
  }
  const { signal } = options
  return startStages(stages, host, signal === undefined ? {} : { signal })
}

type Present<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

function withoutUndefined<Values extends object>(values: Values): Present<Values> {
  // Only undefined values are removed.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<Values>
}
