import { headOf } from '@halting/core/adapters'
import { permissionModes } from '@halting/policy'
import { limitsOf, type RawLimits } from './agent-limits.ts'
import type { UncalledHooks } from './agent-hooks.ts'
import type { AgentDefinition } from './definition.ts'
import { isAbsent } from './is-absent.ts'

/** An agent definition as written, with values of any type: from a file or from JSON. */
export interface RawAgent {
  readonly name: string
  readonly description: unknown
  readonly prompt: unknown
  readonly tools?: readonly string[] | undefined
  readonly disallowedTools?: readonly string[] | undefined
  readonly model?: unknown
  readonly permissionMode?: unknown
  /** A field of other programs. `true` makes the agent read-only, like the mode `plan`. */
  readonly readonly?: unknown
  readonly limits?: RawLimits
  readonly background?: unknown
  /** Goal commands of the agent. */
  readonly until?: readonly string[] | undefined
  readonly hooks?: UncalledHooks
}

/**
 * Returns the definition, or a message about its first error. Never ignores a field if that would give the agent more
 * rights.
 */
export function definitionOf(raw: RawAgent, from: Pick<AgentDefinition, 'level' | 'path'>): AgentDefinition | string {
  const { name, description, prompt, tools, disallowedTools = [], model, permissionMode, background } = raw
  const { hooks = noHooks, until = [] } = raw
  if (!isAgentName(name)) return 'its name has characters that are not allowed'
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description'
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'it has no prompt'
  if (!isAbsent(model) && typeof model !== 'string') return 'model must be the name of a model'
  const ownMode = permissionModes.find((known) => known === permissionMode)
  if (!isAbsent(permissionMode) && ownMode === undefined)
    return `permissionMode must be one of ${permissionModes.join(', ')}`
  if (!isAbsent(raw.readonly) && !['true', 'false'].includes(String(raw.readonly)))
    return 'readonly must be true or false'
  const mode = String(raw.readonly) === 'true' ? 'plan' : ownMode
  const limits = limitsOf(raw.limits ?? {})
  if (typeof limits === 'string') return limits
  if (!isAbsent(background) && !['true', 'false'].includes(String(background)))
    return 'background must be true or false'
  const own = toolsIn(tools)
  for (const [field, entries = []] of Object.entries({
    tools: own.names,
    disallowedTools: disallowedTools.map(withoutSpec),
  })) {
    const odd = entries.find((entry) => !/^(?:\*|[A-Za-z][\w.-]*\*?)$/.test(entry))
    if (odd !== undefined) return `${field} must contain tool names, and ${headOf(odd, 100)} is not one`
  }
  const notes = [...own.notes, ...hooks.notes]
  return {
    name,
    description: description.trim(),
    prompt: prompt.trim(),
    ...(own.names !== undefined && { tools: own.names.map(currentName) }),
    ...(own.startsOnly !== undefined && { startsOnly: own.startsOnly }),
    ...(hooks.guards.length > 0 && { guards: hooks.guards }),
    disallowedTools: disallowedTools.map(currentName),
    ...(typeof model === 'string' && model !== '' && model !== 'inherit' && { model }),
    ...(mode !== undefined && { permissionMode: mode }),
    ...limits,
    ...(String(background) === 'true' && { background: true }),
    ...(until.length > 0 && { until: [...new Set(until)] }),
    ...from,
    ...(notes.length > 0 && { notes }),
  }
}

interface OwnTools {
  readonly names: readonly string[] | undefined
  readonly startsOnly?: readonly string[]
  readonly notes: readonly string[]
}

/**
 * Tools and rules of a definition. `Agent(a, b)` limits which agents the agent may start. Any other entry with
 * parentheses cannot be granted in part, so the agent does not receive that tool: otherwise the agent would have more
 * rights than its file allows.
 */
function toolsIn(tools: readonly string[] | undefined): OwnTools {
  if (tools === undefined) return { names: undefined, notes: [] }
  const entries = tools.map((entry) => {
    const [, tool, spec] = /^([A-Za-z][\w.-]*)\((.*)\)$/s.exec(currentName(entry)) ?? []
    return { entry, tool, spec }
  })
  const startable = entries.filter(({ tool }) => tool === 'Agent').flatMap(({ spec = '' }) => spec.split(','))
  const hasAll = tools.some((entry) => ['Agent', '*'].includes(currentName(entry)))
  const partly = entries.filter(({ tool }) => tool !== undefined && tool !== 'Agent')
  return {
    names: entries.flatMap(({ entry, tool }) => (tool === undefined ? [entry] : tool === 'Agent' ? [tool] : [])),
    ...(startable.length > 0 && !hasAll && { startsOnly: startable.map((name) => name.trim()).filter(Boolean) }),
    notes: partly.map(
      ({ entry, tool = '' }) =>
        `${headOf(entry, 100)} in tools is not supported: the agent does not get ${headOf(tool, 100)}.`,
    ),
  }
}

/** The tool of a rule. Invalid rules are reported where they are parsed. */
function withoutSpec(entry: string): string {
  return entry.includes('(') ? 'Tool' : entry
}

const noHooks: UncalledHooks = { guards: [], notes: [] }

/** Whether a rule can contain the name: `Agent(name)`, or a list `Agent(name, name)`. */
function isAgentName(name: string): boolean {
  return /^[^\p{C}\p{Zl}\p{Zp}(),]{1,100}$/u.test(name) && name === name.trim()
}

/** Maps the former name of the tool that starts agents to its current name. */
function currentName(entry: string): string {
  return entry.trim().replace(/^Task(?=\(|$)/, 'Agent')
}
