import type { VerificationMode } from '../checks/verification.ts'
import type { BackgroundOptions } from '../tools/background.ts'
import type { PermissionMode } from '@halting/policy'
import type { ToolProfile } from '@halting/policy/settings'

/** When a conversation is compacted: as the window allows, never, at so many tokens, or at a share of the window. */
export type AutoCompact = 'auto' | 'off' | number | `${number}%`

/** No window is smaller, and no conversation is compacted below it. */
export const leastWindowTokens = 1_000

/** Whether a number of percent can be a share of a window. */
export function isShare(percent: number): boolean {
  return percent >= 1 && percent <= 100
}

/** Which errors end a run. */
export type ErrorPolicyName = 'continue' | 'tools' | 'hooks' | 'all'

/**
 * What a person or a program chooses for one session. All of it is optional: the environment, the settings and the defaults decide the rest.
 * The flags of the terminal program have the same names, so they can be passed as they are.
 */
export interface SessionChoices {
  /** The model. It selects the provider. */
  readonly model?: string
  /** Replaces the model while its service is overloaded. */
  readonly fallbackModel?: string
  /** For work after a run, such as suggestions and notes. */
  readonly smallModel?: string
  /** Writes the summaries of compaction. */
  readonly compactModel?: string
  /** A file with the replies of a scripted model, in place of a model. */
  readonly script?: string
  /** Features of the Messages API to ask for, by the names that the service has for them. */
  readonly betas?: readonly string[]
  /** Tokens of a reply that may be used for thinking; 0 for none. */
  readonly maxThinkingTokens?: number
  /** How hard the model works on an answer; the service's own default when absent. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  /** Whether the model thinks before it answers; the model's own default when absent. */
  readonly thinking?: 'adaptive' | 'enabled' | 'disabled'
  /** The number of tokens that the model is told it has for the task. */
  readonly taskBudget?: number
  /** Size of the model's window in tokens, in place of what its name says. */
  readonly contextWindow?: number
  /** When the conversation is compacted, or that it is not. */
  readonly autocompact?: AutoCompact

  /** Replaces the system prompt of the coding agent. */
  readonly systemPrompt?: string
  /** A file with a system prompt that replaces that of the coding agent. */
  readonly systemPromptFile?: string
  /** Added at the end of the system prompt. */
  readonly appendSystemPrompt?: string
  /** A file whose text is added at the end of the system prompt. */
  readonly appendSystemPromptFile?: string
  /** A JSON Schema that answers must fit, or a file that holds it. */
  readonly jsonSchema?: string

  /** Settings as JSON or a file; they count before those of files. */
  readonly settings?: string
  /** Whose settings count, of user, project and local; all when absent. */
  readonly settingSources?: readonly string[]
  /** Folders of plugins. */
  readonly pluginDir?: readonly string[]
  /** Folders of plugins whose servers are not connected. */
  readonly pluginDirNoMcp?: readonly string[]

  /** A UUID for the session; one is made when absent. */
  readonly sessionId?: string
  /** Nothing of the session is stored. */
  readonly noSessionPersistence?: boolean
  /** Files are not stored before they are changed. */
  readonly noFileCheckpoints?: boolean

