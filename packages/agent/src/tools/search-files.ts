import { dirname, resolve } from 'node:path'
import type { ToolContext, ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { type HasTool, toolsOfCaller } from './available-tools.ts'
import { errorResult } from './result.ts'
import { runRipgrep, searchNote, withoutVersionControl } from './ripgrep.ts'
import { isHidden, type Root, searchRoot } from './search-root.ts'
import {
  allSkipped,
  escapeHint,
  filterWords,
  ignoredFiles,
  interrupted,
  literalPipe,
  noMatches,
  noRipgrep,
  resultsCut,
  searchByBash,
  searchFailed,
  tryIgnoringCase,
  tryOtherFolder,
  tryWithoutFilters,
  useGlob,
  bracketsAsName,
  globNote,
  globSameLooking,
  noNameFitsGlob,
} from './search-texts.ts'
import { displayName, exactPath } from './display-name.ts'
import type { Workspace } from './workspace.ts'
import { mayHaveLookAlikes } from '@halting/policy/files'
import { BestNames, globOfPath, rankedGlob } from './ranked-names.ts'

/** What the Grep tool returns: files, lines, or the number of matches. */
export type GrepMode = 'files_with_matches' | 'content' | 'count'

/** Input of the Grep tool. */
export interface GrepInput {
  /** A regular expression. */
  readonly pattern: string
  /** File or folder to search (default: the working directory). */
  readonly path?: string
  /** Only files that match this glob pattern. */
  readonly glob?: string
  /** Only files of this type, such as `js`. */
  readonly type?: string
  /** What to show of the matches (default: the names of the files). */
  readonly output_mode?: GrepMode
  /** Lines to show after each match. */
  readonly '-A'?: number
  /** Lines to show before each match. */
  readonly '-B'?: number
  /** Lines to show before and after each match. */
  readonly '-C'?: number
  /** Show line numbers (default: true). */
  readonly '-n'?: boolean
  /** Ignore case (default: false). */
  readonly '-i'?: boolean
  /** Maximum number of lines or files to show. */
  readonly head_limit?: number
  /** Lines or files to skip before the first one that is shown. */
  readonly offset?: number
  /** Let the pattern match across lines (default: false). */
  readonly multiline?: boolean
}

const longestLine = 500

function argumentsOf(input: GrepInput, mode: GrepMode, globs: readonly string[]): readonly string[] {
  const around = (name: '-A' | '-B' | '-C'): readonly string[] =>
    input[name] === undefined ? [] : [name, String(input[name])]
  const shape: Readonly<Record<GrepMode, readonly string[]>> = {
    files_with_matches: ['--files-with-matches', '--sortr=modified'],
    count: ['--count', '--with-filename', '--sort=path'],
    content: [
      '--with-filename',
      '--no-heading',
      // A stable order: parallel search would shuffle the files.
      '--sort=path',
      `--max-columns=${longestLine}`,
      '--max-columns-preview',
      input['-n'] === false ? '--no-line-number' : '--line-number',
      ...around('-A'),
      ...around('-B'),
      ...around('-C'),
    ],
  }
  return [
    '--null',
    ...shape[mode],
    ...(input['-i'] === true ? ['--ignore-case'] : []),
    ...(input.multiline === true ? ['--multiline', '--multiline-dotall'] : []),
    ...globs.map((glob) => `--glob=${glob}`),
    ...withoutVersionControl,
    ...(input.type === undefined ? [] : [`--type=${input.type}`]),
    '--regexp',
    input.pattern,
  ]
}

/** Executes Grep. */
export async function searchFiles(input: GrepInput, workspace: Workspace, context: ToolContext): Promise<ToolOutput> {
  const { signal, rights } = context
  const has = toolsOfCaller(rights)
  const root = await searchRoot(input.path, workspace, context)
  if (root.kind === 'refused') return errorResult(root.why)
  const mode = input.output_mode ?? 'files_with_matches'
  const bounds = { skipped: input.offset ?? 0, most: input.head_limit || Number.POSITIVE_INFINITY }
  const taken = new TakenLines(mode, root, bounds, { workspace, rights })
  const { globs, note } = await chosenGlobs(input.glob, root, workspace, context)
  const args = [...argumentsOf(input, mode, globs), '--', ...(root.isDirectory ? ['./'] : [])]
  const end = await runRipgrep({ args, ...whereOf(root), signal, limitMs: workspace.limits.searchMs }, (text) =>
    taken.take(text),
  )
  if (end.kind === 'aborted') return errorResult(interrupted)
  if (end.kind === 'failed' && taken.lines.length === 0)
    return errorResult(searchFailed('Grep', end.why) + hintOfFailure(end.why, input, has))
  const { lines, isCut } = taken
  const details = { mode, numLines: lines.length, numFiles: taken.files.size, truncated: isCut }
  const problem = note + searchNote(end, workspace.limits.searchMs)
  if (lines.length === 0)
    return { content: nothingFound(input, taken, root, { cwd: workspace.cwd, has }) + problem, details }
  const more = isCut ? `\n\n${resultsCut(lines.length, bounds.skipped + lines.length)}` : ''
  return { content: lines.join('\n') + more + problem, details }
}

function hintOfFailure(why: string, { type }: GrepInput, has: HasTool): string {
  if (why === noRipgrep) return has('Bash') ? searchByBash : ''
  if (/unrecognized file type/.test(why) && type !== undefined) return `\n${useGlob(type)}`
  return /regex parse error/.test(why) ? `\n${escapeHint(has)}` : ''
}

/** Maximum number of hints. Often no match was expected: longer advice costs more than it helps. */
const maxHints = 2

/** What was searched, and what to try next. */
function nothingFound(
  input: GrepInput,
  { hasSkipped }: TakenLines,
  root: Root,
  { cwd, has }: { readonly cwd: string; readonly has: HasTool },
): string {
  const { pattern, glob, type, offset = 0 } = input
  if (hasSkipped) return allSkipped(offset)
  const filters = [
    ...(glob === undefined ? [] : [`${filterWords.glob} ${glob}`]),
    ...(type === undefined ? [] : [`${filterWords.type} ${type}`]),
  ]
  const hints = [
    ...(/\\\|/.test(pattern) ? [literalPipe] : []),
    ...(filters.length > 0 ? [tryWithoutFilters] : []),
    ...(root.path === cwd ? [] : [tryOtherFolder(cwd)]),
    ...(input['-i'] !== true && /\p{L}/u.test(pattern) ? [tryIgnoringCase] : []),
    ignoredFiles(has),
  ]
  return noMatches(pattern, root.path, filters.join(filterWords.and), hints.slice(0, maxHints).join(''))
}

function whereOf({ real, isDirectory }: Root): { readonly cwd: string; readonly file?: string } {
  return isDirectory ? { cwd: real } : { cwd: dirname(real), file: real }
}

/** Lines in which ripgrep puts no NUL after the name: separators between groups, and notes about binary files. */
const namelessLine =
  /^(?:--|([^\0\n]*): (?:binary file matches|WARNING: stopped searching binary file after match) \(found .* around offset \d+\))$/

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return end === -1 || end - start > 5000 ? '' : text.slice(start, end)
}

