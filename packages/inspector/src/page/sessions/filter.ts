import type { SessionRow } from '@halting/analysis/view'
import { endingOf, figures, standingOf, type FigureName } from './row-kinds.ts'

/** A half-open range: from the first value, below the second. Undefined: no bound. */
export interface Range {
  readonly from?: number
  readonly below?: number
}

/** Dimensions in which words of rows can be selected. None selected means all. */
export type WordDimension = 'ending' | 'standing' | 'model' | 'folder' | 'program'
export type RangeDimension = FigureName | 'changedAt'
export type FlagDimension = 'live' | 'problem' | 'outlier'
export type Dimension = 'text' | WordDimension | RangeDimension | FlagDimension

/** The filter of the list. A row must satisfy every dimension that is set. */
export interface SessionFilter {
  readonly text: string
  readonly words: { readonly [dimension in WordDimension]?: readonly string[] }
  readonly ranges: { readonly [dimension in RangeDimension]?: Range }
  readonly flags: readonly FlagDimension[]
}

export const noFilter: SessionFilter = { text: '', words: {}, ranges: {}, flags: [] }

export const wordDimensions: readonly WordDimension[] = ['ending', 'standing', 'model', 'folder', 'program']
export const rangeDimensions: readonly RangeDimension[] = [...figures, 'changedAt']
export const flagDimensions: readonly FlagDimension[] = ['live', 'problem', 'outlier']

/** The words of a row in a dimension. */
export function wordsOf(row: SessionRow, dimension: WordDimension): readonly string[] {
  switch (dimension) {
    case 'ending':
      return [endingOf(row)]
    case 'standing':
      return [standingOf(row)]
    case 'model':
      return row.models
    case 'folder':
      return [row.cwd]
    case 'program':
      return [row.program]
  }
}

/**
 * The rows that pass the filter. Outliers are passed in by key, because they are determined among all rows. `left`: a dimension to ignore, so that a
 * distribution of endings shows what the other filters let through.
 */
export function rowsShown(
  rows: readonly SessionRow[],
  filter: SessionFilter,
  outliers: ReadonlySet<string>,
  ignored?: Dimension,
): readonly SessionRow[] {
  // Without an active filter, thousands of rows need not be checked after each change.
  return isInactive(filter, ignored) ? rows : rows.filter((row) => passesFilter(row, filter, outliers, ignored))
}

function isInactive({ text, words, ranges, flags }: SessionFilter, ignored: Dimension | undefined): boolean {
  return (
    (ignored === 'text' || text.trim() === '') &&
    wordDimensions.every((each) => each === ignored || (words[each] ?? []).length === 0) &&
    rangeDimensions.every((each) => each === ignored || ranges[each] === undefined) &&
    flags.every((each) => each === ignored)
  )
}

function passesFilter(
  row: SessionRow,
  filter: SessionFilter,
  outliers: ReadonlySet<string>,
  ignored: Dimension | undefined,
): boolean {
  if (ignored !== 'text' && !hasText(row, filter.text)) return false
  for (const dimension of wordDimensions) {
    const chosen = filter.words[dimension]
    if (dimension === ignored || chosen === undefined || chosen.length === 0) continue
    if (!wordsOf(row, dimension).some((word) => chosen.some((each) => matchesWord(dimension, each, word)))) return false
  }
  for (const dimension of rangeDimensions) {
    const range = filter.ranges[dimension]
    if (dimension !== ignored && range !== undefined && !isInRange(row[dimension], range)) return false
  }
  return filter.flags.every((flag) => flag === ignored || hasFlag(row, flag, outliers))
}

/** Whether a selected word matches. A folder also matches the folders below it. */
function matchesWord(dimension: WordDimension, chosen: string, word: string): boolean {
  if (chosen === word) return true
  return dimension === 'folder' && (word.startsWith(`${chosen}/`) || word.startsWith(`${chosen}\\`))
}

export function hasFlag(row: SessionRow, flag: FlagDimension, outliers: ReadonlySet<string>): boolean {
  switch (flag) {
    case 'live':
      return row.isLive
    case 'problem':
      return row.problem !== undefined || row.unpriced.length > 0
    case 'outlier':
      return outliers.has(row.key)
  }
}

/** Whether the title, the folder or the id contains every word of the text, ignoring case. */
function hasText(row: SessionRow, text: string): boolean {
  const query = text.trim().toLowerCase()
  if (query === '') return true
  const all = `${row.title}\n${row.cwd}\n${row.sessionId}`.toLowerCase()
  return query.split(/\s+/).every((word) => all.includes(word))
}

/** Whether a value is in a range. A missing value is in no range. */
export function isInRange(value: number | null, { from = -Infinity, below = Infinity }: Range): boolean {
  return value !== null && value >= from && value < below
}

/** Adds a word to the selection, or removes it. */
export function withWord(filter: SessionFilter, dimension: WordDimension, word: string): SessionFilter {
  const chosen = filter.words[dimension] ?? []
  const next = chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word]
  return withWords(filter, dimension, next)
}

export function withWords(filter: SessionFilter, dimension: WordDimension, chosen: readonly string[]): SessionFilter {
  const { [dimension]: _, ...others } = filter.words
  return { ...filter, words: chosen.length === 0 ? others : { ...others, [dimension]: chosen } }
}

/** Sets or removes a range. */
export function withRange(filter: SessionFilter, dimension: RangeDimension, range: Range | undefined): SessionFilter {
  const { [dimension]: _, ...others } = filter.ranges
  const isOpen = range === undefined || (range.from === undefined && range.below === undefined)
  return { ...filter, ranges: isOpen ? others : { ...others, [dimension]: range } }
}

export function withFlag(filter: SessionFilter, flag: FlagDimension, isSet: boolean): SessionFilter {
  return { ...filter, flags: flagDimensions.filter((each) => (each === flag ? isSet : filter.flags.includes(each))) }
}
