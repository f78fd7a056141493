import { withoutLookupCache } from '../files/lookup-cache.ts'
import { bothEnds, isInside } from '../files/paths.ts'
import type { ShellAnalysis, SimpleCommand } from '../shell/analysis.ts'
import type { Effect } from '../shell/effects.ts'
import { effectsOfCommand, isHarmlessEffect, isHarmlessSink } from '../shell/read-only.ts'
import { gitFolders, isGit } from '../shell/subcommands/git-commands.ts'
import type { ShellWord } from '../shell/words.ts'
import { changedOperands } from './confined-questions.ts'
import { readAccess } from './command-rules.ts'
import { innermost, placesOf, type Whereabouts } from './places.ts'
import { isHardLinked, containsProtected, isProtected } from './protected.ts'
import { isPathAllowed, type RuleBook } from './rule-book.ts'
import {
  changesWholeFolder,
  containsProtectedFiles,
  hasHardLinks,
  noRuleForChanging,
  noRuleForReading,
  noRuleForWriting,
} from './command-texts.ts'

/**
 * Why a line needs approval although it would be confined to the workspace: it names a path that confined commands do
 * not see, or changes a control file. The kernel decides about words that are only known at run time.
 */
export function namedPlaceProblem(
  analysis: ShellAnalysis,
  whereabouts: Whereabouts,
  book: RuleBook,
): string | undefined {
  for (const { direction, target } of analysis.redirects) {
    if (isHarmlessSink(target) || target.isPipe === true || target.kind !== 'literal') continue
    const problem =
      direction === 'out'
        ? changeProblem({ word: target, isTree: false, isWritten: true }, whereabouts, { book, why: noRuleForWriting })
        : readProblem(target, false, whereabouts, book)
    if (problem !== undefined) return problem
  }
  for (const simple of analysis.commands) {
    const problem = commandProblem(simple, whereabouts, book)
    if (problem !== undefined) return problem
  }
  return undefined
}

function commandProblem(simple: SimpleCommand, whereabouts: Whereabouts, book: RuleBook): string | undefined {
  const words = innermost(simple)
  const folders = isGit(words) ? gitFolders(words) : []
  for (const effect of [...folders.map((word): Effect => ({ kind: 'list', word })), ...effectsOfCommand(simple)]) {
    if (!('word' in effect)) continue
    const { kind, word } = effect
    // The move itself counts as a change.
    if (kind === 'relocate') continue
    const isWrite = kind === 'write' || kind === 'write tree'
    const problem = isWrite
      ? changeProblem(
          { word, isTree: kind === 'write tree', isWritten: !nameChangers.test(words[0]?.value ?? '') },
          whereabouts,
          { book, why: noRuleForChanging },
        )
      : readProblem(word, kind === 'list', whereabouts, book)
    if (problem !== undefined) return problem
  }
  if (effectsOfCommand(simple).every(({ kind }) => kind !== 'unknown')) return undefined
  const { words: changed, isTree } = changedOperands(simple)
  for (const word of changed) {
    const isWritten = !nameChangers.test(words[0]?.value ?? '')
    const problem = changeProblem({ word, isTree, isWritten }, whereabouts, { book, why: noRuleForChanging })
    if (problem !== undefined) return problem
  }
  return undefined
}

/** These programs affect the given name of a file, not its other names. */
const nameChangers = /^(?:rm|rmdir|unlink|mkdir|mv)$/

/** The folder for files of the session: confined commands can write there. */
const temporary = '/tmp'

/** Whether confined commands write there. The home folder and read-only folders may be in it too. */
function isVisible(path: string, { directories, readableFolders, env }: RuleBook): boolean {
  const home = env['HOME'] ?? ''
  const readOnlyPlaces = [...readableFolders, ...(home === '' ? [] : [home])].flatMap(bothEnds)
  return bothEnds(path).every(
    (end) =>
      directories.some((folder) => isInside(end, folder)) ||
      (isInside(end, temporary) && !readOnlyPlaces.some((folder) => folder !== temporary && isInside(end, folder))),
  )
}

function readProblem(word: ShellWord, isListed: boolean, whereabouts: Whereabouts, book: RuleBook): string | undefined {
  const { paths, below } = placesOf(word, whereabouts)
  const closed = [...paths, ...below].find(
    (path) =>
      !isVisible(path, book) &&
      !isPathAllowed(book, readAccess, path) &&
      withoutLookupCache(() => book.wall?.reads(path, isListed)) !== true,
  )
  return closed === undefined ? undefined : noRuleForReading(closed)
}

interface ChangedWord {
  readonly word: ShellWord
  /** Whether everything below the path changes. */
  readonly isTree: boolean
  /** Whether the content of the file changes, and with it that of all hard links to the file. */
  readonly isWritten: boolean
}

function changeProblem(
  { word, isTree, isWritten }: ChangedWord,
  whereabouts: Whereabouts,
  { book, why }: { readonly book: RuleBook; readonly why: (path: string) => string },
): string | undefined {
  if (word.kind === 'dynamic') return undefined
  const { paths, below } = placesOf(word, whereabouts)
  const closed = [...paths, ...below].find((path) => !isVisible(path, book))
  if (closed !== undefined) return why(closed)
  for (const path of paths) {
    const own = bothEnds(path).filter((end) => book.directories.some((folder) => isInside(end, folder)))
    if (own.some((end) => isProtected(end, book.directories))) return why(path)
    if (isWritten && isHardLinked(path)) return hasHardLinks
    if (!isTree || own.length === 0) continue
    if (book.directories.includes(path)) return changesWholeFolder
    if (containsProtected(path, book.directories)) return containsProtectedFiles(path)
  }
  return undefined
}

/** Whether the line shows everything that a command changes, except what writes to a repository. */
export function areChangesKnown(simple: SimpleCommand): boolean {
  return effectsOfCommand(simple).every((effect) => {
    // A matching name may be an option that makes the program write.
    if ('word' in effect && effect.word.couldBeOption === true) return false
    if (effect.kind === 'write' || effect.kind === 'write tree') return effect.word.kind !== 'dynamic'
    return effect.kind === 'relocate' || isHarmlessEffect(effect)
  })
}
