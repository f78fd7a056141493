// `@halting/core/steps`: what drivers of the Steps port are made of, and what reads their records.
export {
  accountOf,
  type Account,
  type AccountedEnding,
  type PhaseFigures,
  type StepFigures,
  type Totals,
} from '../account/account.ts'
export { isCopiedRun } from '../account/copied-run.ts'
export type { LapFigures, RankingLeft } from '../account/laps.ts'
export type { LimitFigures, LimitName } from '../account/limits.ts'
export { allowancesLeft, type AllowancesLeft } from '../allowance.ts'
export { limitsInForce } from '../account/limits.ts'
export { timeByPhase } from '../account/time-by-phase.ts'
export {
  recordedStep,
  recordedSteps,
  type Phase,
  type RecordedCall,
  type RecordedRequest,
  type RecordedStep,
  type RecordedSteps,
} from '../account/recorded-steps.ts'
export { freeModels } from '../account/free-models.ts'
export { recordedWork, type CallOutcome, type PastRequest, type RecordedWork } from '../account/recorded-work.ts'
export type { ToolFigures } from '../account/tools.ts'
export { trajectoryOfForeign, type ForeignTrajectory } from '../what-if/foreign-trajectory.ts'
export type { OtherLimits } from '../what-if/other-limits.ts'
export { suggestLimits, type SuggestedLimit } from '../what-if/suggest-limits.ts'
export { trajectoryOf, type PastCall, type PastTurn, type Trajectory } from '../what-if/trajectory.ts'
export { whatIf, type WhatIf, type WhatIfOptions } from '../what-if/what-if.ts'
export type { Clock } from './clock.ts'
export type { Control, InboxMessage } from './control.ts'
export { StepsDriver, type AnswerableSteps, type StepsOptions } from './driver.ts'
export {
  recordsOfForeign,
  type ForeignEnding,
  type ForeignPayment,
  type ForeignRecords,
  type ForeignResult,
  type ForeignRun,
  type ForeignSaid,
  type ForeignTurn,
} from './foreign-run.ts'
export type { FoldedPast, StepLog, StepRecord } from './log.ts'
export { createMemorySteps, type MemorySteps, type MemoryStepsOptions } from './memory.ts'
export {
  countedRuns,
  foldSession,
  runsOf,
  type EndedRun,
  type FoldedSession,
  type KeptSession,
} from './fold-session.ts'
export { recordedResult } from '../sdk/recorded-result.ts'
export { personsMessages, placeOfMessage, rewindRecord, type PersonsMessage } from '../rewind.ts'
export { misfitOfRecord } from './stored-record.ts'
export { foldRun, PastOfRun, recordedStart, type Folded, type LedgerSoFar } from './fold.ts'
export type { ControlOptions, EffectScope, PolledControl, StepKey, StepOptions, StepResult, Steps } from './steps.ts'
export { committedNanos, recordedSpending } from '../session-account.ts'
export { systemClock } from './system-clock.ts'
export { Ledger, type Amount, type LedgerFigures, type LedgerLimits, type Reservation } from '../budget/ledger.ts'
export type { LoopContext } from '../iterate.ts'
export { ledgerOf, settingsOf } from '../options.ts'
export type { RunSettings } from '../run-context.ts'
export type { Lap, RunEnd, RunIdentity, RunLimits, RunStart } from '../state.ts'
export type { Eventually } from '../eventually.ts'
