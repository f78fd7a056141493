import { type Effect, unknown, unseen } from '../effects.ts'
import { couldStartWithDash, literalWord } from '../read-grammar.ts'
import type { ShellWord } from '../words.ts'

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

/** The first action that is not described, also behind words that only the shell knows. */
function unknownAction(args: readonly ShellWord[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal' || !/^-[a-zA-Z]/.test(word.value) || word.value === '-P') continue
    if (withText.has(word.value) || withFile.has(word.value)) at += 1
    else if (!withoutValue.has(word.value)) return word.value
  }
  return undefined
}

/** Find has no options as others have: paths, then an expression of words with a meaning each. */
export function findEffects(args: readonly ShellWord[]): readonly Effect[] {
  const action = unknownAction(args)
  if (action !== undefined) return unknown(`${action} of find is not known to change nothing`)
  const effects: Effect[] = []
  let at = 0
  while (args[at]?.value === '-P') at += 1
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined || (word.kind === 'literal' && /^(?:-|[!(),]$)/.test(word.value))) break
    if (word.kind === 'dynamic' || (word.kind === 'glob' && couldStartWithDash(word.value)))
      return unseen('a name could be an action of find')
    effects.push({ kind: 'list', word })
  }
  if (effects.length === 0) effects.push({ kind: 'list', word: literalWord('.') })
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal') return unseen('a name could be an action of find')
    if (withoutValue.has(word.value)) continue
    const value = args[at + 1]
    if (value === undefined || value.kind === 'glob' || (value.kind === 'dynamic' && value.isOne !== true))
      return unknown(`what ${word.value} of find takes is not known`)
    if (withFile.has(word.value)) effects.push({ kind: 'list', word: value })
    else if (!withText.has(word.value)) return unknown(`${word.value} of find is not known to change nothing`)
    at += 1
  }
  return effects
}
