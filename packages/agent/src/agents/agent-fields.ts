import { headOf } from '@halting/core/adapters'
import { limitNames } from './agent-limits.ts'

/** Agent definition fields that have an effect. */
const supportedFields = [
  'name',
  'description',
  'prompt',
  'tools',
  'disallowedTools',
  'model',
  'permissionMode',
  'readonly',
  'background',
  'until',
  // The hooks of an agent are not called; instead, the agent does not receive the tools that they guard.
  'hooks',
  ...limitNames,
]

/** Fields that other programs support and that change what an agent can do. */
const unsupportedFields = ['mcpServers', 'skills', 'memory', 'isolation', 'effort', 'initialPrompt']

/** Fields that do not affect an agent's behavior. */
const cosmeticFields = ['color']

/** Field names of other files and programs, in lower case and without `-` and `_`. */
const fieldsByAlias: ReadonlyMap<string, string> = new Map([
  ...supportedFields.map((field) => [plainName(field), field] as const),
  ['tool', 'tools'],
  ['allowedtool', 'tools'],
  ['allowedtools', 'tools'],
  ['disallowedtool', 'disallowedTools'],
  ['deniedtools', 'disallowedTools'],
  ['mode', 'permissionMode'],
  ['maxturn', 'maxTurns'],
  ['maxsteps', 'maxTurns'],
  ['maxcalls', 'maxToolCalls'],
  ['maxtoolcall', 'maxToolCalls'],
  ['maxbudget', 'maxBudgetUsd'],
  ['maxcost', 'maxBudgetUsd'],
  ['maxusd', 'maxBudgetUsd'],
  ['maxtotaltokens', 'maxTokens'],
  ['maxdurationms', 'maxDuration'],
  ['timeout', 'maxDuration'],
  ['runinbackground', 'background'],
])

export type FieldCheck =
  /** `wrong`: the field was intended but is not supported, and ignoring it would give the agent more rights. */
  { readonly kind: 'wrong'; readonly why: string } | { readonly kind: 'fine'; readonly notes: readonly string[] }

// Spec R-AGENT-3a.
/**
 * Checks the field names of an agent definition and returns notes about ignored ones. `isSame` decides which names are
 * equal; field names in files are case-insensitive.
 */
export function checkFields(names: readonly string[], isSame: (one: string, other: string) => boolean): FieldCheck {
  const isAmong = (name: string, fields: readonly string[]): boolean => fields.some((field) => isSame(name, field))
  const odd = names.filter((name) => !isAmong(name, [...supportedFields, ...cosmeticFields]))
  const unserved = unsupportedFields.filter((field) => isAmong(field, odd))
  const unknown = odd.filter((name) => !isAmong(name, unsupportedFields))
  for (const name of unknown) {
    const field = fieldsByAlias.get(plainName(name))
    if (field !== undefined) return { kind: 'wrong', why: `${name} is not a field of an agent. Use ${field}` }
  }
  return {
    kind: 'fine',
    notes: [
      ...(unserved.length === 0 ? [] : [`${unserved.join(', ')} of an agent is not supported. Ignored.`]),
      ...unknown.map((name) => `${headOf(name, 100)} is not a known field of an agent. Ignored.`),
    ],
  }
}

/** Whether a word is probably meant as the name of an agent field. */
export function isFieldName(word: string): boolean {
  const name = plainName(word)
  return fieldsByAlias.has(name) || unsupportedFields.some((field) => plainName(field) === name)
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
