export { anthropic } from './anthropic/anthropic.ts'
export type { AnthropicOptions } from './anthropic/anthropic.ts'
export type { MessagesToolOptions, ToolOptionsByName } from './anthropic/tool-options.ts'
export type { EndpointOptions } from './anthropic/endpoint.ts'
export type { Thinking } from '@halting/core'
export type { RequestBodyOptions } from './anthropic/request-body.ts'
export {
  requestableModelName,
  defaultModelName,
  isMessagesApiModel,
  keySourceOf,
  limitsFromEnvironment,
  localServices,
  modelFromEnvironment,
  reachableServices,
  refuseKeyName,
  serviceFromEnvironment,
} from './environment.ts'
export type { Environment, LocalService, ModelSettings, ReachableService } from './environment.ts'
export {
  cloudSecretVariables,
  contextWindowOf,
  keyVariables,
  keyVariablesOf,
  knownModels,
  modelAliases,
  withoutAlias,
} from './known-models.ts'
export type { KnownModel } from './known-models.ts'
export { MissingKeyError } from './missing-key-error.ts'
export { openai, openaiCompatible, openaiResponses } from './openai/openai.ts'
export type { OpenAiApi } from './openai/service-knowledge.ts'
export type { OpenAiCompatibleOptions, OpenAiOptions } from './openai/openai-options.ts'
export type { ReasoningEffort } from './responses/reasoning-effort.ts'
export type { FreeformTool, FreeformTools } from './responses/responses-items.ts'
export { priceOf } from './prices/catalogue.ts'
export type { ModelPrice, PriceTier } from './prices/catalogue.ts'
export { mergePriceOverrides, parsePriceOverrides } from './prices/price-overrides.ts'
export type { PriceOverrides } from './prices/price-overrides.ts'
export { createPrices } from './prices/price-overrides.ts'
export { snapshotSource } from './prices/snapshot.ts'
export { commandCredentials } from './service/command-credentials.ts'
export type { CommandCredentialOptions } from './service/command-credentials.ts'
export type { Credential, CredentialSource } from './service/credential-source.ts'
export type { ServiceOptions } from './service/endpoint.ts'
export { createKeyRedactor, noteSecretsOfOptions } from './service/known-keys.ts'
export { withRedactedStream } from './service/redacted-stream.ts'
export type { ModelService, ServiceAnswer } from './service/model-service.ts'
