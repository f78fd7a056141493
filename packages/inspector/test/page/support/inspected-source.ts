import { transcriptParts, viewOf, type InspectedSession, type SessionRow } from '@halting/analysis/view'
import { type SessionSource } from '../../../src/index.ts'
import { picturedSessions } from '../../support/pictured-sessions.ts'
import { hostileSession } from '../../../../analysis/test/support/sessions.ts'
import type { EveryView } from './every-view.ts'
import { manyRows } from './many-rows.ts'

/** The sessions for tests of every view: those of the pictures, and a hostile one. */
export async function viewedSessions(): Promise<readonly InspectedSession[]> {
  return [...(await picturedSessions()), hostileSession()]
}

export const hostileKey: string = hostileSession().key

/** The data of a view. */
export function sourceFor(view: EveryView, sessions: readonly InspectedSession[]): SessionSource {
  if (view.isEmpty === true) return inspectedSource([])
  return inspectedSource(sessions, view.hasRows === true ? manyRows(400) : [])
}

/** A source over sessions in memory, and rows that only the list has. */
export function inspectedSource(
  sessions: readonly InspectedSession[],
  rows: readonly SessionRow[] = [],
): SessionSource {
  const views = new Map(sessions.map((session) => [session.key, viewOf(session)]))
  const of = (key: string): InspectedSession | undefined => sessions.find((session) => session.key === key)
  return {
    title: 'sessions of a test',
    async *list() {
      for (const { row } of views.values()) yield await Promise.resolve(row)
      yield* rows
    },
    row: (key) => Promise.resolve(views.get(key)?.row),
    session: (key) => Promise.resolve(views.get(key)),
    records: (key, run, from, count) => Promise.resolve(of(key)?.runs[run]?.slice(from, from + count) ?? []),
    parts: (key, run, from, count) => {
      const session = of(key)
      return Promise.resolve(session === undefined ? [] : transcriptParts(session, run).slice(from, from + count))
    },
    watch: () => () => undefined,
  }
}
