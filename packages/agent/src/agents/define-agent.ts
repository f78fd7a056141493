import { headOf } from '@halting/core/adapters'
import { permissionModes } from '../permissions/rule-book.ts'
import { limitsOf, type SaidOfLimits } from './agent-limits.ts'
import type { AgentDefinition } from './definition.ts'
import { isAbsent } from './is-absent.ts'

/** What one says of an agent, of any type: it is from a file or from JSON. */
export interface SaidOfAgent {
  readonly name: string
  readonly description: unknown
  readonly prompt: unknown
  readonly tools?: readonly string[] | undefined
  readonly disallowedTools?: readonly string[] | undefined
  readonly model?: unknown
  readonly permissionMode?: unknown
  readonly limits?: SaidOfLimits
  readonly background?: unknown
}

/** The definition, or in words what is wrong with it. What would be left out would loosen it, so nothing is. */
export function definitionOf(
  said: SaidOfAgent,
  from: Pick<AgentDefinition, 'level' | 'path'>,
): AgentDefinition | string {
  const { name, description, prompt, tools, disallowedTools = [], model, permissionMode, background } = said
  if (!isAgentName(name)) return 'its name has characters that no agent has'
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description'
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'it has no prompt'
  if (!isAbsent(model) && typeof model !== 'string') return 'model takes the name of a model'
  const mode = permissionModes.find((known) => known === permissionMode)
  if (!isAbsent(permissionMode) && mode === undefined)
    return `permissionMode takes one of ${permissionModes.join(', ')}`
  const limits = limitsOf(said.limits ?? {})
  if (typeof limits === 'string') return limits
  if (!isAbsent(background) && !['true', 'false'].includes(String(background))) return 'background takes true or false'
  const rule = tools?.find((entry) => /[()]/.test(entry))
  if (rule !== undefined)
    return `tools takes names of tools, and ${headOf(rule, 100)} is a rule: what it may not do goes to disallowedTools`
  for (const [field, entries = []] of Object.entries({ tools, disallowedTools: disallowedTools.map(withoutSpec) })) {
    const odd = entries.find((entry) => !/^(?:\*|[A-Za-z][\w.-]*\*?)$/.test(entry))
    if (odd !== undefined) return `${field} takes names of tools, and ${headOf(odd, 100)} is none`
  }
  return {
    name,
    description: description.trim(),
    prompt: prompt.trim(),
    ...(tools !== undefined && { tools: tools.map(currentName) }),
    disallowedTools: disallowedTools.map(currentName),
    ...(typeof model === 'string' && model !== '' && model !== 'inherit' && { model }),
    ...(mode !== undefined && { permissionMode: mode }),
    ...limits,
    ...(String(background) === 'true' && { background: true }),
    ...from,
  }
}

/** The tool of a rule. What is wrong with rules is told where they are read. */
function withoutSpec(entry: string): string {
  return entry.includes('(') ? 'Tool' : entry
}

/** What a rule can name: `Agent(name)`. */
function isAgentName(name: string): boolean {
  return /^[\p{L}\p{N}_.:-]{1,100}$/u.test(name)
}

/** The tool that starts agents had another name once. */
function currentName(entry: string): string {
  return entry.trim().replace(/^Task(?=\(|$)/, 'Agent')
}
