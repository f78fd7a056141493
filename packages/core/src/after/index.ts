// `@halting/core/after`: work after a run, with its own limits (docs/guide/after-the-run.md).
export { HookFigures, type HookCall } from './hook-figures.ts'
export { afterRun, runStages, type AloneOptions } from './after-run.ts'
export type { RunningStages, StagesOptions } from './run-stages.ts'
export { stageLimits } from './stage-run.ts'
export {
  StageStop,
  type Stage,
  type StageAnswer,
  type StageContext,
  type StageLimits,
  type StageMessage,
  type StageOutcome,
  type StageQuestion,
} from './stage.ts'
export {
  spentOfStage,
  stagesOf,
  type RecordedStage,
  type StageIdentity,
  type StageReason,
  type StageRecord,
  type StageReport,
} from '../steps/stage-record.ts'
