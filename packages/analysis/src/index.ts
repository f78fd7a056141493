// `@halting/analysis`: computes figures from the records of finished sessions. It reads no files, so it also runs in a browser.
export { mayChange, whatIfPriced } from './what-if/changing-calls.ts'
export { answerRuns, type AnsweredRuns, type WantedAnswers } from './what-if/answer-runs.ts'
export { answerBudgets, type AnsweredBudgets } from './what-if/answer-budgets.ts'
export type { PeriodSpent } from './what-if/period-account.ts'
export type { RunClock } from './what-if/request-log.ts'
export type { StandingLimit } from './what-if/standing-limits.ts'
export type { RunAnswer, WhatIfAnswers } from './what-if/run-answer.ts'
export {
  type Account,
  type StepFigures,
  accountOf,
  type AccountedEnding,
  type PhaseFigures,
  type WaitFigures,
} from './account/account.ts'
export { isCopiedRun } from './account/copied-run.ts'
export { freeModels } from './account/free-models.ts'
export { goalRounds, type GoalFigures, type GoalUnknown, type RecordedRound, type RoundPlace } from './account/goal.ts'
export type { LimitPauseEnd, LimitPauseFigures, OpenLimitPause, RecordedLimitPause } from './account/limit-pauses.ts'
export {
  serviceWaits,
  type OpenServiceWait,
  type RecordedServiceWait,
  type ServiceRefusal,
  type ServiceWaitCause,
  type ServiceWaitEnd,
  type ServiceWaitFigures,
} from './account/service-waits.ts'
export type { IterationFigures, RankingLeft } from './account/iterations.ts'
export { type LimitFigures, type LimitName, limitsInForce, unknownLimits } from './account/limits.ts'
export type { VerificationFigures } from './account/verification.ts'
export { recordedWork, type PastRequest, type CallOutcome, type RecordedWork } from './account/recorded-work.ts'
export { timeByPhase } from './account/time-by-phase.ts'
export type { ToolFigures } from './account/tools.ts'
export {
  recordsOfForeign,
  type ForeignEnding,
  type ForeignPayment,
  type ForeignRecords,
  type ForeignResult,
  type ForeignRun,
  type ForeignMessage,
  type ForeignTurn,
  agentCallOf,
  ForeignCosts,
  isAnswered,
} from './foreign/foreign-run.ts'
export { trajectoryOfForeign, type ForeignTrajectory } from './what-if/foreign-trajectory.ts'
export type { OtherLimits, WhyUnknown } from './what-if/other-limits.ts'
export { suggestLimits, type SuggestedLimit } from './what-if/suggest-limits.ts'
export {
  trajectoryOf,
  type PastCall,
  type PastTurn,
  type Trajectory,
  type PastEnding,
  type PastPayment,
} from './what-if/trajectory.ts'
export { type WhatIf, whatIf, type WhatIfOptions, type Spent as WhatIfSpent } from './what-if/what-if.ts'
export { recordedProgress, type RecordedProgress, type Totals } from './account/recorded-progress.ts'
export {
  type Phase,
  recordedSteps,
  type RecordedCall,
  recordedStep,
  type RecordedRequest,
  type RecordedStep,
  type RecordedSteps,
  isAtWorst,
  type RecordedWait,
  callIdOf,
} from './account/recorded-steps.ts'
export type { GradedRun, RunGrade, RunUse } from './grades/graded-run.ts'
export { gradeOf } from './grades/grade-of.ts'
export { gradedRun, gradedRuns, type GradingSources, type RunToGrade } from './grades/graded-runs.ts'
export { runOutcomes, type RunOutcome } from './grades/run-outcome.ts'
export { calibrateLimits, type Calibration, type CalibrationOptions } from './calibration/calibrate-limits.ts'
export { calibrateSessions, type CalibratedSessions } from './calibration/calibrate-sessions.ts'
export { calibrateTrajectories, type GradedTrajectory } from './calibration/calibrate-trajectories.ts'
export { calibratedFigures } from './calibration/calibrated-limit.ts'
export type {
  CalibratedFigure,
  CalibratedGroup,
  CalibratedLimit,
  LimitsByFigure,
  LimitsTogether,
  LostRuns,
  RefusedLimit,
  RunUnderLimits,
  SavedUse,
} from './calibration/calibrated-limit.ts'
export type { ShareInterval } from './calibration/intervals.ts'