interface Place {
  readonly workspace: Workspace
  readonly rights: ToolContext['rights']
}

/** Number of lines to skip, and number of lines to show after them. */
interface Bounds {
  readonly skipped: number
  readonly most: number
}

/** Splits ripgrep's output, omits hidden paths, and stops at the limits. */
class TakenLines {
  readonly lines: string[] = []
  readonly files = new Set<string>()
  isCut = false
  /** Whether the offset skipped results. */
  hasSkipped = false
  readonly #mode: GrepMode
  readonly #root: Root
  readonly #maxLines: number
  /** Lines that are still to be skipped. */
  #toSkip: number
  readonly #workspace: Workspace
  readonly #rights: Place['rights']
  #rest = ''
  #characters = 0

  constructor(mode: GrepMode, root: Root, { skipped, most }: Bounds, { workspace, rights }: Place) {
    this.#rights = rights
    this.#mode = mode
    this.#root = root
    this.#maxLines = most
    this.#toSkip = skipped
    this.#workspace = workspace
  }

  take(text: string): 'more' | 'enough' {
    const { records, rest } = this.#recordsIn(this.#rest + text)
    this.#rest = rest
    for (const record of records) {
      const line = this.#shown(record)
      if (line === undefined) continue
      if (this.#toSkip > 0) {
        this.#toSkip -= 1
        this.hasSkipped = true
        continue
      }
      this.isCut =
        this.lines.length >= this.#maxLines || this.#characters + line.length > this.#workspace.limits.searchCharacters
      if (this.isCut) return 'enough'
      this.lines.push(line)
      this.#characters += line.length + 1
    }
    return 'more'
  }

