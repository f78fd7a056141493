import { type Effect, type Grammar, unknownEffect } from './effects.ts'
import { changes, files } from './grammars/files.ts'
import { search } from './grammars/search.ts'
import { system } from './grammars/system.ts'
import { viewers } from './grammars/viewers.ts'
import { findEffects } from './programs/find.ts'
import { gitEffects } from './programs/git.ts'
import { lsofEffects, pipEffects, testEffects, xxdEffects } from './programs/special-syntax.ts'
import { psEffects } from './programs/ps.ts'
import { programsWithVersion, versionEffects } from './programs/versions.ts'
import { effectsByGrammar, writesOperands } from './read-grammar.ts'
import { memoizeByWords } from './memoize.ts'
import type { ShellWord } from './words.ts'
import { commandNameUnknown, notDescribed } from './shell-texts.ts'

/** The grammars of all described commands, by name. Any other command needs approval. */
export const grammars: Readonly<Record<string, Grammar>> = { ...files, ...search, ...system, ...viewers, ...changes }

type Describe = (args: readonly ShellWord[]) => readonly Effect[]

/** Commands whose arguments no option grammar describes. */
const specialPrograms: Readonly<Record<string, Describe>> = {
  find: (args) => findEffects(args, effectsOf),
  git: gitEffects,
  ps: psEffects,
  pip: pipEffects,
  pip3: pipEffects,
  lsof: lsofEffects,
  test: testEffects,
  '[': testEffects,
  xxd: xxdEffects,
  ...Object.fromEntries(
    programsWithVersion.map((name) => [name, (args: readonly ShellWord[]) => versionEffects(name, args)]),
  ),
}

/** The effects of a command, without its wrappers. An empty list of words has no effect. */
export const effectsOf: (words: readonly ShellWord[]) => readonly Effect[] = memoizeByWords(findEffectsOf)

function findEffectsOf(words: readonly ShellWord[]): readonly Effect[] {
  const [name, ...args] = words
  if (name === undefined) return []
  if (name.kind !== 'literal') return unknownEffect(commandNameUnknown)
  if (Object.hasOwn(specialPrograms, name.value)) return specialPrograms[name.value]?.(args) ?? []
  const grammar = Object.hasOwn(grammars, name.value) ? grammars[name.value] : undefined
  return grammar === undefined ? unknownEffect(notDescribed(name.value)) : effectsByGrammar(grammar, args)
}

/** Whether a command takes arguments as text only, and neither opens nor runs them. */
export function takesArbitraryText(name: string): boolean {
  return Object.hasOwn(grammars, name) && grammars[name]?.anything === true
}

/** Whether a command is described, and writes none of its operands. */
export function onlyReads(name: string): boolean {
  const grammar = Object.hasOwn(grammars, name) ? grammars[name] : undefined
  return grammar === undefined ? Object.hasOwn(specialPrograms, name) : !writesOperands(grammar)
}

export function isDescribed(name: string): boolean {
  return Object.hasOwn(specialPrograms, name) || Object.hasOwn(grammars, name)
}
