import type { SessionRow } from '@halting/analysis/view'
import { endingOf, ownRuns } from './row-kinds.ts'

/** The columns of the table; each can be sorted by. */
export type ColumnName =
  | 'title'
  | 'ending'
  | 'costUsd'
  | 'turns'
  | 'tokens'
  | 'activeMs'
  | 'calls'
  | 'failedCalls'
  | 'runs'
  | 'models'
  | 'cwd'
  | 'program'
  | 'changedAt'

export const columnNames: readonly ColumnName[] = [
  'title',
  'ending',
  'costUsd',
  'turns',
  'tokens',
  'activeMs',
  'calls',
  'failedCalls',
  'runs',
  'models',
  'cwd',
  'program',
  'changedAt',
]

export interface Sorting {
  readonly by: ColumnName
  readonly isDown: boolean
}

/** Default sorting: the newest first. */
export const usualSorting: Sorting = { by: 'changedAt', isDown: true }

/** Sorts by a column: text ascending and figures descending at first; again in the other direction. */
export function sortingBy(by: ColumnName, before: Sorting): Sorting {
  if (before.by === by) return { by, isDown: !before.isDown }
  return { by, isDown: !['title', 'ending', 'models', 'cwd', 'program'].includes(by) }
}

/** Compares two rows. A total order: ties are broken by key. */
export function compareRows(a: SessionRow, b: SessionRow, { by, isDown }: Sorting): number {
  const first = valueOf(a, by)
  const second = valueOf(b, by)
  // Missing values come last in both directions.
  if (first === null || second === null) {
    if (first !== second) return first === null ? 1 : -1
  } else if (first !== second) {
    return first < second === isDown ? 1 : -1
  }
  return a.key < b.key ? -1 : Number(a.key > b.key)
}

function valueOf(row: SessionRow, by: ColumnName): string | number | null {
  switch (by) {
    case 'title':
      return row.title.toLowerCase()
    case 'ending':
      return endingOf(row)
    case 'models':
      return row.models.join(' ')
    case 'runs':
      return ownRuns(row)
    default:
      return row[by]
  }
}

/** All rows in order. */
export function sorted(rows: readonly SessionRow[], sorting: Sorting): readonly SessionRow[] {
  return rows.toSorted((a, b) => compareRows(a, b, sorting))
}

/**
 * Rows that were already listed keep their order; new ones are inserted by the sorting. So a session that changes does not jump while someone reads
 * the list.
 */
export function mergedInPlace(
  before: readonly string[],
  rows: readonly SessionRow[],
  sorting: Sorting,
): readonly SessionRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const remaining = before.flatMap((key) => byKey.get(key) ?? [])
  const known = new Set(before)
  const added = sorted(
    rows.filter(({ key }) => !known.has(key)),
    sorting,
  )
  if (added.length === 0) return remaining
  const merged: SessionRow[] = []
  let next = 0
  for (const row of remaining) {
    for (let each = added[next]; each !== undefined && compareRows(each, row, sorting) < 0; each = added[next]) {
      merged.push(each)
      next++
    }
    merged.push(row)
  }
  return [...merged, ...added.slice(next)]
}

/** Whether the rows are sorted. */
export function isSorted(rows: readonly SessionRow[], sorting: Sorting): boolean {
  return rows.every((row, index) => {
    const before = rows[index - 1]
    return before === undefined || compareRows(before, row, sorting) < 0
  })
}