  /**
   * Splits output into records: one record per line, or a name only. A name may contain line breaks, so it ends with a
   * NUL.
   */
  #recordsIn(text: string): { readonly records: readonly string[]; readonly rest: string } {
    const records: string[] = []
    let start = 0
    for (;;) {
      const isNameless = this.#mode === 'content' && namelessLine.test(lineAt(text, start))
      const nameEnd = isNameless ? start : text.indexOf('\0', start)
      const end = this.#mode === 'files_with_matches' || nameEnd === -1 ? nameEnd : text.indexOf('\n', nameEnd)
      if (end === -1) return { records, rest: text.slice(start) }
      records.push(text.slice(start, end))
      start = end + 1
    }
  }

  /** Formats `path NUL rest` as `path:rest` for a match; undefined if the path is hidden. */
  #shown(record: string): string | undefined {
    if (this.#mode === 'files_with_matches') return this.#path(record)
    const end = record.indexOf('\0')
    const binary = namelessLine.exec(record)?.[1]
    if (end === -1 && binary !== undefined) {
      const path = this.#path(binary)
      return path === undefined ? undefined : `${path}: ${record.slice(binary.length + 2)}`
    }
    // A separator between groups of lines.
    if (end === -1) return record === '--' && this.lines.length > 0 && this.lines.at(-1) !== '--' ? record : undefined
    const path = this.#path(record.slice(0, end))
    const line = headOf(record.slice(end + 1).replace(/\r$/, ''), longestLine * 2)
    const separator = /^\d+-/.test(line) ? '-' : ':'
    return path === undefined ? undefined : path + separator + line
  }

  #path(name: string): string | undefined {
    const { path, isDirectory } = this.#root
    if (isHidden(name, this.#root, this.#workspace, this.#rights)) return undefined
    const file = isDirectory ? resolve(path, name) : path
    this.files.add(file)
    return displayName(file, this.#workspace.cwd)
  }
}

/** The globs for ripgrep, and a note for the model about how its own glob was interpreted. */
interface ChosenGlobs {
  readonly globs: readonly string[]
  readonly note: string
}

/**
 * Decides how an ambiguous glob of a search is read: brackets may be part of a name, and a name may have look-alike
 * characters. The existing names decide, as for Glob.
 */
async function chosenGlobs(
  glob: string | undefined,
  root: Root,
  workspace: Workspace,
  { signal, rights }: Pick<ToolContext, 'signal' | 'rights'>,
): Promise<ChosenGlobs> {
  if (glob === undefined) return { globs: [], note: '' }
  const asWritten = { globs: [glob], note: '' }
  const isNegated = glob.startsWith('!')
  const ranked = rankedGlob(isNegated ? glob.slice(1) : glob)
  if (ranked === undefined || !root.isDirectory) return asWritten
  const { readings } = ranked
  if (readings.length === 1 && !mayHaveLookAlikes(glob)) return asWritten
  // Excluding too much of what the call named is what the call requested.
  if (isNegated) return { globs: readings.map((reading) => `!${reading}`), note: '' }
  const names = new BestNames(ranked)
  let rest = ''
  const args = ['--files', '--null', ...withoutVersionControl]
  const end = await runRipgrep({ args, cwd: root.real, signal, limitMs: workspace.limits.searchMs }, (text) => {
    const found = (rest + text).split('\0')
    rest = found.pop() ?? ''
    for (const name of found)
      if (ranked.fitOf(name) !== undefined && !isHidden(name, root, workspace, rights)) names.take(name)
    return 'more'
  })
  const { best, passedOver, lookAlikes } = names
  if (end.kind !== 'done') return { globs: readings, note: '' }
  if (best !== undefined)
    return { globs: [best], note: passedOver > 0 ? `\n\n${globNote(bracketsAsName(passedOver))}` : '' }
  const [only, ...others] = lookAlikes
  if (only === undefined) return asWritten
  const listed = lookAlikes.map(exactPath).join(', ')
  return others.length > 0
    ? { globs: [glob], note: `\n\n${noNameFitsGlob(listed)}` }
    : { globs: [globOfPath(only)], note: `\n\n${globSameLooking(listed)}` }
}
