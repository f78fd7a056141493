import type { Breakdown } from '@halting/analysis/report'

export const inputFormats = ['text', 'stream-json'] as const
type InputFormat = (typeof inputFormats)[number]

export const outputFormats = ['text', 'json', 'stream-json'] as const
export type OutputFormat = (typeof outputFormats)[number]

export const permissionModes = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'] as const
type PermissionModeName = (typeof permissionModes)[number]

export const errorPolicies = ['continue', 'tools', 'hooks', 'all'] as const
type ErrorPolicyName = (typeof errorPolicies)[number]

export const onAsks = ['deny', 'defer'] as const
type OnAsk = (typeof onAsks)[number]

export const backgrounds = ['wait', 'stop', 'keep'] as const
type BackgroundPolicy = (typeof backgrounds)[number]

export const fileFormats = ['jsonl', 'markdown', 'html', 'text'] as const
type FileFormat = (typeof fileFormats)[number]

export const breakdowns = ['day', 'model', 'folder'] as const

/** A moment as a person names it: so long ago, a day, or a moment in milliseconds since 1970. */
export type NamedMoment =
  | { readonly kind: 'ago'; readonly count: number; readonly unit: 'h' | 'd' | 'w' }
  | { readonly kind: 'day'; readonly year: number; readonly month: number; readonly day: number }
  | { readonly kind: 'moment'; readonly at: number }

export const themes = ['dark', 'light', 'none'] as const

export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const
type EffortName = (typeof efforts)[number]

export const thinkings = ['adaptive', 'enabled', 'disabled'] as const
type ThinkingName = (typeof thinkings)[number]

export const permissionPrompts = ['host', 'none'] as const
type WhoIsAsked = (typeof permissionPrompts)[number]

/** When a conversation is made shorter: as the window allows, never, at so many tokens, or at a share of the window. */
export type AutoCompact = 'auto' | 'off' | number | `${number}%`

/** Whether a command prints JSON: it has one thing to say, so both formats of a run mean the same. */
export function wantsJson({ outputFormat, json }: Pick<Flags, 'outputFormat' | 'json'>): boolean {
  return json === true || outputFormat === 'json' || outputFormat === 'stream-json'
}

/** Every flag that this version serves, by the name that the code knows it by. What was not given is absent. */
export interface Flags {
  readonly print?: boolean
  readonly outputFormat?: OutputFormat
  readonly inputFormat?: InputFormat
  readonly replayUserMessages?: boolean
  readonly awaitInitialize?: boolean
  /** What is told; '' for all. */
  readonly debug?: string
  readonly verbose?: boolean
  readonly quiet?: boolean
  readonly theme?: (typeof themes)[number]
  readonly noAnimation?: boolean
  readonly includePartialMessages?: boolean
  readonly includeHookEvents?: boolean
  readonly includeAllMessages?: boolean
  readonly jsonSchema?: string
  readonly promptSuggestions?: boolean
  readonly hookSummary?: boolean

  readonly model?: string
  readonly fallbackModel?: string
  readonly smallModel?: string
  readonly script?: string
  readonly settings?: string
  /** Of user, project and local; none for an empty list. */
  readonly settingSources?: readonly string[]
  readonly betas?: readonly string[]
  /** Tokens of a reply that may be thought; 0 for none. */
  readonly maxThinkingTokens?: number
  readonly effort?: EffortName
  readonly thinking?: ThinkingName
  /** Tokens that the model is told it has for the task. */
  readonly taskBudget?: number
  readonly systemPrompt?: string
  readonly systemPromptFile?: string
  readonly appendSystemPrompt?: string
  readonly appendSystemPromptFile?: string

  /** The id of a session, or the beginning of one; '' for none said. */
  readonly resume?: string
  readonly continue?: boolean
  readonly forkSession?: boolean
  readonly sessionId?: string
  readonly noSessionPersistence?: boolean
  /** The uuid of a message. */
  readonly resumeSessionAt?: string
  /** The uuid of the prompt whose turn alone may be taken back by that. */
  readonly resumeDropsTurn?: string
  readonly noFileCheckpoints?: boolean

  readonly maxTurns?: number
  readonly maxBudgetUsd?: number
  readonly maxTokens?: number
  /** Milliseconds. */
  readonly maxDuration?: number
  readonly tokenBudget?: number
  readonly finishReasons?: readonly string[]
  readonly wrapUp?: boolean
  readonly errorPolicy?: ErrorPolicyName

  readonly autocompact?: AutoCompact
  readonly compactModel?: string
  /** Tokens. */
  readonly contextWindow?: number

  readonly permissionMode?: PermissionModeName
  readonly allowedTools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  readonly tools?: readonly string[]
  readonly addDir?: readonly string[]
  readonly dangerouslySkipPermissions?: boolean
  readonly allowDangerouslySkipPermissions?: boolean
  /** `stdio`, or a tool of a server: `mcp__server__tool`. */
  readonly permissionPromptTool?: string
  readonly permissionPrompts?: WhoIsAsked
  /** The folder is trusted for this run. */
  readonly trust?: boolean
  /** Variables with keys that tools are given all the same. */
  readonly passEnv?: readonly string[]

  readonly sandbox?: boolean

  /** Files with servers, or JSON. */
  readonly mcpConfig?: readonly string[]
  readonly strictMcpConfig?: boolean
  /** Folders of plugins. */
  readonly pluginDir?: readonly string[]
  /** Of those whose servers are not connected to. */
  readonly pluginDirNoMcp?: readonly string[]

  /** JSON. */
  readonly agents?: string
  /** The agent that the session is. */
  readonly agent?: string
  readonly maxSubagents?: number
  readonly maxSubagentDepth?: number

  /** The address of a cluster. */
  readonly cluster?: string
  readonly restate?: string
  readonly admin?: string
  /** '' for the worker's own address. */
  readonly register?: string
  readonly port?: number
  readonly host?: string
  readonly workspaces?: string
  readonly workspaceTemplate?: string
  readonly folders?: string
  readonly payloads?: string
  readonly identityKey?: readonly string[]
  readonly concurrency?: number
  readonly tenant?: string
  readonly allowedTenants?: readonly string[]
  readonly maxConcurrentRequests?: number
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Milliseconds. */
  readonly grace?: number
  readonly takeOver?: boolean
  readonly server?: string

  readonly onAsk?: OnAsk
  readonly background?: BackgroundPolicy

  readonly json?: boolean
  readonly all?: boolean
  readonly yes?: boolean
  readonly format?: FileFormat
  readonly output?: string
  readonly force?: boolean
  readonly message?: string
  readonly dryRun?: boolean
  readonly redo?: boolean
  readonly skipChanged?: boolean
  readonly conversationOnly?: boolean
  readonly filesOnly?: boolean
  readonly keep?: boolean
  readonly list?: boolean
  readonly revoke?: boolean
  readonly noProgress?: boolean
  readonly suggest?: boolean
  readonly claudeCode?: boolean
  readonly codex?: boolean
  readonly since?: NamedMoment
  readonly until?: NamedMoment
  readonly by?: Breakdown
  readonly open?: boolean
  readonly help?: boolean
  readonly version?: boolean
}

export type FlagName = keyof Flags
