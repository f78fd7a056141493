import type { VerificationMode } from '../checks/verification.ts'
import type { BackgroundOptions } from '../tools/background.ts'
import type { PermissionMode } from '@halting/policy'
import type { ToolProfile } from '@halting/policy/settings'

/**
 * When to compact the conversation: depending on the context window, never, at a number of tokens, or at a share of
 * the window.
 */
export type AutoCompact = 'auto' | 'off' | number | `${number}%`

/** The smallest context window, and the lowest threshold for compaction. */
export const leastWindowTokens = 1_000

/** Whether a percentage is a valid share of a window. */
export function isShare(percent: number): boolean {
  return percent >= 1 && percent <= 100
}

/** Which errors end a run. */
export type ErrorPolicyName = 'continue' | 'tools' | 'hooks' | 'all'

/**
 * What a user or program chooses for one session. All fields are optional: environment, settings and defaults decide
 * the rest. The flags of the terminal program have the same names, so they can be passed unchanged.
 */
export interface SessionChoices {
  /** The model. It selects the provider. */
  readonly model?: string
  /** Replaces the model while its service is overloaded. */
  readonly fallbackModel?: string
  /** The model for work after a run, such as suggestions and notes. */
  readonly smallModel?: string
  /** Writes the summaries of compaction. */
  readonly compactModel?: string
  /** A file with the replies of a scripted model, which replaces the model. */
  readonly script?: string
  /** Beta features of the Messages API, by the service's names. */
  readonly betas?: readonly string[]
  /** Maximum thinking tokens of a reply; 0 disables thinking. */
  readonly maxThinkingTokens?: number
  /** How much effort the model puts into an answer (default: that of the service). */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** Whether the model thinks before it answers (default: that of the model). */
  readonly thinking?: 'adaptive' | 'enabled' | 'disabled'
  /** The token budget for the task, which is announced to the model. */
  readonly taskBudget?: number
  /** Size of the model's context window in tokens, instead of the known size. */
  readonly contextWindow?: number
  /** When the conversation is compacted. */
  readonly autocompact?: AutoCompact

  /** Replaces the system prompt of the coding agent. */
  readonly systemPrompt?: string
  /** A file with a system prompt that replaces that of the coding agent. */
  readonly systemPromptFile?: string
  /** Appended to the system prompt. */
  readonly appendSystemPrompt?: string
  /** A file whose text is appended to the system prompt. */
  readonly appendSystemPromptFile?: string
  /** A JSON Schema for answers, or a file that contains it. */
  readonly jsonSchema?: string

  /** Settings as JSON or a file, which precede those of files. */
  readonly settings?: string
  /** Which settings apply: user, project, local (default: all). */
  readonly settingSources?: readonly string[]
  /** Folders of plugins. */
  readonly pluginDir?: readonly string[]
  /** Folders of plugins whose servers are not connected. */
  readonly pluginDirNoMcp?: readonly string[]

  /** A UUID for the session (default: a new one). */
  readonly sessionId?: string
  /** Do not store the session. */
  readonly noSessionPersistence?: boolean
  /** Do not store files before they are changed. */
  readonly noFileCheckpoints?: boolean

  /** Maximum number of turns of a run. */
  readonly maxTurns?: number
  /** Maximum cost of the session, in US dollars. */
  readonly maxBudgetUsd?: number
  /** Maximum cost of each run in US dollars, not counting earlier runs; `Infinity` for no limit. */
  readonly maxRunUsd?: number
  /** Maximum number of tool calls of a run and its agents. */
  readonly maxToolCalls?: number
  /** Whether the model is informed of the remaining part of a limit (default: the setting, which defaults to true). */
  readonly limitReminders?: boolean
  /**
   * What happens when an answer follows a change without a passing check. `ask`: the model is asked once to verify it.
   * `tell`: reported in the result. `off`: no check. Default: the setting, then the frontend's default.
   */
  readonly verifyChanges?: VerificationMode
  /** Maximum number of input and output tokens of a run. */
  readonly maxTokens?: number
  /** Maximum active time of a run, in milliseconds. */
  readonly maxDuration?: number
  /**
   * Maximum wall-clock time in milliseconds that a run, including resumes, waits for services that are rate-limited or
   * down; 0 for none, at most 31 days.
   */
  readonly waitForLimits?: number
  /** Output tokens that a run should use: until then, the model is asked to continue. */
  readonly tokenBudget?: number
  /**
   * Continues if standing budgets of the settings are exhausted or cannot be counted. Only a user can choose this:
   * there is no such setting.
   */
  readonly ignoreStandingBudgets?: boolean
  /** Finish reasons of a model that end the run. */
  readonly finishReasons?: readonly string[]
  /** Requests a last answer, without tools, when a limit was reached. */
  readonly wrapUp?: boolean
  /** Which failures end a run. */
  readonly errorPolicy?: ErrorPolicyName
  /**
   * At a limit: end the run, or pause until a user raises the limit. Default: the setting, if a user can answer
   * questions; otherwise `end`.
   */
  readonly onLimit?: 'end' | 'pause'
  /** Time in milliseconds to wait for an answer at a limit (default: unlimited). */
  readonly pauseFor?: number

