import type { SessionRow } from '@halting/analysis/view'
import { endingOf, ownRuns } from './row-kinds.ts'

/** The columns of the table, each of which sorts it. */
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

/** The newest first. */
export const usualSorting: Sorting = { by: 'changedAt', isDown: true }

/** Words ascend at first, figures descend. */
export function sortingBy(by: ColumnName, before: Sorting): Sorting {
  if (before.by === by) return { by, isDown: !before.isDown }
  return { by, isDown: !['title', 'ending', 'models', 'cwd', 'program'].includes(by) }
}

/** Below zero where the first row stands before the second one. A total order: rows that agree stand by their keys. */
export function compared(a: SessionRow, b: SessionRow, { by, isDown }: Sorting): number {
  const first = valueOf(a, by)
  const second = valueOf(b, by)
  // What has no value is last either way.
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
  return rows.toSorted((a, b) => compared(a, b, sorting))
}

/**
 * Rows that stood somewhere keep their order; those that came stand where the sorting wants them. A session that changes while somebody looks does not jump:
 * a person sorts again when they want that.
 */
export function keptInPlace(
  before: readonly string[],
  rows: readonly SessionRow[],
  sorting: Sorting,
): readonly SessionRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const stayed = before.flatMap((key) => byKey.get(key) ?? [])
  const stood = new Set(before)
  const came = sorted(
    rows.filter(({ key }) => !stood.has(key)),
    sorting,
  )
  if (came.length === 0) return stayed
  const merged: SessionRow[] = []
  let next = 0
  for (const row of stayed) {
    for (let each = came[next]; each !== undefined && compared(each, row, sorting) < 0; each = came[next]) {
      merged.push(each)
      next++
    }
    merged.push(row)
  }
  return [...merged, ...came.slice(next)]
}

/** Whether rows stand as the sorting wants them. */
export function isSorted(rows: readonly SessionRow[], sorting: Sorting): boolean {
  return rows.every((row, index) => {
    const before = rows[index - 1]
    return before === undefined || compared(before, row, sorting) < 0
  })
}
