// `@halting/core/compat`: the names of the document on stop signals, guards and continuation, for code written against
// it. All of them use the same loop as `streamRun` and `query` (docs/decisions/0075-the-public-api-as-types.md).
export { AgentBuilder } from './agent.ts'
export { Agent, type ApprovalRequest, type ExecuteOptions } from './agent.ts'
export {
  UseCooperativeCancellation,
  UseGuards,
  UseHook,
  UseModel,
  UseTools,
  type AgentConfiguration,
  type Capability,
  type GuardLimits,
} from './capability.ts'
export { AgentExecution, AgentState, type ExecutionFigures } from '../hooks/agent-state.ts'
export {
  CostLimitHook,
  ExecutionTimeLimitHook,
  FinishReasonHook,
  StepsLimitHook,
  TokenUsageLimitHook,
  ToolCallHook,
} from '../limits/limit-guards.ts'
export { CallableHook, type CallableHookOptions } from '../hooks/hook.ts'
export { HookContext } from '../hooks/hook-context.ts'
export { ExecutionContinuation, type ExecutionContinuationJson } from '../endings/continuation.ts'
export { AgentStopException, type AgentStopInit } from '../endings/stop-exception.ts'
export { StopCategory as StopReason } from '../endings/reason.ts'
export { StopSignal, type StopSignalInit, type StopSignalJson } from '../endings/signal.ts'
export { StopSignals } from '../endings/signals.ts'
export {
  InMemoryCancellationSource,
  type CancellationSource as CanProvideCancellationSignal,
  type InMemoryCancellationOptions,
} from '../hooks/cancellation-source.ts'
