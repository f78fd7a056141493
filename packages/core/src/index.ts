// `@halting/core`: the API for programs that run an agent, or provide tools, hooks and guards. `@halting/core/steps` is
// for stores and engines, `@halting/core/testing` for tests, `@halting/core/compat` for code written against the
// document on stop signals. `@halting/core/adapters` contains the types behind these names, for providers, hosts and
// frontends.

// Running an agent, from the most automatic API to the most explicit one.
export { QueryEngine } from './api/engine.ts'
export type { QueryOptions } from './api/query-options.ts'
export { query, type Query } from './api/query.ts'
export { AgentExecution, AgentState } from './hooks/agent-state.ts'
export { run } from './api/iterate.ts'
export { streamRun, type RunStream } from './api/iterate.ts'
export type { PromptOptions } from './api/prompt-options.ts'
export type { RunOutcome } from './api/run-outcome.ts'
export type { PendingApproval } from './run/pending-approval.ts'
export type { HistoryMessage } from './conversation/history.ts'
export type { RunOptions } from './api/options.ts'
export type { LimitsChange, SettingsChange } from './state/settings-change.ts'
export type { AskLimit, LimitAnswer, LimitOffer, LimitRequest, RaisableLimit } from './state/limit-request.ts'
export { startRun, type StartOptions } from './api/start.ts'
export { replay, resume } from './api/resume.ts'
export type { StepRecord } from './steps/step-record.ts'
export { createMemorySteps, type MemorySteps } from './steps/memory-steps.ts'

export { certificate, type Bound, type Certificate } from './api/certificate.ts'

// The state, the events and the result of a run.
export type { RunState } from './state/state.ts'
export type { FinishedRun, ErrorPolicy } from './run/run-context.ts'
export { outputSchema, type OutputSchema } from './tools/output-schema.ts'
export type { RunEvent, ToolStatus } from './state/events.ts'
export type { IterationReason } from './limits/transition-rules.ts'
export type { Ending, EndingReason } from './endings/ending.ts'
export { endings } from './endings/table.ts'
export type { RunSummary, RunResult } from './endings/run-result.ts'
export { Transcript, type TranscriptEntry } from './conversation/transcript.ts'

// Stopping and continuing.
export { StopCategory } from './endings/reason.ts'
export { StopSignal } from './endings/signal.ts'
export { StopSignals } from './endings/signals.ts'
export { AgentStopException } from './endings/stop-exception.ts'
export type { CancellationPoint, Guard, GuardRemaining, GuardView, Reminder } from './limits/guard.ts'
export { all, any, not } from './limits/combinators.ts'
export type { GuardCall } from './limits/last-calls.ts'
export { costLimit, finishReason, hasToolCall, stepLimit, timeLimit, tokenLimit } from './limits/limit-guards.ts'
export { noProgress, type NoProgressPolicy } from './limits/no-progress.ts'
export type { CancellationSource } from './hooks/cancellation-source.ts'
export { RunAbort, type AbortCause } from './values/abort.ts'

// Hooks.
export { CallableHook, type Hook } from './hooks/hook.ts'
export { HookContext } from './hooks/hook-context.ts'
export type { HookFigures } from './hooks/hook-figures.ts'
export type { HookOutcome, HookTrigger } from './hooks/hook-outcome.ts'
export type { PostRunTask, StopHook, StopHookInput, StopHookOutcome } from './hooks/stop-hooks.ts'

// Goals.
export type { Goal, GoalContext, GoalFiles, GoalFilesEnd, GoalFilesRound, GoalVerdict } from './goals/goal.ts'
export type { GoalCheck, GoalResult, GoalSpec } from './verification/goal-record.ts'
export type { FileWork } from './verification/file-work.ts'
export type { Verified } from './verification/progress.ts'
export type { Verification } from './verification/verification.ts'
export { judgedGoal, type JudgedGoalOptions } from './goals/judged-goal.ts'
export type { NoEvidence } from './goals/evidence.ts'
export type { CalledTool } from './goals/model-text.ts'

// Tools and permissions.
export { agentTool } from './tools/agent-tool.ts'
export { tool } from './tools/define-tool.ts'
export type { FromJsonSchema } from './tools/json-schema-type.ts'
export type { StandardSchema } from './tools/standard-schema.ts'
export type { AgentTool, AnyTool, ChildRun, InputCheck, Tool, ToolContext, ToolOutput } from './tools/tool.ts'
export { allowAll, type PermissionRequest, type Permissions } from './tools/permissions.ts'
export type { PermissionDecision } from './permissions/permission-decision.ts'

// Models, messages and prices, from the caller's view.
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
} from './model/messages.ts'
export type { BudgetLease, LeaseShortage, LeaseUse, LeaseWanted } from './limits/lease.ts'
export { sharedBudget, type SharedBudgetLimits, type SharedRunBudget } from './limits/run-budget.ts'
export type {
  StandingBudget,
  StandingBudgets,
  StandingRefused,
  StandingRequest,
  StandingReservation,
  StandingWait,
} from './limits/standing-budgets.ts'
export type { Prices } from './model/prices.ts'
export type { ContextManager } from './context/context-manager.ts'

// Messages in the SDK message format.
export type { SdkMessage, SdkResult } from './sdk/sdk-messages.ts'

export { ConfigurationError, HaltingError, type HaltingErrorCode } from './values/errors.ts'
export type { Json, JsonObject } from './values/json.ts'
