import type { ShellWord } from '../words.ts'
import { literalWord } from '../read-grammar.ts'
import { wordsOfText } from './meant-commands.ts'
import { nextOperands } from './operands.ts'
import { familyOf, programName } from './program-names.ts'
import { syntaxOf } from './program-syntax.ts'

type Words = readonly ShellWord[]

/** Subcommands of git itself, and programs that people install as such: no alias goes before the former. */
const commands: ReadonlySet<string> = new Set(
  (
    'add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap ' +
    'check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree config ' +
    'count-objects credential credential-cache credential-store cvsexportcommit cvsimport cvsserver daemon describe diagnose diff diff-files ' +
    'diff-index diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo ' +
    'format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object help history hook http-backend http-fetch http-push imap-send ' +
    'index-pack init init-db instaweb interpret-trailers last-modified log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge ' +
    'merge-base merge-file merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-recursive-ours merge-recursive-theirs ' +
    'merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs ' +
    'patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote repack replace replay repo ' +
    'request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref ' +
    'sparse-checkout stage stash status stripspace submodule subtree svn switch symbolic-ref tag unpack-file unpack-objects update-index ' +
    'update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree ' +
    'lfs flow annex crypt secret filter-repo absorb town gitk scalar'
  ).split(' '),
)

export function isGit(words: Words): boolean {
  return familyOf(programName(words[0]?.value ?? '')) === 'git'
}

/** A subcommand of git that is not among those that it has: an alias, or a program that nobody knows. */
export interface UnknownGitCommand {
  readonly name: string
  /** What stands behind it. */
  readonly rest: Words
}

export function unknownGitCommands(words: Words): readonly UnknownGitCommand[] {
  if (!isGit(words)) return []
  const { operands } = nextOperands(words, new Map([[1, 2]]), syntaxOf('git'))
  return [...operands].flatMap(([at, sureness]) => {
    const word = words[at]
    if (word?.kind !== 'literal' || sureness !== 2 || commands.has(word.value.toLowerCase())) return []
    return [{ name: word.value, rest: words.slice(at + 1) }]
  })
}

/** The folders that `-C` leads through, from the first to the last. */
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

/** The commands that an alias stands for, with what stands behind it. What begins with `!` is a script of the shell. */
export function commandsOfAlias(value: string, rest: Words): readonly Words[] {
  if (!value.startsWith('!')) return [[literalWord('git'), ...wordsOfText(value), ...rest]]
  return value
    .slice(1)
    .split(/[\n;&|(){}`]+|\$\(/)
    .map((part) => [...wordsOfText(part), ...rest])
    .filter(([first]) => first !== undefined)
}
