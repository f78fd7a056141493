import type { SessionRow } from '@halting/analysis/view'
import { paragraph } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { maxPictureRows, table, type PictureCell } from '../picture/table.ts'
import { columns, statusColor } from './columns.tsx'
import { filterChips } from './filter-text.ts'
import type { SessionFilter } from './filter.ts'
import type { Outlier } from './outliers.ts'
import type { Sorting } from './sorting.ts'
import { sumsOf, sumTexts } from './sums.ts'

/** The list as shown. */
export interface PicturedList {
  readonly shown: readonly SessionRow[]
  /** Total number of sessions. */
  readonly all: number
  readonly filter: SessionFilter
  readonly sorting: Sorting
  readonly outliers: ReadonlyMap<string, readonly Outlier[]>
  /** The text of the search in content; '' for none. */
  readonly contentText: string
}

/** The active filters, as a line for a picture. */
export function filterText(filter: SessionFilter, contentText: string): string {
  const chips = filterChips(filter).map(({ text }) => text)
  const conditions = [...chips, ...(contentText === '' ? [] : [`“${contentText}” in the content`])]
  return conditions.length === 0 ? 'All sessions.' : `Sessions with: ${conditions.join('; ')}.`
}

/** A picture of the table of sessions with its sums. */
export function pictureOfSessions({ shown, all, filter, sorting, outliers, contentText }: PicturedList): Picture {
  const { shown: count, figures, copies, unpriced, unread } = sumTexts(sumsOf(shown), all)
  const sortedBy = columns.find(({ name }) => name === sorting.by)?.title.toLowerCase() ?? sorting.by
  const rows = shown.slice(0, maxPictureRows).map((row): readonly PictureCell[] => [
    { text: outliers.has(row.key) ? '!' : '', color: 'warn' },
    ...columns.map(({ name, text }): PictureCell => ({
      text: text(row),
      ...(name === 'ending' && { mark: statusColor(row) }),
    })),
  ])
  const marked = rows.some(([mark]) => mark?.text !== '') ? ' ! marks an outlier.' : ''
  return {
    title: 'Sessions',
    about: [
      filterText(filter, contentText),
      `Sorted by ${sortedBy}, ${sorting.isDown ? 'descending' : 'ascending'}.${marked}`,
    ],
    width: 1_400,
    blocks: [
      paragraph([`${count}: ${figures}`, copies, unpriced, unread].filter((text) => text !== '').join(' · ')),
      table({
        columns: [{ title: '' }, ...columns.map(({ title, isNumber }) => ({ title, isNumber }))],
        rows,
        total: { count: shown.length, name: 'sessions' },
      }),
    ],
  }
}
