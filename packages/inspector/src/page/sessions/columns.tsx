import type { JSX } from 'preact'
import { counted, elapsed, money, visible } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { endingColor, type ColorName } from '../common/colors.ts'
import { addressOf } from '../data/route.ts'
import { dayAndTime } from './figure-text.ts'
import { endingOf, ownRuns, standingOf, standings } from './row-kinds.ts'
import type { ColumnName } from './sorting.ts'

export interface Column {
  readonly name: ColumnName
  readonly title: string
  readonly isNumber: boolean
  /** The content as text. */
  readonly text: (row: SessionRow) => string
  /** The rendered content, if it is more than the text. */
  readonly cell?: (row: SessionRow) => JSX.Element
}

/** The columns in order. Those that do not fit on a narrow screen appear in the details of the selected session. */
export const columns: readonly Column[] = [
  { name: 'title', title: 'Session', isNumber: false, text: titleOf, cell: (row) => <TitleLink row={row} /> },
  { name: 'ending', title: 'Ending', isNumber: false, text: endingText, cell: (row) => <EndingMark row={row} /> },
  { name: 'costUsd', title: 'Dollars', isNumber: true, text: costText },
  { name: 'turns', title: 'Turns', isNumber: true, text: ({ turns }) => counted(turns) },
  { name: 'tokens', title: 'Tokens', isNumber: true, text: ({ tokens }) => counted(tokens) },
  { name: 'activeMs', title: 'Time', isNumber: true, text: ifRead(({ activeMs }) => elapsed(activeMs)) },
  { name: 'calls', title: 'Calls', isNumber: true, text: ifRead(({ calls }) => counted(calls)) },
  { name: 'failedCalls', title: 'Failed', isNumber: true, text: ifRead(({ failedCalls }) => counted(failedCalls)) },
  { name: 'runs', title: 'Runs', isNumber: true, text: runsText },
  { name: 'models', title: 'Models', isNumber: false, text: ifRead(({ models }) => visible(models.join(', '))) },
  { name: 'cwd', title: 'Folder', isNumber: false, text: ifRead(({ cwd }) => visible(cwd)) },
  { name: 'program', title: 'Program', isNumber: false, text: ({ program }) => program },
  {
    name: 'changedAt',
    title: 'Changed',
    isNumber: true,
    text: ({ changedAt }) => (changedAt === null ? '–' : dayAndTime(changedAt)),
  },
]

/** A figure that is unknown when only the status of a session was read. */
function ifRead(text: (row: SessionRow) => string): (row: SessionRow) => string {
  return (row) => (row.isStatusOnly === true ? '–' : text(row))
}

/** The cost of a session, marked as incomplete when a model has no price. */
function costText({ costUsd, unpriced }: SessionRow): string {
  if (unpriced.length === 0) return money(costUsd)
  return costUsd === 0 ? 'no price' : `${money(costUsd)} + ?`
}

/** The number of counted runs, with the number of copies in parentheses. */
function runsText(row: SessionRow): string {
  const own = counted(ownRuns(row))
  return row.copiedRuns === 0 ? own : `${own} (+${counted(row.copiedRuns)})`
}

/** The title of a session, or its id without one. */
export function titleOf({ title, sessionId }: SessionRow): string {
  return visible(title.trim() === '' ? sessionId : title)
}

/** The address of its last run. */
export function sessionAddress({ key, runs }: SessionRow): string {
  return addressOf({ view: 'session', key, run: Math.max(1, runs), tab: 'timeline' })
}

function TitleLink({ row }: { readonly row: SessionRow }): JSX.Element {
  // Keys are handled by the row; the link is for the mouse.
  return (
    <a href={sessionAddress(row)} tabIndex={-1}>
      {titleOf(row)}
    </a>
  )
}

/** The ending, and whether the session is live if the ending does not show it. */
function endingText(row: SessionRow): string {
  const isShownAsLive = row.isLive && standingOf(row) !== 'running'
  return `${visible(endingOf(row))}${isShownAsLive ? ', live' : ''}`
}

/** The colour of the session's status. */
export function statusColor(row: SessionRow): ColorName {
  const standing = standingOf(row)
  return standing === 'running' ? 'accent' : standing === 'unread' ? 'bad' : endingColor(row.exitCode)
}

/** The ending: a mark and a word. */
function EndingMark({ row }: { readonly row: SessionRow }): JSX.Element {
  const standing = standingOf(row)
  return (
    <span class={`ending ending-${standing}`} title={standings[standing]}>
      <span class="mark" aria-hidden="true" style={{ background: `var(--${statusColor(row)})` }} />
      {endingText(row)}
    </span>
  )
}
