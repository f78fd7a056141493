import type { SessionChoices } from '@halting/agent/session-settings'
import type { Breakdown } from '@halting/analysis/report'

export const inputFormats = ['text', 'stream-json'] as const
type InputFormat = (typeof inputFormats)[number]

export const outputFormats = ['text', 'json', 'stream-json'] as const
export type OutputFormat = (typeof outputFormats)[number]

export const permissionModes = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'] as const

export const toolProfiles = ['default', 'codex', 'small'] as const

export const errorPolicies = ['continue', 'tools', 'hooks', 'all'] as const

export const onLimits = ['end', 'pause'] as const

export const verifyChanges = ['ask', 'tell', 'off'] as const

export const onAsks = ['deny', 'defer'] as const

export const backgrounds = ['wait', 'stop', 'keep'] as const

export const fileFormats = ['jsonl', 'markdown', 'html', 'text'] as const
type FileFormat = (typeof fileFormats)[number]

export const breakdowns = ['day', 'model', 'folder'] as const

/** A point in time: an age, a day, or milliseconds since 1970. */
/** The states of sessions in a cluster's list. */
export const listedStates = ['running', 'waiting', 'paused', 'idle'] as const
export type ListedState = (typeof listedStates)[number]

export type NamedMoment =
  | { readonly kind: 'ago'; readonly count: number; readonly unit: 'h' | 'd' | 'w' }
  | { readonly kind: 'day'; readonly year: number; readonly month: number; readonly day: number }
  | { readonly kind: 'moment'; readonly at: number }

export const themes = ['dark', 'light', 'none'] as const

/** Formats of a worker's log. */
export const logFormats = ['text', 'json'] as const

export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const

export const thinkings = ['adaptive', 'enabled', 'disabled'] as const

export const permissionPrompts = ['host', 'none'] as const
type WhoIsAsked = (typeof permissionPrompts)[number]

/** Whether a command prints JSON. `json` and `stream-json` mean the same for commands. */
export function wantsJson({ outputFormat, json }: Pick<Flags, 'outputFormat' | 'json'>): boolean {
  return json === true || outputFormat === 'json' || outputFormat === 'stream-json'
}

/** All flags, by their names in the code. A flag that is not given is absent. */
export interface Flags extends Omit<SessionChoices, 'limitReminders'> {
  readonly print?: boolean
  /** The real cost of an entry in the ledger of standing budgets, in US dollars. */
  readonly usd?: number
  readonly outputFormat?: OutputFormat
  readonly inputFormat?: InputFormat
  readonly replayUserMessages?: boolean
  readonly awaitInitialize?: boolean
  /** What is logged; '' for everything. */
  readonly debug?: string
  readonly quiet?: boolean
  readonly theme?: (typeof themes)[number]
  readonly noAnimation?: boolean
  readonly includeAllMessages?: boolean

  /** A session ID or the beginning of one; '' if no ID is given. */
  readonly resume?: string
  readonly continue?: boolean
  readonly forkSession?: boolean
  /** `sqlite:PATH`, a Postgres address, or `files`. */
  readonly sessionStore?: string
  /** The UUID of a message. */
  readonly resumeSessionAt?: string
  /** The UUID of the prompt whose turn `resumeSessionAt` may drop. */
  readonly resumeDropsTurn?: string

  /** `stdio`, or a tool of an MCP server: `mcp__server__tool`. */
  readonly permissionPromptTool?: string
  readonly permissionPrompts?: WhoIsAsked
  /** Trusts the folder for this run. */
  readonly trust?: boolean

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
  /** Filters of a cluster's session list. */
  readonly limit?: number
  readonly cursor?: string
  readonly state?: ListedState
  readonly olderThan?: NamedMoment
  readonly allowedTenants?: readonly string[]
  readonly maxConcurrentRequests?: number
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Milliseconds. */
  readonly grace?: number
  /** Milliseconds. */
  readonly retain?: number
  readonly takeOver?: boolean
  readonly logFormat?: (typeof logFormats)[number]
  readonly server?: string

  /** Milliseconds from the start of one round of a loop to the start of the next. */
  readonly every?: number
  readonly rounds?: number
  /** `--for`: maximum duration of a loop in milliseconds. */
  readonly loopTime?: number

  readonly json?: boolean
  readonly all?: boolean
  readonly yes?: boolean
  readonly format?: FileFormat
  readonly output?: string
  readonly force?: boolean
  /** The target of a copy, in the form of `sessionStore`. */
  readonly to?: string
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
  /** For what-if: dollars, and optionally a model or a pattern of models: `20`, `5:claude-opus-*`. */
  readonly budgetPerDay?: readonly string[]
  readonly budgetPerMonth?: readonly string[]
  readonly suggest?: boolean
  /** Number of a run in its session, counted from 1. */
  readonly run?: number
  /** The share of solved runs that a suggested limit may lose. */
  readonly mayLose?: number
  readonly save?: boolean
  readonly claudeCode?: boolean
  readonly codex?: boolean
  readonly since?: NamedMoment
  /** `--until` of `halting report`. */
  readonly untilDate?: NamedMoment
  readonly by?: Breakdown
  readonly open?: boolean
  readonly help?: boolean
  readonly version?: boolean
}

export type FlagName = keyof Flags
