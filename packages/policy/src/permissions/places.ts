import { join, sep } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { matchesPath, globPattern } from '../files/glob-pattern.ts'
import { allEntries } from '../files/first-entries.ts'
import { cachedPerJudgement } from '../files/lookup-cache.ts'
import { absolutePath, isExactPath, kernelPath } from '../files/paths.ts'
import type { ShellAnalysis, SimpleCommand } from '../shell/analysis.ts'
import { isReadOnlyAnalysis } from '../shell/read-only.ts'
import { literalWord } from '../shell/read-grammar.ts'
import { memoizeByObject } from '../shell/memoize.ts'
import type { ShellWord } from '../shell/words.ts'
import { formsOf } from '../shell/wrappers.ts'

/** The directories in which a command may run: the one of the shell, and the targets of each `cd` in the line. */
export interface Whereabouts {
  readonly directories: readonly string[]
  /** Whether a `cd` has an unknown target: then relative paths are unknown too. */
  readonly isUnknown: boolean
}

const maxDirectories = 6

export const whereaboutsOf: (analysis: ShellAnalysis, shellDirectory: string) => Whereabouts = cachedPerJudgement(
  (analysis, shellDirectory) => {
    let directories: readonly string[] = [shellDirectory]
    let isUnknown = false
    for (const command of analysis.commands) {
      const [name, ...args] = innermost(command)
      if (name === undefined || !movers.has(name.value)) continue
      const targets = args.filter((word) => word.value !== '--' && word.value !== '-P' && word.value !== '-L')
      const [target] = targets
      const isKnown =
        name.value === 'cd' &&
        targets.length === 1 &&
        target?.kind === 'literal' &&
        !target.value.startsWith('-') &&
        isExactPath(target.value)
      if (!isKnown) isUnknown = true
      else if (isUnknown) break
      else {
        // The shell resolves the path as text, or on disk with -P.
        const destinations = directories.flatMap((from) => [
          absolutePath(target.value, from),
          kernelPath(target.value, from),
        ])
        const all = [...new Set([...directories, ...destinations])]
        if (all.length > maxDirectories) isUnknown = true
        else directories = all
      }
    }
    return { directories, isUnknown }
  },
)

const movers: ReadonlySet<string> = new Set(['cd', 'pushd', 'popd'])

export function innermost(command: SimpleCommand): readonly ShellWord[] {
  return formsOf(command.words).at(-1) ?? []
}

/** The paths that a word may name. */
export interface Places {
  /** Resolved as text and on disk; for a pattern, every name that currently matches. */
  readonly paths: readonly string[]
  /** The folders in which a pattern finds names: more names may exist when the command runs. */
  readonly below: readonly string[]
  /** A pattern for such names directly in that folder; character classes become `?`. */
  readonly names?: string
  /** Whether the word may name other paths: its value, or the directory of the command, is only known at run time. */
  readonly isUnknown: boolean
}

const noPlaces: Places = { paths: [], below: [], isUnknown: true }

/** Every path that a word may mean. */
export const placesOf: (word: ShellWord, whereabouts: Whereabouts) => Places = cachedPerJudgement(
  (word, whereabouts) => {
    if (word.kind === 'dynamic' || word.value.split('/').length > maxSegments) return noPlaces
    // The word has bytes that are not UTF-8, as in `$'\xff'`: the file that it names cannot be inspected.
    if (!isExactPath(word.value)) return noPlaces
    const isAbsolute = /^(?:\/|~(?:\/|$))/.test(word.value)
    const directories = isAbsolute ? ['/'] : whereabouts.directories
    const isUnknown = !isAbsolute && whereabouts.isUnknown
    if (word.kind === 'literal') {
      const paths = directories.flatMap((from) => [absolutePath(word.value, from), ...kernelPaths(word.value, from)])
      return {
        paths: paths.length === 1 ? paths : [...new Set(paths)],
        below: [],
        isUnknown: isUnknown || paths.some(isProcessLink),
      }
    }
    const segments = word.value.split('/')
    const first = segments.findIndex((segment) => /[*?[\]\\]/.test(segment))
    const stem = segments.slice(0, first).join('/')
    const folder = stem === '' ? (word.value.startsWith('/') ? '/' : '.') : stem
    const rest = segments.slice(first).filter((segment) => segment !== '' && segment !== '.')
    const below = [...new Set(directories.flatMap((from) => [absolutePath(folder, from), kernelPath(folder, from)]))]
    // The pattern leaves the folders that it matches, by `..`.
    if (rest.includes('..')) return { paths: [], below, isUnknown: true }
    const found = below.map((from) => expandPattern(rest, from))
    const ofProcesses = below.flatMap((from) => pathOfAnyProcess(rest, from))
    return {
      paths: [...new Set([...found.flatMap((names) => names ?? []), ...ofProcesses])],
      below,
      ...(rest.length === 1 && { names: loosePattern(rest[0] ?? '') }),
      isUnknown: isUnknown || found.includes(undefined),
    }
  },
)

