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

/** Where a command may be running: the shell's directory, and wherever a `cd` in the same line may have led. */
export interface Whereabouts {
  readonly directories: readonly string[]
  /** A `cd` leads somewhere that is not known: relative paths then mean nothing. */
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
        // The shell goes by text, and with -P by the disk.
        const led = directories.flatMap((from) => [absolutePath(target.value, from), kernelPath(target.value, from)])
        const all = [...new Set([...directories, ...led])]
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

/** What a word leads to. */
export interface Places {
  /** By text and by the disk; of a pattern, every name that fits it now. */
  readonly paths: readonly string[]
  /** The folder in which a pattern finds names: there may be others when the command runs. */
  readonly below: readonly string[]
  /** What such names look like, where they lie in that folder itself; classes of characters are `?`. */
  readonly names?: string
  /** It may lead elsewhere: what it holds, or where the command runs, is known only when it runs. */
  readonly isUnknown: boolean
}

const nowhere: Places = { paths: [], below: [], isUnknown: true }

/** Every place that a word may mean as a path. */
export const placesOf: (word: ShellWord, whereabouts: Whereabouts) => Places = cachedPerJudgement(
  (word, whereabouts) => {
    if (word.kind === 'dynamic' || word.value.split('/').length > maxSegments) return nowhere
    // Bytes that are not UTF-8, as in `$'\xff'`: what they name cannot be looked at.
    if (!isExactPath(word.value)) return nowhere
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
    // It climbs out of the folders that it finds.
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

/** The path as the kernel reads it, where that may be another one than its text tells. */
function kernelPaths(path: string, from: string): readonly string[] {
  return sep !== '/' || path.includes('..') || /^[./~]*$/.test(path) ? [kernelPath(path, from)] : []
}

/** To deny it is enough that a word may mean the path: in any directory that is known, and a pattern also taken as a name. */
export function possiblePlaces(word: ShellWord, whereabouts: Whereabouts): readonly string[] {
  const guess = whereabouts.isUnknown ? possiblePlacesOf(whereabouts) : whereabouts
  const { paths } = placesOf(word, guess)
  return word.kind === 'glob' ? [...paths, ...placesOf(literalWord(word.value), guess).paths] : paths
}

const possiblePlacesOf = memoizeByObject((whereabouts: Whereabouts): Whereabouts => ({
  ...whereabouts,
  isUnknown: false,
}))

/** Whether a line leaves names as they are, and patterns fit those that they always fit. */
export function changesNoNames(analysis: ShellAnalysis, env: Readonly<Record<string, string | undefined>>): boolean {
  return (
    isReadOnlyAnalysis(analysis) && ['GLOBIGNORE', 'BASHOPTS', 'SHELLOPTS'].every((name) => env[name] === undefined)
  )
}

/** Links that mean something else for every process. */
function isProcessLink(path: string): boolean {
  return /^\/proc\/[^/]+\/(?:cwd|root|fd|task|map_files|exe)\b/.test(path)
}

/** Every folder on the way is looked up. */
const maxSegments = 40

const maxNames = 2000
/** So many names of a folder are looked at. */
const maxEntries = 50_000

/** The names on disk that fit; a class in brackets counts as any character. Undefined when there are too many, or some that are not text. */
function expandPattern(segments: readonly string[], from: string): readonly string[] | undefined {
  let places: readonly string[] = [from]
  for (const segment of segments) {
    const loose = loosePattern(segment)
    const pattern = globPattern(loose)
    const names = places.map(namesIn)
    if (names.includes(undefined)) return undefined
    places = places.flatMap((place, at) =>
      // Shells before bash 5.2 find the folder above it, too.
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

/** What is escaped stays; in bash two asterisks are one. */
function loosePattern(segment: string): string {
  return segment.replaceAll(/\\.|\[[!^]?\]?[^\]]*\]|\*+/gs, (part) =>
    part.startsWith('\\') ? part : part.startsWith('*') ? '*' : '?',
  )
}

/** Of a folder that cannot be listed by anybody there are no names. */
const unlistableErrors: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'ELOOP',
  'ENAMETOOLONG',
  'ESRCH',
])

/** Undefined for too many, for names that are not text, and where this process cannot list what a command may, as without a free descriptor. */
function namesIn(folder: string): readonly string[] | undefined {
  try {
    return allEntries(folder, maxEntries)?.map(({ name }) => name)
  } catch (error) {
    return unlistableErrors.has(codeOf(error)) ? [] : undefined
  }
}

// Spec R-RULE-7d.
/** A pattern in a folder as a path through any process that comes to be, where it may name one: what is there now does not tell. */
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
