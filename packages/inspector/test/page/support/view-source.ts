import type { SessionView } from '@halting/analysis/view'
import { type SessionSource } from '../../../src/index.ts'

/** A source that has these views and no records. */
export function viewSource(views: readonly SessionView[]): SessionSource {
  return {
    title: 'sessions of a test',
    async *list() {
      for (const { row } of views) yield await Promise.resolve(row)
    },
    row: (key) => Promise.resolve(views.find((view) => view.row.key === key)?.row),
    session: (key) => Promise.resolve(views.find(({ row }) => row.key === key)),
    records: () => Promise.resolve([]),
    parts: () => Promise.resolve([]),
    watch: () => () => undefined,
  }
}
