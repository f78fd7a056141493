import { headOf } from '@halting/core/adapters'
import { permissionModes } from '../permissions/rule-book.ts'
import type { AgentDefinition } from './definition.ts'

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
export function definitionOf(
  said: SaidOfAgent,
  from: Pick<AgentDefinition, 'level' | 'path'>,
): AgentDefinition | string {
  const { name, description, prompt, tools, disallowedTools = [], model, permissionMode, maxTurns } = said
  if (!isAgentName(name)) return 'its name has characters that no agent has'
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description'
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'it has no prompt'
  if (!isAbsent(model) && typeof model !== 'string') return 'model takes the name of a model'
  const mode = permissionModes.find((known) => known === permissionMode)
  if (!isAbsent(permissionMode) && mode === undefined)
    return `permissionMode takes one of ${permissionModes.join(', ')}`
  const turns = isAbsent(maxTurns) ? undefined : Number(maxTurns)
  if (turns !== undefined && !(Number.isSafeInteger(turns) && turns >= 1))
    return 'maxTurns takes a whole number above 0'
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
