import { memoizeByObject } from '../memoize.ts'
import type { ShellWord } from '../words.ts'
import { literalWord } from '../read-grammar.ts'
import { wordsOfText } from './equivalent-commands.ts'
import { familyOf, programName } from './program-names.ts'

type Words = readonly ShellWord[]

export const isGit: (words: Words) => boolean = memoizeByObject(
  (words) => familyOf(programName(words[0]?.value ?? '')) === 'git',
)

/** The folders of `-C` options, in order. */
export function gitFolders(words: Words): readonly ShellWord[] {
  return words.flatMap((word, at) => (words[at - 1]?.value === '-C' && at > 1 ? [word] : []))
}

interface AliasValue {
  readonly name: string
  readonly value: ShellWord
}

/** Aliases that the words set: `-c alias.x=push`, `config alias.x push`. */
export function aliasesSetBy(words: Words): readonly AliasValue[] {
  if (!isGit(words)) return []
  return words.slice(1).flatMap((word, index): readonly AliasValue[] => {
    const [, name, equals, value = ''] = /^alias\.([^=\s]+)(=?)(.*)$/is.exec(word.value) ?? []
    if (name === undefined) return []
    const next = words[index + 2]
    if (equals === '=') return [{ name, value: { ...word, value } }]
    return next === undefined ? [] : [{ name, value: next }]
  })
}

/** The commands that an alias stands for, with the words after it. An alias with a leading `!` is a shell script. */
export function commandsOfAlias(value: string, rest: Words): readonly Words[] {
  if (!value.startsWith('!')) return [[literalWord('git'), ...wordsOfText(value), ...rest]]
  return value
    .slice(1)
    .split(/[\n;&|(){}`]+|\$\(/)
    .map((part) => [...wordsOfText(part), ...rest])
    .filter(([first]) => first !== undefined)
}
