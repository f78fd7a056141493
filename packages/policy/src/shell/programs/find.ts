import { type Effect, unknownEffect, unseenEffect } from '../effects.ts'
import { couldStartWithDash, literalWord } from '../read-grammar.ts'
import type { ShellWord } from '../words.ts'
import {
  findActionUnknown,
  findExecMayChange,
  findExecUnclearEnd,
  findRunsTooMuch,
  findValueUnknown,
  nameMayBeFindAction,
  unknownFindExec,
} from '../shell-texts.ts'

const withoutValue: ReadonlySet<string> = new Set(
  (
    '! ( ) , -not -a -and -o -or -true -false -print -print0 -ls -quit -prune -depth -d -empty -nouser -nogroup -daystart ' +
    '-mount -xdev -noleaf -readable -writable -executable -ignore_readdir_race -noignore_readdir_race -warn -nowarn'
  ).split(' '),
)
const withText: ReadonlySet<string> = new Set(
  (
    '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -perm -user -group -uid -gid ' +
    '-links -inum -mtime -ctime -atime -mmin -cmin -amin -maxdepth -mindepth -printf -lname -ilname -fstype -used -newermt'
  ).split(' '),
)
const withFile: ReadonlySet<string> = new Set(['-newer', '-anewer', '-cnewer', '-samefile'])

/** The first action that is not described, also after words that only the shell knows. */
function unknownAction(args: readonly ShellWord[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal' || !/^-[a-zA-Z]/.test(word.value) || word.value === '-P') continue
    if (withText.has(word.value) || withFile.has(word.value)) at += 1
    else if (!withoutValue.has(word.value)) return word.value
  }
  return undefined
}

/** The effect of words that only the shell knows: they may be actions. */
function unseenWord(args: readonly ShellWord[]): readonly Effect[] {
  const action = unknownAction(args)
  return action === undefined ? unseenEffect(nameMayBeFindAction) : unknownEffect(findActionUnknown(action))
}

/** Returns the effects of another command. */
type Describe = (words: readonly ShellWord[]) => readonly Effect[]

/** The arguments of find are paths, followed by an expression of words with individual meanings. */
export function findEffects(args: readonly ShellWord[], describe: Describe): readonly Effect[] {
  const roots: ShellWord[] = []
  let at = 0
  while (args[at]?.value === '-P') at += 1
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined || (word.kind === 'literal' && /^(?:-|[!(),]$)/.test(word.value))) break
    if (word.kind === 'dynamic' || (word.kind === 'glob' && couldStartWithDash(word.value))) return unseenWord(args)
    roots.push(word)
  }
  if (roots.length === 0) roots.push(literalWord('.'))
  return [
    ...roots.map((word): Effect => ({ kind: 'list', word })),
    ...expressionEffects(args.slice(at), roots, describe),
  ]
}

const maxCommands = 4
const maxRoots = 8

function expressionEffects(
  words: readonly ShellWord[],
  roots: readonly ShellWord[],
  describe: Describe,
): readonly Effect[] {
  const effects: Effect[] = []
  const tests = new TestsSoFar()
  let commands = 0
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]
    if (word?.kind !== 'literal') return unseenWord(words)
    if (word.value === '-exec') {
      const inner = commandOfFind(words.slice(at + 1))
      if (inner === undefined) return unknownEffect(findExecUnclearEnd)
      if ((commands += 1) > maxCommands || roots.length > maxRoots) return unknownEffect(findRunsTooMuch)
      effects.push(...execEffects(inner, roots, tests.isNoLink, describe))
      at += inner.words.length + 1
      continue
    }
    const value = withoutValue.has(word.value) ? undefined : words[at + 1]
    tests.add(word.value, value)
    if (withoutValue.has(word.value)) continue
    if (value === undefined || value.kind === 'glob' || (value.kind === 'dynamic' && value.isOne !== true))
      return unknownEffect(findValueUnknown(word.value))
    if (withFile.has(word.value)) effects.push({ kind: 'list', word: value })
    else if (!withText.has(word.value)) return unknownEffect(findActionUnknown(word.value))
    at += 1
  }
  return effects
}

/** What is true for every path at a position in the expression, as far as that is known without evaluating parentheses. */
class TestsSoFar {
  #depth = 0
  #isNegated = false
  #isNoLink = false

  /** Whether `-type f` or `-type d` is true. */
  get isNoLink(): boolean {
    return this.#isNoLink
  }

  add(name: string, value: ShellWord | undefined): void {
    if (name === '(') this.#depth += 1
    else if (name === ')') this.#depth -= 1
    else if (this.#depth === 0 && /^(?:-o|-or|,)$/.test(name)) this.#isNoLink = false
    const isPlain = this.#depth === 0 && !this.#isNegated && value?.kind === 'literal'
    if (name === '-type' && isPlain && /^[fd](?:,[fd])?$/.test(value.value)) this.#isNoLink = true
    this.#isNegated = name === '!' || name === '-not'
  }
}

interface CommandOfFind {
  readonly words: readonly ShellWord[]
  /** Whether the command ends in `{} +`: find passes many names to it at once. */
  readonly takesMany: boolean
}

/** The words up to `;`, or up to a `+` directly after `{}`. Undefined without either. */
export function commandOfFind(words: readonly ShellWord[]): CommandOfFind | undefined {
  const isMany = (at: number): boolean => words[at]?.value === '+' && words[at - 1]?.value === '{}'
  const end = words.findIndex(({ value }, at) => value === ';' || isMany(at))
  return end === -1 ? undefined : { words: words.slice(0, end), takesMany: words[end]?.value === '+' }
}

/**
 * `find src -exec grep -l x {} +`: the effects of the command with paths below `src` in place of `{}`. Such a path begins with `src`, so it is not
 * an option.
 */
function execEffects(
  { words, takesMany }: CommandOfFind,
  roots: readonly ShellWord[],
  isNoLink: boolean,
  describe: Describe,
): readonly Effect[] {
  const isKnown = words.every(
    ({ kind, value }, at) => kind === 'literal' && (value === '{}' ? at > 0 : !value.includes('{}')),
  )
  if (!isKnown) return unknownEffect(unknownFindExec)
  return roots.flatMap((root) => {
    const found: ShellWord = { ...root, isFound: true }
    // A program may treat its second or third name differently.
    const expanded = words.flatMap((word) =>
      word.value !== '{}' ? [word] : takesMany ? [found, found, found] : [found],
    )
    return describe(expanded).flatMap((effect) => effectBelow(effect, found, isNoLink))
  })
}

/** An effect on a found path applies to everything below its start folder. */
function effectBelow(effect: Effect, found: ShellWord, isNoLink: boolean): readonly Effect[] {
  switch (effect.kind) {
    case 'list':
    case 'read':
    case 'read tree':
      if (effect.word !== found) return [effect]
      // Find also returns links, which a reading or listing command follows.
      if (!isNoLink) return [{ kind: 'read through links', word: found }]
      return [{ kind: effect.kind === 'list' ? 'list' : 'read tree', word: found }]
    case 'unseen':
    case 'unknown':
      return [effect]
    case 'read through links':
    case 'write':
    case 'write tree':
    case 'relocate':
    case 'git':
    case 'chosen':
    case 'hardened':
      return unknownEffect(findExecMayChange)
  }
}
