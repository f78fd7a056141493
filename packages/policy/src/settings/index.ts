export type { AiSdkAlias, AiSdkPackage, AiSdkSettings } from './ai-sdk.ts'
export { type AiSdkName, aiSdkNameOf, isAiSdkName, isAiSdkNameWhole, parseAiSdkName } from './ai-sdk-name.ts'
export {
  type AiSdkModelField,
  type AiSdkPackageField,
  type DefaultLimit,
  type DefaultLimits,
  limitFieldNames,
  type LimitFieldName,
  type LimitSettings,
  type NotificationChannel,
  type StatusLineSettings,
  type ToolProfile,
  toolProfiles,
} from './fields.ts'
export {
  type SettingsWriterOptions,
  suggestionDestination,
  removeStoredRule,
  settingsWriter,
  type StoredRule,
} from './store-permissions.ts'
export {
  type LoadedSettings,
  type FoundFile,
  type Ignored,
  type LoadOptions,
  SettingsError,
} from './loaded-settings.ts'
export type { BudgetSource, Settings, PermissionSettings, NamedServer, Origin } from './merge.ts'
export {
  changeSettingsFile,
  ownSettingsFile,
  settingsFileText,
  settingsTextWith,
  shownSettingsText,
  type SettingsValue,
  type SettingsFileText,
} from './settings-file.ts'
export { saveProjectLimits, type ProjectLimits, type SavedLimit, type SavedLimits } from './project-limits.ts'
export type { SettingSource, PlacesOptions, SettingsLevel } from './places.ts'
export { loadSettings, mentionsSetting, projectOffers } from './settings.ts'
export type { ReadOptions as ReadSettingsOptions } from './read-files.ts'
export type { Nearest as NearestName } from './check-file.ts'
