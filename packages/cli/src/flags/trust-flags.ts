import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { nearest } from './nearest.ts'
import { list, type Reading } from './values.ts'

type TrustFlag = 'settingSources' | 'trust' | 'passEnv' | 'list' | 'revoke'

const settingSources = ['user', 'project', 'local'] as const

/** Flags about whose word counts: rows of the one table. */
export const trustFlags: { readonly [Name in TrustFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  settingSources: {
    names: ['--setting-sources'],
    group: 'model',
    kind: 'list',
    value: 'LIST',
    read: sources,
    meaning:
      'Whose settings files are read: user,project,local unless said otherwise, "" for none. Naming project trusts the folder for this run',
  },
  trust: {
    names: ['--trust'],
    group: 'tools',
    kind: 'switch',
    meaning: 'Trust this folder for this run: its hooks, allow rules and helpers count. halting trust shows them',
  },
  passEnv: {
    names: ['--pass-env'],
    group: 'tools',
    kind: 'list',
    value: 'NAMES',
    read: list,
    meaning: 'Variables with keys of models that commands are given all the same; they are given none of them',
  },
  list: { names: ['--list'], group: 'program', kind: 'switch', meaning: 'Of trust: the folders that are trusted' },
  revoke: { names: ['--revoke'], group: 'program', kind: 'switch', meaning: 'Of trust: take it back' },
}

/** An empty list means: none. It must not be lost on the way. */
function sources(given: string): Reading<readonly string[]> {
  if (given.trim() === '') return { value: ['none'] }
  const read = list(given)
  if ('expected' in read) return read
  const wrong = read.value.find((name) => !settingSources.some((source) => source === name))
  if (wrong === undefined) return read
  return { expected: `a list of ${settingSources.join(', ')}, or ""`, meant: nearest(wrong, settingSources) }
}