  /** Commands that must all exit with 0 before a run is done. They are checked outside the model's control. */
  readonly until?: readonly string[]
  /** A condition, in words, that must hold before a run is done. A model judges it by quotes from tool results. */
  readonly goal?: string
  /**
   * Maximum number of times that the model is sent back to work because a goal is not met: 1 to 1,000 (default: 10).
   */
  readonly untilTries?: number
  /**
   * Time limit of one check in milliseconds (default: 600,000). A check that takes longer is killed, and the goal is
   * not met.
   */
  readonly untilTimeout?: number
  /** Number of consecutive passes required: 1 to 100 (default: 1). */
  readonly untilStable?: number
  /** End a run before its first request if its goals already hold. */
  readonly skipIfMet?: boolean
  /** Checks the goals after each turn that may have changed something, and ends the run as soon as they hold. */
  readonly stopWhenMet?: boolean
  /**
   * Globs, relative to the session's folder, of files that the agent must not change. A glob without a match is an
   * error.
   */
  readonly protect?: readonly string[]

  /** The permission mode (default: that of the settings). */
  readonly permissionMode?: PermissionMode
  /** Start in the mode `bypassPermissions`. */
  readonly dangerouslySkipPermissions?: boolean
  /** Make the mode `bypassPermissions` available without starting in it. */
  readonly allowDangerouslySkipPermissions?: boolean
  /** Permission rules that allow. */
  readonly allowedTools?: readonly string[]
  /** Permission rules that deny. */
  readonly disallowedTools?: readonly string[]
  /** Names of the built-in tools of the session; `default` for all, `none` for none. */
  readonly tools?: readonly string[]
  /** Which tools are offered, and with which descriptions (default: the setting, then `default`). */
  readonly toolProfile?: ToolProfile
  /** Further directories in which the session may work. */
  readonly addDir?: readonly string[]
  /** Variables with API keys that are passed to commands. */
  readonly passEnv?: readonly string[]
  /** `defer`: a call that needs permission ends the run and is answered later. */
  readonly onAsk?: 'deny' | 'defer'
  /** Confines commands in a sandbox. */
  readonly sandbox?: boolean
  /** What happens to commands that are still running when a run would end. */
  readonly background?: NonNullable<BackgroundOptions['atEnd']>

  /** MCP servers: files, or JSON. */
  readonly mcpConfig?: readonly string[]
  /** Connect only the servers of `mcpConfig`. */
  readonly strictMcpConfig?: boolean

  /** Subagents as JSON. */
  readonly agents?: string
  /** The agent that the session runs as. */
  readonly agent?: string
  /** Maximum number of subagents of a run, on all levels. */
  readonly maxSubagents?: number
  /** Maximum nesting of subagents. */
  readonly maxSubagentDepth?: number

  /** Ask a model after each run what the user may say next. */
  readonly promptSuggestions?: boolean
  /** Report statistics of hooks after each run. */
  readonly hookSummary?: boolean
  /** Also report the service's own events (default: false). */
  readonly includePartialMessages?: boolean
  /** Also report when hooks start and end (default: false). */
  readonly includeHookEvents?: boolean
  /** Report each instruction file that was read. */
  readonly verbose?: boolean
}
