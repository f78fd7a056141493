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
  /** What stands in it. */
  readonly text: (row: SessionRow) => string
  /** How it is shown, where that is more than its text. */
  readonly cell?: (row: SessionRow) => JSX.Element
}

/** The columns in their order. What does not fit on a narrow screen stands in the details of the chosen session. */
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

/** A figure that only the records of a session tell. */
function ifRead(text: (row: SessionRow) => string): (row: SessionRow) => string {
  return (row) => (row.isStatusOnly === true ? '–' : text(row))
}

/** What a session cost. What has no price is not in it, and the figure says so. */
function costText({ costUsd, unpriced }: SessionRow): string {
  if (unpriced.length === 0) return money(costUsd)
  return costUsd === 0 ? 'no price' : `${money(costUsd)} + ?`
}

/** The runs that count here, and beside them those that are copies. */
function runsText(row: SessionRow): string {
  const own = counted(ownRuns(row))
  return row.copiedRuns === 0 ? own : `${own} (+${counted(row.copiedRuns)})`
}

/** What a session is called; its id where it has no title. */
export function titleOf({ title, sessionId }: SessionRow): string {
  return visible(title.trim() === '' ? sessionId : title)
}

/** Where its last run is looked at. */
export function sessionAddress({ key, runs }: SessionRow): string {
  return addressOf({ view: 'session', key, run: Math.max(1, runs), tab: 'timeline' })
}

function TitleLink({ row }: { readonly row: SessionRow }): JSX.Element {
  // Keys go to the row; the link is for those who point.
  return (
    <a href={sessionAddress(row)} tabIndex={-1}>
      {titleOf(row)}
    </a>
  )
}

/** How it ended, and that it goes on where the word does not say so. */
function endingText(row: SessionRow): string {
  const goesOn = row.isLive && standingOf(row) !== 'running'
  return `${visible(endingOf(row))}${goesOn ? ', live' : ''}`
}

/** The colour of how a session stands. */
export function standingColor(row: SessionRow): ColorName {
  const standing = standingOf(row)
  return standing === 'running' ? 'accent' : standing === 'unread' ? 'bad' : endingColor(row.exitCode)
}

/** How it ended: a mark and the word. */
function EndingMark({ row }: { readonly row: SessionRow }): JSX.Element {
  const standing = standingOf(row)
  return (
    <span class={`ending ending-${standing}`} title={standings[standing]}>
      <span class="mark" aria-hidden="true" style={{ background: `var(--${standingColor(row)})` }} />
      {endingText(row)}
    </span>
  )
}
