// `@halting/core`: what a program needs that runs an agent, or gives it tools, hooks and guards. Stores and engines find theirs in `@halting/core/steps`,
// tests in `@halting/core/testing`, code written for the document on stop signals in `@halting/core/compat`. Providers, hosts and frontends find the types
// that these names are made of in `@halting/core/adapters`.

// Running an agent, by how much is decided for the caller.
export { QueryEngine } from './engine.ts'
export type { QueryOptions } from './query-options.ts'
export { query, type Query } from './query.ts'
export { AgentExecution, AgentState } from './agent-state.ts'
export { run } from './run.ts'
export { streamRun, type RunStream } from './iterate.ts'
export type { PromptOptions } from './prompt-options.ts'
export type { RunOutcome } from './run-outcome.ts'
export type { PendingApproval } from './pending-approval.ts'
export type { HistoryMessage } from './history.ts'
export type { RunOptions } from './options.ts'
export type { LimitsChange, SettingsChange } from './settings/settings-change.ts'
export type { AskLimit, LimitAnswer, LimitOffer, LimitRequest, RaisableLimit } from './limit-question.ts'
export { startRun, type StartOptions } from './start.ts'
export { replay, resume } from './resume.ts'
export type { StepRecord } from './steps/log.ts'
export { createMemorySteps, type MemorySteps } from './steps/memory.ts'

export { certificate, type Bound, type Certificate } from './certificate.ts'

// What a run is, tells and comes to.
export type { RunState } from './state.ts'
export type { FinishedRun, ErrorPolicy } from './run-context.ts'
export { outputSchema, type OutputSchema } from './output-schema.ts'
export type { RunEvent, ToolStatus } from './events.ts'
export type { IterationReason } from './allowance.ts'
export type { Ending, EndingReason } from './endings/ending.ts'
export { endings } from './endings/table.ts'
export type { RunSummary, RunResult } from './endings/terminal.ts'
export { Transcript, type TranscriptEntry } from './transcript.ts'

// Stopping and going on.
export { StopCategory } from './endings/reason.ts'
export { StopSignal } from './endings/signal.ts'
export { StopSignals } from './endings/signals.ts'
export { AgentStopException } from './endings/stop-exception.ts'
export type { CancellationPoint, Guard, GuardRemaining, GuardView, Reminder } from './guards/guard.ts'
export { all, any, not } from './guards/combinators.ts'
export type { GuardCall } from './guards/last-calls.ts'
export { costLimit, finishReason, hasToolCall, stepLimit, timeLimit, tokenLimit } from './guards/limits.ts'
export { noProgress, type NoProgressPolicy } from './guards/no-progress.ts'
export type { CancellationSource } from './cancel/source.ts'
export { RunAbort, type AbortCause } from './cancel/abort.ts'

// Hooks.
export { CallableHook, type Hook } from './hooks/hook.ts'
export { HookContext } from './hooks/hook-context.ts'
export type { HookFigures } from './hooks/hook-figures.ts'
export type { HookOutcome, HookTrigger } from './hooks/hook-outcome.ts'
export type { PostRunTask, StopHook, StopHookInput, StopHookOutcome } from './hooks/stop-hooks.ts'

// Goals.
export type { Goal, GoalContext, GoalFiles, GoalFilesEnd, GoalFilesRound, GoalVerdict } from './goals/goal.ts'
export type { GoalCheck, GoalResult, GoalSpec } from './goals/goal-record.ts'
export type { FileWork } from './verification/file-work.ts'
export type { Verified } from './verification/progress.ts'
export type { Verification } from './verification/verification.ts'
export { judgedGoal, type JudgedGoalOptions } from './goals/judged-goal.ts'
export type { NoEvidence } from './goals/evidence.ts'
export type { CalledTool } from './goals/own-words.ts'

// Tools and permissions.
export { agentTool } from './tools/agent-tool.ts'
export { tool } from './tools/define-tool.ts'
export type { FromJsonSchema } from './tools/json-schema-type.ts'
export type { StandardSchema } from './tools/standard-schema.ts'
export type { AgentTool, AnyTool, ChildRun, InputCheck, Tool, ToolContext, ToolOutput } from './tools/tool.ts'
export { allowAll, type PermissionRequest, type Permissions } from './tools/permissions.ts'
export type { PermissionDecision } from './tools/permission-decision.ts'

// Models, messages and prices, as whoever hands them in sees them.
export type { Model, ModelReply, ModelRequest, Thinking, WebSearchUse } from './model/model.ts'
export type { Sampling, ToolChoice } from './model/sampling.ts'
export { ModelError, RetriesExhaustedError } from './model/model-error.ts'
export type {
  AssistantMessage,
  ContentBlock,
  MessageContent,
  ModelMessage,
  ModelStopReason,
  Usage,
} from './messages.ts'
export type { BudgetLease, LeaseShortage, LeaseUse, LeaseWanted } from './budget/lease.ts'
export { sharedBudget, type SharedBudgetLimits, type SharedRunBudget } from './budget/run-budget.ts'
export type {
  StandingBudget,
  StandingBudgets,
  StandingRefused,
  StandingRequest,
  StandingTaken,
  StandingWait,
} from './budget/standing.ts'
export type { Prices } from './budget/prices.ts'
export type { ContextManager } from './context/port.ts'

// Messages in the SDK message format.
export type { SdkMessage, SdkResult } from './sdk/sdk-messages.ts'

export { ConfigurationError, HaltingError, type HaltingErrorCode } from './errors.ts'
export type { Json, JsonObject } from './json.ts'
