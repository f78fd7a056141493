// `@halting/core/adapters`: what adapters of models, tools, context and hosts are made of.
export type { RequestBound } from '../budget/prices.ts'
export { noPrices } from '../budget/prices.ts'
export { abortCauseOf } from '../cancel/abort.ts'
export {
  plainContext,
  type Compaction,
  type CompactionReply,
  type CompactionRequest,
  type CompactionResult,
  type CompactionScope,
  type ContextView,
} from '../context/port.ts'
export { roughTokens, upperBoundOfText, type Tokens } from '../context/tokens.ts'
export { messageOf } from '../errors.ts'
export { digestOf, hashText, uuidOf } from '../hash.ts'
export { deepFreeze, isJsonObject, jsonOf } from '../json.ts'
export {
  addUsage,
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
  type UserMessage,
} from '../messages.ts'
export type { ModelErrorInit, ModelErrorJson } from '../model/model-error.ts'
export type { ModelCallOptions, ModelUpdate, ToolDefinition } from '../model/model.ts'
export type {
  SdkAssistant,
  SdkInit,
  SdkInitInfo,
  SdkModelUsage,
  SdkPermissionDenial,
  SdkStop,
  SdkStreamEvent,
  SdkSystem,
  SdkToolProgress,
  SdkUser,
} from '../sdk/sdk-messages.ts'
export { lastAnswer, stopOf } from '../sdk/result-message.ts'
export { compileSchema, schemaProblems, type SchemaCheck } from '../tools/schema.ts'
export { isAgentTool, type AnyAgentTool, type AnyLeafTool } from '../tools/tool.ts'
