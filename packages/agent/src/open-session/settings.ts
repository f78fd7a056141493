export { type AutoCompact, type ErrorPolicyName, isShare, leastWindowTokens, type SessionChoices } from './choices.ts'
export type { LimitSource, LimitSources, RunLimitDefault, WaitDefault } from './chosen-limits.ts'
export { modelSettingsOf } from './model-settings.ts'
export { askableModels, checkModelName, firstKeyVariable, modelsWithKey, nearestModel } from './model-names.ts'
export {
  checkAskable,
  checkModel,
  describeModels,
  helperOf,
  type ModelAccount,
  openModels,
  scriptGiven,
} from './models.ts'
export { noPlugins, pluginRow, pluginsWithHooks } from './plugins.ts'
export type { SessionNotice, SessionPorts } from './ports.ts'
export { type LimitOptions, modelOf, noSettings, type RunSettings, settingsOf } from './run-settings.ts'
export { turnsWithoutPrice } from './run-limit.ts'
export { standingNames, standingOptions } from './standing.ts'
export { sessionScope } from './session-scope.ts'
export {
  AiSdkModels,
  isBehindPackage,
  type ListedAlias,
  listedAliases,
  priceOverridesOf,
} from '../providers/ai-sdk-models.ts'
