import { headOf } from '@halting/core/adapters'
import { limitNames } from './agent-limits.ts'

/** What an agent can say of itself. */
const served = [
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
  // Not called: what they guard is taken away.
  'hooks',
  ...limitNames,
]

/** What other programs know of an agent, and that changes what it can do. */
const notServed = ['mcpServers', 'skills', 'memory', 'isolation', 'effort', 'initialPrompt']

/** Changes nothing that an agent does. */
const forShow = ['color']

/** What other files and programs call it, without case, `-` and `_`. */
const meant: ReadonlyMap<string, string> = new Map([
  ...served.map((field) => [plainName(field), field] as const),
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

export type SaidFields =
  /** One that was meant and is not taken: the agent would be looser without it. */
  { readonly kind: 'wrong'; readonly why: string } | { readonly kind: 'fine'; readonly notes: readonly string[] }

// Spec R-AGENT-3a.
/**
 * The names of the fields that somebody gave, and what is to be told of them. `isSame`: names that count as one, since a file
 * does not tell capitals apart.
 */
export function saidFields(names: readonly string[], isSame: (one: string, other: string) => boolean): SaidFields {
  const isAmong = (name: string, fields: readonly string[]): boolean => fields.some((field) => isSame(name, field))
  const odd = names.filter((name) => !isAmong(name, [...served, ...forShow]))
  const unserved = notServed.filter((field) => isAmong(field, odd))
  const unknown = odd.filter((name) => !isAmong(name, notServed))
  for (const name of unknown) {
    const field = meant.get(plainName(name))
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

/** Whether a word names a field of an agent, as whoever wrote it may have meant it. */
export function isFieldName(word: string): boolean {
  const name = plainName(word)
  return meant.has(name) || notServed.some((field) => plainName(field) === name)
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
