import { type PermissionMode, generalAgentName } from '@halting/policy'
import { generalPrompt } from './agent-texts.ts'

/** A kind of subagent, as somebody described it. */
export interface AgentDefinition {
  /** Name of the kind of subagent. */
  readonly name: string
  /** What it is for: the model chooses by it. */
  readonly description: string
  /** Its system prompt. */
  readonly prompt: string
  /** Names of tools, `mcp__server` for all of a server; those of its parent when absent. */
  readonly tools?: readonly string[]
  /** Names that it does not have, and rules such as `Bash(git push:*)` that deny it more than its parent. */
  readonly disallowedTools: readonly string[]
  /** Agents that it may start; all when absent. */
  readonly startsOnly?: readonly string[]
  /** Matchers of its own PreToolUse hooks, which are not called: the tools that fit one it does not have. */
  readonly guards?: readonly string[]
  /** The name of a model; that of its parent when absent. */
  readonly model?: string
  /** The permission mode; that of its parent when absent. */
  readonly permissionMode?: PermissionMode
  /** Turns of one task. */
  readonly maxTurns?: number
  /** US dollars. */
  readonly maxBudgetUsd?: number
  /** Input and output. */
  readonly maxTotalTokens?: number
  /** Active milliseconds. */
  readonly maxDurationMs?: number
  /** Calls of tools, with those of the agents that it starts. */
  readonly maxToolCalls?: number
  /** It works in the background, unless a call says otherwise. */
  readonly background?: boolean
  /** Commands that must all exit with 0 before it is done. */
  readonly until?: readonly string[]
  /** Whose words these are: those of a project loosen nothing. */
  readonly level: 'built-in' | 'user' | 'project' | 'plugin' | 'flag'
  /** Path of the file that describes it; absent where no file does. */
  readonly path?: string
  /** What a person should know of it, where no file does: what was said and does not count. */
  readonly notes?: readonly string[]
}

/** The agent that is asked when none is named. */
export const generalAgent: AgentDefinition = {
  name: generalAgentName,
  description: 'Any multi-step task; has all tools.',
  prompt: generalPrompt,
  disallowedTools: [],
  level: 'built-in',
}
