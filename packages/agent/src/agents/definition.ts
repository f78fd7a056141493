import { type PermissionMode, generalAgentName } from '@halting/policy'
import { generalPrompt } from './agent-texts.ts'

/** The definition of a subagent type. */
export interface AgentDefinition {
  /** Name of the subagent type. */
  readonly name: string
  /** What it is for. The model chooses by this description. */
  readonly description: string
  /** Its system prompt. */
  readonly prompt: string
  /** Names of its tools, or `mcp__server` for all tools of a server. Default: the tools of its parent. */
  readonly tools?: readonly string[]
  /** Tools that it does not get, and rules such as `Bash(git push:*)` that deny it more than its parent. */
  readonly disallowedTools: readonly string[]
  /** Agents that it may start. Default: all. */
  readonly startsOnly?: readonly string[]
  /** Matchers of its own PreToolUse hooks, which are not called. The agent does not get the tools that they match. */
  readonly guards?: readonly string[]
  /** Name of its model. Default: the model of its parent. */
  readonly model?: string
  /** Its permission mode. Default: the mode of its parent. */
  readonly permissionMode?: PermissionMode
  /** Maximum number of turns of one task. */
  readonly maxTurns?: number
  /** Maximum cost of one task, in US dollars. */
  readonly maxBudgetUsd?: number
  /** Maximum number of input and output tokens of one task. */
  readonly maxTotalTokens?: number
  /** Maximum active time of one task, in milliseconds. */
  readonly maxDurationMs?: number
  /** Maximum number of tool calls of one task, including those of agents that it starts. */
  readonly maxToolCalls?: number
  /** Runs in the background unless a call says otherwise. */
  readonly background?: boolean
  /** Commands that must all exit with 0 before it is done. */
  readonly until?: readonly string[]
  /** Where the definition comes from. One of a project never extends rights. */
  readonly level: 'built-in' | 'user' | 'project' | 'plugin' | 'flag'
  /** Path of the file that defines it; absent if there is no file. */
  readonly path?: string
  /** Notes for the user about ignored fields, if no file defines it. */
  readonly notes?: readonly string[]
}

/** The agent that runs when a call names none. */
export const generalAgent: AgentDefinition = {
  name: generalAgentName,
  description: 'Any multi-step task; has all tools.',
  prompt: generalPrompt,
  disallowedTools: [],
  level: 'built-in',
}
