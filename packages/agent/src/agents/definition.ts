import { headOf } from '@halting/core/adapters'
import { type PermissionMode, permissionModes } from '../permissions/rule-book.ts'

/** A kind of subagent, as somebody described it. */
export interface AgentDefinition {
  readonly name: string
  /** What it is for: the model chooses by it. */
  readonly description: string
  /** Its system prompt. */
  readonly prompt: string
  /** Names of tools, `mcp__server` for all of a server; those of its parent when absent. */
  readonly tools?: readonly string[]
  /** Names that it does not have, and rules such as `Bash(git push:*)` that deny it more than its parent. */
  readonly disallowedTools: readonly string[]
  /** The name of a model; that of its parent when absent. */
  readonly model?: string
  readonly permissionMode?: PermissionMode
  readonly maxTurns?: number
  /** Whose words these are: those of a project loosen nothing. */
  readonly level: 'built-in' | 'user' | 'project' | 'flag'
  readonly path?: string
}

/** What one says of an agent, of any type: it is from a file or from JSON. */
export interface SaidOfAgent {
  readonly name: string
  readonly description: unknown
  readonly prompt: unknown
  readonly tools?: readonly string[] | undefined
  readonly disallowedTools?: readonly string[] | undefined
  readonly model?: unknown
  readonly permissionMode?: unknown
  readonly maxTurns?: unknown
}

/** The definition, or in words what is wrong with it. What would be left out would loosen it, so nothing is. */
export function definitionOf(said: SaidOfAgent, from: Pick<AgentDefinition, 'level' | 'path'>): AgentDefinition | string {
  const { name, description, prompt, tools, disallowedTools = [], model, permissionMode, maxTurns } = said
  if (!isAgentName(name)) return 'its name has characters that no agent has'
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description'
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'it has no prompt'
  if (!isAbsent(model) && typeof model !== 'string') return 'model takes the name of a model'
  const mode = permissionModes.find((known) => known === permissionMode)
  if (!isAbsent(permissionMode) && mode === undefined)
    return `permissionMode takes one of ${permissionModes.join(', ')}`
  const turns = isAbsent(maxTurns) ? undefined : Number(maxTurns)
  if (turns !== undefined && !(Number.isSafeInteger(turns) && turns >= 1)) return 'maxTurns takes a whole number above 0'
  const rule = tools?.find((entry) => /[()]/.test(entry))
  if (rule !== undefined)
    return `tools takes names of tools, and ${headOf(rule, 100)} is a rule: what it may not do goes to disallowedTools`
  return {
    name,
    description: description.trim(),
    prompt: prompt.trim(),
    ...(tools !== undefined && { tools: tools.map(currentName) }),
    disallowedTools: disallowedTools.map(currentName),
    ...(typeof model === 'string' && model !== '' && model !== 'inherit' && { model }),
    ...(mode !== undefined && { permissionMode: mode }),
    ...(turns !== undefined && { maxTurns: turns }),
    ...from,
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** What a rule can name: `Agent(name)`. */
function isAgentName(name: string): boolean {
  return /^[\p{L}\p{N}_.:-]{1,100}$/u.test(name)
}

/** The tool that starts agents had another name once. */
function currentName(entry: string): string {
  return entry.trim().replace(/^Task(?=\(|$)/, 'Agent')
}

/** The agent that is asked when none is named. */
export const generalAgent: AgentDefinition = {
  name: 'general-purpose',
  description:
    'Does a task of several steps by itself, with all tools: a search through much code, a change that can be described in full.',
  prompt:
    'You are an agent of halting, a coding agent in a terminal. You were given one task. Do it with the tools that you have, all of it and nothing else. ' +
    'Look before you act, keep to the style and the conventions that you find, and check what you changed.',
  disallowedTools: [],
  level: 'built-in',
}
