import type { JsonObject } from '@halting/core'
import type { BudgetTerms } from '@halting/core/adapters'
import type { PermissionMode } from '../permissions/rule-book.ts'
import type { HookSettings } from './hook-settings.ts'

/** How a terminal calls a person who looks elsewhere, by the names that Claude Code gives the ways. */
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

/** Which tools a model is offered, and in which words: all; `apply_patch` for Edit and Write; few and short. */
export const toolProfiles = ['default', 'codex', 'small'] as const
/** One of `toolProfiles`. */
export type ToolProfile = (typeof toolProfiles)[number]

/** Limits of a run by the names of their flags. */
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

/** Limits as a file writes them: a duration is a text. Null for no limit. */
type LimitFields = {
  readonly [name in LimitFieldName]?: (name extends 'maxDuration' ? string : number) | null
}

/** Limits of a run; null for no limit, absent where nobody says anything. */
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

/** A limit that holds where no file says anything, and what it is called. */
export interface DefaultLimit {
  /** The limit, in its unit. */
  readonly value: number
  /** What sets it, for a person. */
  readonly from: string
}

/** By the name of the limit. `waitForLimits`: milliseconds, with the text that says so. */
export type DefaultLimits = { readonly [name in LimitFieldName]?: DefaultLimit } & {
  /** How long a run waits for services, in milliseconds. */
  readonly waitForLimits?: DefaultLimit & {
    /** The text that sets it, such as `2h`. */
    readonly written: string
  }
}

/** A command whose output is a line of the interactive program, as Claude Code has it. */
export interface StatusLineSettings {
  readonly type: 'command'
  /** The command line; it gets one JSON object on stdin. */
  readonly command: string
  /** Columns before what it prints; 0 when absent. */
  readonly padding?: number
  /** Seconds after which it is run again although nothing changed; never when absent. */
  readonly refreshInterval?: number
}

/**
 * Who searches the web for `WebSearch`. `auto`: the service of the model, where it is known to. `service`: the service behind
 * `ANTHROPIC_BASE_URL`, too. `mcp`: a tool of an MCP server, as `server/tool`.
 */
export type WebSearchSetting = 'auto' | 'service' | 'off' | { readonly mcp: string }

/** How a provider package of the AI SDK is loaded and what its factory is given. */
export interface AiSdkPackageField {
  /** A subpath of the package, such as `anthropic` for `@ai-sdk/amazon-bedrock/anthropic`. */
  readonly entry?: string
  /** The export that creates the provider; found by its name when absent. */
  readonly factory?: string
  /** Options of the factory, with `${VAR}` for variables. */
  readonly options?: JsonObject
  /** Handed to the provider with every request, by the name of the provider. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
  /** Where the package is installed; the folder of the setting when absent. */
  readonly folder?: string
}

/** A model behind a provider package of the AI SDK. */
export interface AiSdkModelField extends AiSdkPackageField {
  /** Name of the package. */
  readonly package: string
  /** The name of the model, as the provider knows it. */
  readonly model: string
  /** Tokens of input and output that fit; 128,000 when absent. */
  readonly contextWindow?: number
  /** The longest reply there is, in tokens; 16,384 when absent. */
  readonly maxOutputTokens?: number
  /** Most uses of the service's own tools in one request. */
  readonly maxServerToolUses?: number
  /** Its price, as in `modelPrices`. */
  readonly price?: JsonObject
}

/** The setting `aiSdk` of one file. */
export interface AiSdkField {
  /** Where packages are installed; the folder of the settings file when absent. */
  readonly folder?: string
  readonly packages?: Readonly<Record<string, AiSdkPackageField>>
  readonly models?: Readonly<Record<string, AiSdkModelField>>
}

/** What one file says, field by field; what is not right is not in it. */
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
  /** Their folders are paths from `/` or `~/` on. */
  readonly budgets?: readonly BudgetTerms[]
  /** Keys that are known, and that say nothing to this version. */
  readonly others: readonly string[]
}
