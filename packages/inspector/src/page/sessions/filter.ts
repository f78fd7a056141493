import type { SessionRow } from '@halting/analysis/view'
import { endingOf, figures, standingOf, type FigureName } from './row-kinds.ts'

/** From this value on, and below that one. Undefined: no bound. */
export interface Range {
  readonly from?: number
  readonly below?: number
}

/** What can be chosen out of the words that rows have. None chosen: all. */
export type WordDimension = 'ending' | 'standing' | 'model' | 'folder' | 'program'
export type RangeDimension = FigureName | 'changedAt'
export type FlagDimension = 'live' | 'problem' | 'outlier'
export type Dimension = 'text' | WordDimension | RangeDimension | FlagDimension

/** Which sessions are shown. A row has to satisfy every dimension that is set. */
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

/** The words of a row by which it is chosen. */
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
 * The rows that are shown. Outliers are found among all rows, so they are handed in by key. One dimension may be left out: a plot of endings shows what the other
 * filters let through, so that another ending can be chosen.
 */
export function rowsShown(
  rows: readonly SessionRow[],
  filter: SessionFilter,
  outliers: ReadonlySet<string>,
  left?: Dimension,
): readonly SessionRow[] {
  // Of thousands none is looked at where nothing is asked, each time that one of them changes.
  return asksNothing(filter, left) ? rows : rows.filter((row) => isShownBut(row, filter, outliers, left))
}

function asksNothing({ text, words, ranges, flags }: SessionFilter, left: Dimension | undefined): boolean {
  return (
    (left === 'text' || text.trim() === '') &&
    wordDimensions.every((each) => each === left || (words[each] ?? []).length === 0) &&
    rangeDimensions.every((each) => each === left || ranges[each] === undefined) &&
    flags.every((each) => each === left)
  )
}

function isShownBut(
  row: SessionRow,
  filter: SessionFilter,
  outliers: ReadonlySet<string>,
  left: Dimension | undefined,
): boolean {
  if (left !== 'text' && !hasText(row, filter.text)) return false
  for (const dimension of wordDimensions) {
    const chosen = filter.words[dimension]
    if (dimension === left || chosen === undefined || chosen.length === 0) continue
    if (!wordsOf(row, dimension).some((word) => chosen.some((each) => holds(dimension, each, word)))) return false
  }
  for (const dimension of rangeDimensions) {
    const range = filter.ranges[dimension]
    if (dimension !== left && range !== undefined && !isIn(row[dimension], range)) return false
  }
  return filter.flags.every((flag) => flag === left || hasFlag(row, flag, outliers))
}

/** A folder holds those below it. */
function holds(dimension: WordDimension, chosen: string, word: string): boolean {
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

/** Every word of it in the title, the folder or the id; letters of either case. */
function hasText(row: SessionRow, text: string): boolean {
  const asked = text.trim().toLowerCase()
  if (asked === '') return true
  const all = `${row.title}\n${row.cwd}\n${row.sessionId}`.toLowerCase()
  return asked.split(/\s+/).every((word) => all.includes(word))
}

/** What has no value is in no range. */
export function isIn(value: number | null, { from = -Infinity, below = Infinity }: Range): boolean {
  return value !== null && value >= from && value < below
}

/** With this word chosen, or no more. */
export function withWord(filter: SessionFilter, dimension: WordDimension, word: string): SessionFilter {
  const chosen = filter.words[dimension] ?? []
  const next = chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word]
  return withWords(filter, dimension, next)
}

export function withWords(filter: SessionFilter, dimension: WordDimension, chosen: readonly string[]): SessionFilter {
  const { [dimension]: _, ...others } = filter.words
  return { ...filter, words: chosen.length === 0 ? others : { ...others, [dimension]: chosen } }
}

/** With this range, or without one. */
export function withRange(filter: SessionFilter, dimension: RangeDimension, range: Range | undefined): SessionFilter {
  const { [dimension]: _, ...others } = filter.ranges
  const isOpen = range === undefined || (range.from === undefined && range.below === undefined)
  return { ...filter, ranges: isOpen ? others : { ...others, [dimension]: range } }
}

export function withFlag(filter: SessionFilter, flag: FlagDimension, isSet: boolean): SessionFilter {
  return { ...filter, flags: flagDimensions.filter((each) => (each === flag ? isSet : filter.flags.includes(each))) }
}
