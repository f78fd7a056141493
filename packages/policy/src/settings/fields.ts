import type { JsonObject } from '@halting/core'
import type { BudgetTerms } from '@halting/core/adapters'
import type { PermissionMode } from '../permissions/rule-book.ts'
import type { HookSettings } from './hook-settings.ts'

/** How the program notifies a person whose terminal is not in focus, with the names that Claude Code uses. */
export const notificationChannels = [
  'auto',
  'terminal_bell',
  'iterm2',
  'iterm2_with_bell',
  'kitty',
  'ghostty',
  'notifications_disabled',
] as const
/** One of `notificationChannels`. */
export type NotificationChannel = (typeof notificationChannels)[number]

/**
 * Which tools a model is offered and how they are described. `default`: all tools. The others: `apply_patch` instead of
 * Edit and Write; few tools with short descriptions.
 */
export const toolProfiles = ['default', 'codex', 'small'] as const
/** One of `toolProfiles`. */
export type ToolProfile = (typeof toolProfiles)[number]

/** Limits of a run, by the names of their flags. */
export const limitFieldNames = [
  'maxTurns',
  'maxRunUsd',
  'maxBudgetUsd',
  'maxTokens',
  'maxDuration',
  'maxToolCalls',
] as const
/** One of `limitFieldNames`. */
export type LimitFieldName = (typeof limitFieldNames)[number]

/** Limits in a settings file: a duration is a text, null means no limit. */
type LimitFields = {
  readonly [name in LimitFieldName]?: (name extends 'maxDuration' ? string : number) | null
}

/** Limits of a run; null means no limit, absent means not set. */
export type LimitSettings = {
  /** Turns of one run. */
  readonly maxTurns?: number | null
  /** US dollars of one run. */
  readonly maxRunUsd?: number | null
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number | null
  /** Input and output tokens of one run. */
  readonly maxTokens?: number | null
  /** Milliseconds. */
  readonly maxDuration?: number | null
  /** Calls of tools of one run. */
  readonly maxToolCalls?: number | null
}

/** A limit that applies if no file sets it, and its origin. */
export interface DefaultLimit {
  /** The limit, in its unit. */
  readonly value: number
  /** The setting, flag or default that sets the limit, for display. */
  readonly from: string
}

/** By the name of the limit. `waitForLimits`: milliseconds, and the text that sets it. */
export type DefaultLimits = { readonly [name in LimitFieldName]?: DefaultLimit } & {
  /** How long a run waits for services, in milliseconds. */
  readonly waitForLimits?: DefaultLimit & {
    /** The text that sets it, such as `2h`. */
    readonly written: string
  }
}

/** A command whose output is shown as a line of the interactive program, as in Claude Code. */
export interface StatusLineSettings {
  readonly type: 'command'
  /** The command line; it reads one JSON object from stdin. */
  readonly command: string
  /** Number of columns before its output. Default: 0. */
  readonly padding?: number
  /** Interval in seconds at which it runs again without changes. Default: never. */
  readonly refreshInterval?: number
}

/**
 * What performs web searches for `WebSearch`. `auto`: the service of the model, if it is known to support that.
 * `service`: also the service behind `ANTHROPIC_BASE_URL`. `mcp`: a tool of an MCP server, as `server/tool`.
 */
export type WebSearchSetting = 'auto' | 'service' | 'off' | { readonly mcp: string }

/** How a provider package of the AI SDK is loaded, and what its factory receives. */
export interface AiSdkPackageField {
  /** A subpath of the package, such as `anthropic` for `@ai-sdk/amazon-bedrock/anthropic`. */
  readonly entry?: string
  /** The export that creates the provider. Default: found by its name. */
  readonly factory?: string
  /** Options of the factory; `${VAR}` is replaced by the variable. */
  readonly options?: JsonObject
  /** Options for the provider in every request, by provider name. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
  /** Where the package is installed. Default: the folder of the setting. */
  readonly folder?: string
}

/** A model of a provider package of the AI SDK. */
export interface AiSdkModelField extends AiSdkPackageField {
  /** Name of the package. */
  readonly package: string
  /** Name of the model at the provider. */
  readonly model: string
  /** Size of the context window, in tokens. Default: 128,000. */
  readonly contextWindow?: number
  /** Maximum length of a reply, in tokens. Default: 16,384. */
  readonly maxOutputTokens?: number
  /** Maximum number of uses of the service's own tools in one request. */
  readonly maxServerToolUses?: number
  /** Its price, as in `modelPrices`. */
  readonly price?: JsonObject
}

/** The setting `aiSdk` of one file. */
export interface AiSdkField {
  /** Where packages are installed. Default: the folder of the settings file. */
  readonly folder?: string
  readonly packages?: Readonly<Record<string, AiSdkPackageField>>
  readonly models?: Readonly<Record<string, AiSdkModelField>>
}

/** The valid fields of one file; invalid values are left out. */
export interface Fields {
  readonly apiKeyHelper?: string
  readonly modelPrices?: JsonObject
  readonly cleanupPeriodDays?: number
  readonly sessionStore?: string
  readonly redactSecrets?: boolean
  readonly fileCheckpointingEnabled?: boolean
  readonly promptSuggestionEnabled?: boolean
  readonly hookSummaryEnabled?: boolean
  readonly smallModel?: string
  readonly webSearch?: WebSearchSetting
  readonly autoMemoryEnabled?: boolean
  readonly autoDreamEnabled?: boolean
  readonly autoMemoryDirectory?: string
  readonly background?: 'wait' | 'stop' | 'keep'
  readonly confineJudged?: 'auto' | 'off'
  readonly tryReadOnly?: boolean
  readonly disableAllHooks?: boolean
  readonly allowManagedHooksOnly?: boolean
  readonly allowManagedPermissionRulesOnly?: boolean
  readonly allowManagedProvidersOnly?: boolean
  readonly aiSdk?: AiSdkField
  readonly sandbox?: JsonObject
  readonly env?: Readonly<Record<string, string>>
  readonly passEnvironment?: readonly string[]
  readonly model?: string
  readonly openaiApi?: 'responses' | 'chat_completions'
  readonly theme?: string
  readonly toolProfile?: ToolProfile
  readonly preferredNotifChannel?: NotificationChannel
  readonly statusLine?: StatusLineSettings
  readonly mcpServers?: Readonly<Record<string, JsonObject>>
  readonly enableAllProjectMcpServers?: boolean
  readonly enabledMcpjsonServers?: readonly string[]
  readonly disabledMcpjsonServers?: readonly string[]
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly ask?: readonly string[]
  readonly defaultMode?: PermissionMode
  readonly additionalDirectories?: readonly string[]
  readonly disableBypassPermissionsMode?: boolean
  readonly hooks?: HookSettings
  readonly until?: readonly string[]
  readonly untilTries?: number
  readonly untilTimeout?: string
  readonly protect?: readonly string[]
  readonly limits?: LimitFields
  readonly limitReminders?: boolean
  readonly verifyChanges?: 'ask' | 'tell' | 'off'
  readonly onLimit?: 'end' | 'pause'
  readonly pauseFor?: string
  /** A duration, or `none`. */
  readonly waitForLimits?: string
  /** Folders in budgets begin with `/` or `~/`. */
  readonly budgets?: readonly BudgetTerms[]
  /** Keys that are known but have no effect in this version. */
  readonly others: readonly string[]
}