  /** Turns of a run. */
  readonly maxTurns?: number
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number
  /** The same for each run, what earlier ones spent not counted; `Infinity` for no limit. */
  readonly maxRunUsd?: number
  /** Calls of tools of a run and its agents. */
  readonly maxToolCalls?: number
  /** Whether the model is told what is left of a limit: by the settings when absent, which say true. */
  readonly limitReminders?: boolean
  /**
   * What follows where an answer is given after a change that no check has passed after. `ask`: the model is asked once to verify it. `tell`: the result
   * says so. `off`: nobody looks at it. By the settings when absent, then by the frontend.
   */
  readonly verifyChanges?: VerificationMode
  /** Input and output tokens of a run. */
  readonly maxTokens?: number
  /** Milliseconds. */
  readonly maxDuration?: number
  /** Milliseconds by the wall clock that a run waits for services that are over their limit or out of order, over resumes; 0 for not at all, at most 31 days. */
  readonly waitForLimits?: number
  /** Output tokens that a run is to use up: it is sent back until it has. */
  readonly tokenBudget?: number
  /** Goes on where standing budgets of the settings have too little left, or cannot be counted. A person's word: no settings say it. */
  readonly ignoreStandingBudgets?: boolean
  /** Reasons of a model for ending a reply that end the run. */
  readonly finishReasons?: readonly string[]
  /** Ask for a last answer, without tools, when a limit was reached. */
  readonly wrapUp?: boolean
  /** Which failures end a run. */
  readonly errorPolicy?: ErrorPolicyName
  /** At a limit: end the run, or pause until a person raises it. By the settings when absent, where somebody answers questions; else `end`. */
  readonly onLimit?: 'end' | 'pause'
  /** Milliseconds for which an answer is waited for at a limit; without end when absent. */
  readonly pauseFor?: number

  /** Commands that must all exit with 0 before a run is done. They are checked outside of the model's reach. */
  readonly until?: readonly string[]
  /** What must hold before a run is done, in words: a model judges it, by quotes from the results of tools. */
  readonly goal?: string
  /** How often an answer is sent back because a goal is not met: 1 to 1,000; 10. */
  readonly untilTries?: number
  /** Milliseconds for one check, 600,000 when absent: it is ended then, and the goal is not met. */
  readonly untilTimeout?: number
  /** How often in a row a check must pass: 1 to 100; 1. */
  readonly untilStable?: number
  /** A run whose goals hold before its first request ends at once. */
  readonly skipIfMet?: boolean
  /** The goals are checked after each turn that may have changed something, and the run ends as soon as they hold. */
  readonly stopWhenMet?: boolean
  /** Globs, relative to the folder of the session, of files that the agent may not change. One that matches nothing is an error. */
  readonly protect?: readonly string[]

  /** The permission mode; that of the settings when absent. */
  readonly permissionMode?: PermissionMode
  /** Begin in the mode `bypassPermissions`. */
  readonly dangerouslySkipPermissions?: boolean
  /** Make the mode `bypassPermissions` available, and do not begin in it. */
  readonly allowDangerouslySkipPermissions?: boolean
  /** Permission rules that allow. */
  readonly allowedTools?: readonly string[]
  /** Permission rules that deny. */
  readonly disallowedTools?: readonly string[]
  /** Names of the built-in tools that the session has; `default` for all, `none` for none. */
  readonly tools?: readonly string[]
  /** Which tools the model is offered, and in which words; by the settings when absent, else `default`. */
  readonly toolProfile?: ToolProfile
  /** Further directories that the session may work in. */
  readonly addDir?: readonly string[]
  /** Variables with keys that commands get all the same. */
  readonly passEnv?: readonly string[]
  /** `defer`: a call that needs permission ends the run, and is answered later. */
  readonly onAsk?: 'deny' | 'defer'
  /** Confines commands in a sandbox. */
  readonly sandbox?: boolean
  /** What happens to commands that still run when a run would end. */
  readonly background?: NonNullable<BackgroundOptions['atEnd']>

  /** MCP servers: files, or JSON. */
  readonly mcpConfig?: readonly string[]
  /** Only the servers of `mcpConfig` are connected. */
  readonly strictMcpConfig?: boolean

  /** Subagents as JSON. */
  readonly agents?: string
  /** The agent that the session itself is. */
  readonly agent?: string
  /** Subagents of a run, on all levels. */
  readonly maxSubagents?: number
  /** Levels of subagents. */
  readonly maxSubagentDepth?: number

  /** A model is asked after a run what the person may say next. */
  readonly promptSuggestions?: boolean
  /** Report after a run what its hooks did. */
  readonly hookSummary?: boolean
  /** Also report the service's own events. Default: false. */
  readonly includePartialMessages?: boolean
  /** Also report hooks that begin and end. Default: false. */
  readonly includeHookEvents?: boolean
  /** Reports each file of instructions that was read. */
  readonly verbose?: boolean
}