/** The path as the kernel resolves it, if that may differ from its text. */
function kernelPaths(path: string, from: string): readonly string[] {
  return sep !== '/' || path.includes('..') || /^[./~]*$/.test(path) ? [kernelPath(path, from)] : []
}

/** For deny rules it is enough that a word may mean the path: in any known directory, with a pattern also read as a literal name. */
export function possiblePlaces(word: ShellWord, whereabouts: Whereabouts): readonly string[] {
  const guess = whereabouts.isUnknown ? possiblePlacesOf(whereabouts) : whereabouts
  const { paths } = placesOf(word, guess)
  return word.kind === 'glob' ? [...paths, ...placesOf(literalWord(word.value), guess).paths] : paths
}

const possiblePlacesOf = memoizeByObject((whereabouts: Whereabouts): Whereabouts => ({
  ...whereabouts,
  isUnknown: false,
}))

/** Whether a line changes no file names, so that patterns match the names that exist now. */
export function changesNoNames(analysis: ShellAnalysis, env: Readonly<Record<string, string | undefined>>): boolean {
  return (
    isReadOnlyAnalysis(analysis) && ['GLOBIGNORE', 'BASHOPTS', 'SHELLOPTS'].every((name) => env[name] === undefined)
  )
}

/** Links that have another target for each process. */
function isProcessLink(path: string): boolean {
  return /^\/proc\/[^/]+\/(?:cwd|root|fd|task|map_files|exe)\b/.test(path)
}

/** Maximum number of folders in a pattern: each of them is listed. */
const maxSegments = 40

const maxNames = 2000
/** Maximum number of names of a folder that are checked. */
const maxEntries = 50_000

/** The existing names that match; a character class matches any character. Undefined if there are too many, or if names are not UTF-8. */
function expandPattern(segments: readonly string[], from: string): readonly string[] | undefined {
  let places: readonly string[] = [from]
  for (const segment of segments) {
    const loose = loosePattern(segment)
    const pattern = globPattern(loose)
    const names = places.map(namesIn)
    if (names.includes(undefined)) return undefined
    places = places.flatMap((place, at) =>
      // Shells before bash 5.2 also match the parent folder.
      [...(names[at] ?? []), ...(loose.startsWith('.') && /[?*]/.test(loose) ? ['..'] : [])]
        .filter(
          (name) =>
            (loose.startsWith('.') || loose.startsWith('?') || !name.startsWith('.')) && matchesPath(pattern, [name]),
        )
        .map((name) => join(place, name)),
    )
    if (places.length > maxNames) return undefined
  }
  return places
}

/** A looser pattern: escapes remain, and two asterisks are equal to one, as in bash. */
function loosePattern(segment: string): string {
  return segment.replaceAll(/\\.|\[[!^]?\]?[^\]]*\]|\*+/gs, (part) =>
    part.startsWith('\\') ? part : part.startsWith('*') ? '*' : '?',
  )
}

/** Errors of folders that nobody can list: they have no names. */
const unlistableErrors: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'ELOOP',
  'ENAMETOOLONG',
  'ESRCH',
])

/**
 * The names in a folder. Undefined if there are too many, if one is not UTF-8, and if this process cannot list a folder
 * that a command could list, for example without a free descriptor.
 */
function namesIn(folder: string): readonly string[] | undefined {
  try {
    return allEntries(folder, maxEntries)?.map(({ name }) => name)
  } catch (error) {
    return unlistableErrors.has(codeOf(error)) ? [] : undefined
  }
}

// Spec R-RULE-7d.
/**
 * A pattern in a folder, read as a path through any future process if it may match one: the matching paths cannot be
 * derived from the current processes.
 */
function pathOfAnyProcess(segments: readonly string[], from: string): readonly string[] {
  const [first = '', ...rest] = segments
  if (from === '/' && rest.length > 0 && nameMatchesLoosely(first, 'proc')) return pathOfAnyProcess(rest, '/proc')
  if (from !== '/proc') return []
  const isNumber = /^(?:[\d?*]|\\\d)+$/.test(loosePattern(first))
  const isProcess = isNumber || ['self', 'thread-self'].some((name) => nameMatchesLoosely(first, name))
  return isProcess ? [join(from, '*', ...rest)] : []
}

function nameMatchesLoosely(segment: string, name: string): boolean {
  return matchesPath(globPattern(loosePattern(segment)), [name])
}
