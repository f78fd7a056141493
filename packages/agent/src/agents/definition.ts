import { type PermissionMode, generalAgentName } from '@halting/policy'
import { generalPrompt } from './agent-texts.ts'

/** The definition of a subagent type. */
export interface AgentDefinition {
  /** Name of the subagent type. */
  readonly name: string
  /** Purpose of the agent. The model selects an agent by this description. */
  readonly description: string
  /** System prompt of the agent. */
  readonly prompt: string
  /** Names of the agent's tools, or `mcp__server` for all tools of a server. Default: the tools of its parent. */
  readonly tools?: readonly string[]
  /**
   * Tools that the agent does not receive, and rules such as `Bash(git push:*)` that deny more than the parent's
   * rules.
   */
  readonly disallowedTools: readonly string[]
  /** Agents that this agent may start. Default: all. */
  readonly startsOnly?: readonly string[]
  /**
   * Matchers of the agent's own PreToolUse hooks, which are not called. The agent does not receive the tools that they
   * match.
   */
  readonly guards?: readonly string[]
  /** Name of its model. Default: the model of its parent. */
  readonly model?: string
  /** Permission mode of the agent. Default: the mode of its parent. */
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
  /** Run in the background unless a call requests otherwise. */
  readonly background?: boolean
  /** Commands that must all exit with 0 before the agent's task is done. */
  readonly until?: readonly string[]
  /** Source of the definition. A project definition never extends rights. */
  readonly level: 'built-in' | 'user' | 'project' | 'plugin' | 'flag'
  /** Path of the file that defines the agent; absent if no file defines it. */
  readonly path?: string
  /** Notes for the user about ignored fields, for a definition without a file. */
  readonly notes?: readonly string[]
}

/** The agent that runs when a call does not name an agent. */
export const generalAgent: AgentDefinition = {
  name: generalAgentName,
  description: 'Any multi-step task; has all tools.',
  prompt: generalPrompt,
  disallowedTools: [],
  level: 'built-in',
}
