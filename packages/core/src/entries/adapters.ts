// `@halting/core/adapters`: building blocks for adapters of models, tools, context and hosts. Also the types that appear
// as parts of the main entry: options of constructors, entries of a transcript, figures of events.
export type { ExecutionFigures } from '../hooks/agent-state.ts'
export type { Background, TaskEnded, TaskLeft, TaskNews, TaskNote, TaskStarted } from '../verification/background.ts'
export { triesText } from '../goals/goal-texts.ts'
export { lineOfCheck } from '../goals/report.ts'
export { maxStablePasses, defaultCheckMs, defaultGoalTries } from '../goals/run-goals.ts'
export { maxGoalTriesAllowed } from '../limits/transition-rules.ts'
export { spendsTurn, type RetriesLeft, type Ranking } from '../limits/transition-rules.ts'
export {
  budgetName,
  countsModel,
  largestBudgetUsd,
  type BudgetPer,
  type BudgetTerms,
} from '../limits/standing-budgets.ts'
export { type RequestBound, noPrices } from '../model/prices.ts'
export {
  closeLease,
  leftOfBudget,
  maxNanos,
  newBudget,
  noLease,
  raiseLease,
  releaseLease,
  setBudgetLimit,
  type Lease,
  type Leased,
  type SharedBudget,
  type Spent,
} from '../limits/shared-budget.ts'
export type { BudgetCompletionEvent } from '../limits/token-target.ts'
export { abortCauseOf, anySignal, sharedAbort } from '../values/abort.ts'
export {
  plainContext,
  type ClearedResults,
  type CollapseStage,
  type Compaction,
  type CompactionResult,
  type CompactionScope,
  type ContextView,
  type Thrash,
} from '../context/context-manager.ts'
export { type CompactionReply, type CompactionRequest, type CompactionTrigger } from '../model/questions.ts'
export type { PinnedText, PinContext } from '../context/compact.ts'
export { contextLayers, type ContextLayersOptions } from '../context/layers.ts'
export { contextUsage, type ContextUsage, type ContextUsageInput } from '../api/context-usage.ts'
export type { ContextKind, ContextPart } from '../context/usage-parts.ts'
export { windowFigures, type WindowFigures, type WindowThresholds } from '../model/window.ts'
export { roughTokens, upperBoundOfText, type Tokens } from '../model/tokens.ts'
export type { QueryInput } from '../api/query.ts'
export { codeOf, messageOf, type HaltingErrorJson } from '../values/errors.ts'
export type { GuardBounds } from '../limits/guard.ts'
export type { NoProgressOptions } from '../limits/no-progress.ts'
export { forecast, type Forecast, type LikelyEnd, type LikelyFigures } from '../api/forecast.ts'
export { compactCommand, type PrepareContent } from '../api/prompts.ts'
export { digestOf, hashText, isUuid, uuidOf } from '../values/hash.ts'
export { isBuiltinHook } from '../hooks/hook.ts'
export type { CallableHookOptions } from '../hooks/hook.ts'
export { inputSummary } from '../values/text.ts'
export { deepFreeze, isJsonObject, jsonOf } from '../values/json.ts'
export { patchPaths } from '../values/text.ts'
export { defaultMediaLimits, type MediaLimits } from '../model/media/limits.ts'
export { mediaProblem } from '../model/media/media-problem.ts'
export { imageFactsOf, type ImageFacts } from '../model/media/image-facts.ts'
export { isPdf, pdfPagesOf } from '../model/media/pdf-pages.ts'
export {
  addUsage,
  blocksOf,
  inputTokensOf,
  isText,
  isToolResult,
  isToolUse,
  noUsage,
  textOf,
  toolCallsOf,
  totalTokensOf,
  withoutOrigin,
  type BlockOrigin,
  type ImageBlock,
  type OpaqueBlock,
  type RedactedThinkingBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type ToolUseBlock,
  type UsageIteration,
  type UserMessage,
} from '../model/messages.ts'
export { invalidJsonInput, invalidJsonOf } from '../values/json-problem.ts'
export { outputSchemaFromCheck, type OutputCheck } from '../tools/output-schema.ts'
export type { ModelErrorInit, ModelErrorJson, ModelErrorKind } from '../model/model-error.ts'
export { failureName } from '../model/model-error.ts'
export { modelFacts, type ModelFacts } from '../model/model-facts.ts'
export type {
  Admission,
  ExtraPass,
  LookedUpUsage,
  ModelCallOptions,
  ModelUpdate,
  ToolDefinition,
} from '../model/model.ts'
export type {
  SdkAssistant,
  SdkHookFigures,
  SdkInit,
  SdkInitInfo,
  SdkMessages,
  SdkModelUsage,
  SdkPermissionDenial,
  SdkPromptSuggestion,
  SdkStageEnded,
  SdkStop,
  SdkStreamEvent,
  SdkSystem,
  SdkToolProgress,
  SdkUser,
} from '../sdk/sdk-messages.ts'
export type { SettingsInForce } from '../state/settings-change.ts'
export type { Replayed, Resumed } from '../api/resume.ts'
export type { RunProgress } from '../state/state.ts'
export type { InboxMessage } from '../steps/external-input.ts'
export type { StopSignalInit, StopSignalJson } from '../endings/signal.ts'
export type { AgentStopInit } from '../endings/stop-exception.ts'
export { endingLimits } from '../endings/ending.ts'
export { isEndingReason } from '../endings/is-ending-reason.ts'
export { isBudgetable } from '../run/check-settings.ts'
export { defaultMaxTurns } from '../api/options.ts'
export { checkedLimitAnswer, isRaisableLimit } from '../state/limit-request.ts'
export { limitOfResult } from '../endings/limit-of-result.ts'
export { sharedBudgetOf, type SharedBudgetEnd } from '../endings/shared-budget-end.ts'
export type {
  EndingAction,
  EndingAdvice,
  EndingDetail,
  EndingLimit,
  EndingLimitFacts,
  EndingPresentation,
  ResultSubtype,
} from '../endings/ending.ts'
export type { ModelFigures } from '../endings/run-result.ts'
export { errorTextOf, lastAnswer, resultForHosts, stopOf } from '../sdk/result-message.ts'
export { createTranslator, type TranslateOptions, type Translator } from '../sdk/translate.ts'
export { checkAnswer, checkApprovals, InvalidAnswer, answerProblem } from '../run/answer-shape.ts'
export type { CanUseTool, CanUseToolOptions, PermissionAnswer } from '../run/can-use-tool.ts'
export {
  cannotAsk,
  deniedByHook,
  deniedByUser,
  deniedWithInstructions,
  userDidNotAnswer,
  userStoppedRun,
} from '../permissions/permission-texts.ts'
export { coercedInput } from '../tools/coerce-input.ts'
export { isOfferedTo } from '../tools/definitions.ts'
export type { PermissionUpdate, PermissionDestination } from '../permissions/permission-update.ts'
export type { AskCause } from '../tools/permissions.ts'
export type { StandardOutput } from '../tools/standard-schema.ts'
export type { AgentOutput, AgentToolOptions } from '../tools/agent-tool.ts'
export type { InputOf, InputSchema, ToolOptions } from '../tools/define-tool.ts'
export { largeResultLimit, type LargeResult, type LargeResults } from '../tools/large-results.ts'
export { budgetWaitText } from '../state/budget-wait-text.ts'
export { durationMs, longestDurationMs } from '../values/clock.ts'
export { isServiceLimit, longestQuietWaitMs, longestWaitForLimitsMs, parseWaitMs } from '../model/service-limit.ts'
export { figuresIn, innermostEvent } from '../state/event-figures.ts'
export { headOf, matchesWildcard, secretBeginnings, secretForms, tailOf } from '../values/text.ts'
export { compileSchema, schemaProblems, type SchemaCheck } from '../tools/schema.ts'
export {
  isAgentTool,
  type AgentInBackground,
  type AgentsInBackground,
  type CallWait,
  type AnyAgentTool,
  type AnyLeafTool,
  type CallerRights,
  type PrecheckContext,
  type SpawnContext,
  type ToolInput,
} from '../tools/tool.ts'
export { isOfPerson, type Attachment } from '../conversation/transcript.ts'
export { wellFormed, wellFormedJson } from '../values/well-formed.ts'
export { withheldByHook } from '../tools/result-texts.ts'
export type { AskModel, HookQuestion } from '../model/questions.ts'
export type { ToolAliases } from '../tools/definitions.ts'
export type { HookCompaction, HookToolOutput, HookContextInit } from '../hooks/hook-context.ts'
export { noFigures, type HookFigures } from '../hooks/hook-figures.ts'
