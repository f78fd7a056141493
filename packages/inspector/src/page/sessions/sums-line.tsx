import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { counted, elapsed, many, money } from '../../figures.ts'
import type { SessionRow } from '../../view/types.ts'
import { shownOf } from './figure-text.ts'
import { sumsOf } from './sums.ts'

interface SumsLineProps {
  readonly rows: readonly SessionRow[]
  /** How many there are in all. */
  readonly all: number
}

/** What the sessions that are shown come to. */
export function SumsLine({ rows, all }: SumsLineProps): JSX.Element {
  const sums = useMemo(() => sumsOf(rows), [rows])
  const parts = [
    money(sums.costUsd),
    `${counted(sums.tokens)} tokens`,
    many(sums.turns, 'turn'),
    elapsed(sums.activeMs),
    many(sums.runs, 'run'),
    `${many(sums.calls, 'call')}, ${counted(sums.failedCalls)} failed`,
  ]
  return (
    <p class="sums numbers" role="status">
      <strong>{shownOf(sums.sessions, all)}</strong>: {parts.join(' · ')}
      {sums.sessionsUnpriced === 0 ? null : (
        <span class="warn">
          {' '}
          · the dollars leave out {sums.unpriced.join(', ')}, which {sums.unpriced.length === 1 ? 'has' : 'have'} no
          price ({many(sums.sessionsUnpriced, 'session')})
        </span>
      )}
      {sums.unread === 0 ? null : <span class="bad"> · {many(sums.unread, 'session')} could not be read</span>}
    </p>
  )
}
