import { type Effect, type Grammar, unknown } from './effects.ts'
import { changes, files } from './grammars/files.ts'
import { search } from './grammars/search.ts'
import { system } from './grammars/system.ts'
import { viewers } from './grammars/viewers.ts'
import { findEffects } from './programs/find.ts'
import { gitEffects } from './programs/git.ts'
import { lsofEffects, pipEffects, testEffects, xxdEffects } from './programs/special-syntax.ts'
import { psEffects } from './programs/ps.ts'
import { tellsVersion, versionEffects } from './programs/versions.ts'
import { effectsByGrammar, writesOperands } from './read-grammar.ts'
import { ofWords } from './remembered.ts'
import type { ShellWord } from './words.ts'
import { commandNameUnknown, notDescribed } from './shell-texts.ts'

/** Every command that is described, by its name. What is not here asks. */
export const grammars: Readonly<Record<string, Grammar>> = { ...files, ...search, ...system, ...viewers, ...changes }

type Describe = (args: readonly ShellWord[]) => readonly Effect[]

/** Commands whose words no grammar of options describes. */
const described: Readonly<Record<string, Describe>> = {
  find: (args) => findEffects(args, effectsOf),
  git: gitEffects,
  ps: psEffects,
  pip: pipEffects,
  pip3: pipEffects,
  lsof: lsofEffects,
  test: testEffects,
  '[': testEffects,
  xxd: xxdEffects,
  ...Object.fromEntries(tellsVersion.map((name) => [name, (args: readonly ShellWord[]) => versionEffects(name, args)])),
}

/** What a command does, wrappers taken off. Empty words do nothing. */
export const effectsOf: (words: readonly ShellWord[]) => readonly Effect[] = ofWords(describedEffects)

function describedEffects(words: readonly ShellWord[]): readonly Effect[] {
  const [name, ...args] = words
  if (name === undefined) return []
  if (name.kind !== 'literal') return unknown(commandNameUnknown)
  if (Object.hasOwn(described, name.value)) return described[name.value]?.(args) ?? []
  const grammar = Object.hasOwn(grammars, name.value) ? grammars[name.value] : undefined
  return grammar === undefined ? unknown(notDescribed(name.value)) : effectsByGrammar(grammar, args)
}

/** Commands whose arguments are text: nothing that they hold is looked up or run. */
export function takesAnything(name: string): boolean {
  return Object.hasOwn(grammars, name) && grammars[name]?.anything === true
}

/** Whether a command is described, and none of its operands is written. */
export function onlyReads(name: string): boolean {
  const grammar = Object.hasOwn(grammars, name) ? grammars[name] : undefined
  return grammar === undefined ? Object.hasOwn(described, name) : !writesOperands(grammar)
}

export function isDescribed(name: string): boolean {
  return Object.hasOwn(described, name) || Object.hasOwn(grammars, name)
}
