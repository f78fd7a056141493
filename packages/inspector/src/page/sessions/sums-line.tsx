import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import { sumsOf, sumTexts } from './sums.ts'

interface SumsLineProps {
  readonly rows: readonly SessionRow[]
  /** How many there are in all. */
  readonly all: number
}

/** What the sessions that are shown come to. */
export function SumsLine({ rows, all }: SumsLineProps): JSX.Element {
  const { shown, figures, copies, unpriced, unread } = useMemo(() => sumTexts(sumsOf(rows), all), [rows, all])
  return (
    <p class="sums numbers" role="status">
      <strong>{shown}</strong>: {figures}
      {copies === '' ? null : <span class="soft"> · {copies}</span>}
      {unpriced === '' ? null : <span class="warn"> · {unpriced}</span>}
      {unread === '' ? null : <span class="bad"> · {unread}</span>}
    </p>
  )
}
