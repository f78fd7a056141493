import type { JSX } from 'preact'
import { useId, useLayoutEffect, useRef, useState, useEffect } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import { useKeys } from '../common/keys.ts'
import { useRoving } from '../common/roving-focus.ts'
import { useVirtualRows, type VirtualRows } from '../common/virtual.ts'
import { goTo } from '../data/route.ts'
import { columns, titleOf } from './columns.tsx'
import { activeKey, markedKeys, toggleMark } from './list-state.ts'
import type { Outlier } from './outliers.ts'
import { sortingBy, type Sorting } from './sorting.ts'

interface SessionTableProps {
  readonly rows: readonly SessionRow[]
  readonly sorting: Sorting
  readonly outliers: ReadonlyMap<string, readonly Outlier[]>
  readonly onSort: (sorting: Sorting) => void
}

/** Heights of a row in `rem`: one line, or a few lines when the columns do not fit next to each other. */
const wideRem = 2
const narrowRem = 5.5

/**
 * The sessions as a virtual table with one Tab stop. The active session and the scroll position stay when other sessions are added, removed or
 * changed.
 */
export function SessionTable({ rows, sorting, outliers, onSort }: SessionTableProps): JSX.Element {
  const id = useId()
  const grid = useRef<HTMLDivElement>(null)
  const isNarrow = useNarrow()
  const { scroller, from, to, rowHeight, fitting, reveal } = useVirtualRows(rows.length, isNarrow ? narrowRem : wideRem)
  useSameFirstRow(scroller, rows, rowHeight)
  const active = rows.findIndex(({ key }) => key === activeKey.value)
  const lastActive = useRef(0)
  if (active >= 0) lastActive.current = active
  useEffect(() => {
    // After going back from a session, scroll to where the list was.
    if (active >= 0) reveal(active)
  }, [rows.length > 0])

  const { choose, onKeyDown } = useTableKeys({ rows, active, lastActive: lastActive.current, grid, fitting, reveal })
  return (
    <div
      ref={grid}
      class="session-table"
      role="grid"
      aria-label="Sessions: arrow keys choose, Enter opens, Space marks for comparison, Escape removes the marks"
      aria-activedescendant={active >= from && active < to ? `${id}-${active}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      data-narrow={isNarrow}
    >
      <Head sorting={sorting} onSort={onSort} />
      <div ref={scroller} class="session-rows" role="rowgroup" tabIndex={-1}>
        <div class="virtual-rows" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
          {rows.slice(from, to).map((row, offset) => (
            <Row
              key={row.key}
              id={`${id}-${from + offset}`}
              row={row}
              index={from + offset}
              height={rowHeight}
              why={outliers.get(row.key)}
              onChoose={choose}
              onMark={(key) => {
                toggleMark(key)
                // Keys should continue to work in the table, and not in the checkbox.
                grid.current?.focus({ preventScroll: true })
              }}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

interface TableKeys extends Pick<VirtualRows, 'fitting' | 'reveal'> {
  readonly rows: readonly SessionRow[]
  /** Index of the active row; -1 for none. */
  readonly active: number
  /** The last index that was active. */
  readonly lastActive: number
  readonly grid: { readonly current: HTMLDivElement | null }
}

/** Keys that choose, open and mark sessions, on the whole page and in the table. */
function useTableKeys({ rows, active, lastActive, grid, fitting, reveal }: TableKeys): {
  readonly choose: (index: number) => void
  readonly onKeyDown: (event: KeyboardEvent) => void
} {
  const choose = (index: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))]
    if (row === undefined) return
    activeKey.value = row.key
    reveal(rows.indexOf(row))
  }
  // When the active session was removed, the keys start between its neighbours.
  const at = active >= 0 ? active : Math.min(lastActive, rows.length) - 0.5
  /** Moves the focus to the table, so that its keys continue from there. */
  const chooseAndFocus = (index: number): void => {
    grid.current?.focus({ preventScroll: true })
    choose(index)
  }
  useKeys([
    {
      keys: ['j'],
      description: 'Next session; Enter opens it, Space marks it',
      run: () => chooseAndFocus(Math.floor(at + 1)),
    },
    { keys: ['k'], description: 'Previous session', run: () => chooseAndFocus(Math.ceil(at - 1)) },
  ])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.altKey || event.metaKey || isInHead(event.target)) return
    const row = rows[active]
    const target = targetOf(event.key, at, rows.length, fitting)
    if (target !== undefined) choose(target)
    else if (event.key === 'Enter' && row !== undefined) openSession(row)
    else if (event.key === ' ' && row !== undefined) toggleMark(row.key)
    else if (event.key === 'Escape' && markedKeys.value.length > 0) markedKeys.value = []
    else return
    event.preventDefault()
  }
  return { choose, onKeyDown }
}

function Head(props: { readonly sorting: Sorting; readonly onSort: (sorting: Sorting) => void }): JSX.Element {
  const { sorting, onSort } = props
  const { group, onKeyDown, tabIndexOf, onFocus } = useRoving(columns.length)
  return (
    <div role="rowgroup" class="session-head">
      <div ref={group} role="row" class="session-row" aria-rowindex={1} onKeyDown={onKeyDown}>
        <span role="columnheader" class="cell cell-mark">
          <span class="hidden-text">Marked</span>
        </span>
        {columns.map(({ name, title, isNumber }, index) => (
          <span
            key={name}
            role="columnheader"
            class={`cell cell-${name}${isNumber ? ' number' : ''}`}
            aria-sort={sorting.by !== name ? 'none' : sorting.isDown ? 'descending' : 'ascending'}
          >
            <button
              type="button"
              data-roving
              tabIndex={tabIndexOf(index)}
              onFocus={() => onFocus(index)}
              onClick={() => onSort(sortingBy(name, sorting))}
            >
              {title}
              <span aria-hidden="true">{sorting.by !== name ? '' : sorting.isDown ? ' ↓' : ' ↑'}</span>
            </button>
          </span>
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  readonly id: string
  readonly row: SessionRow
  readonly index: number
  readonly height: number
  readonly why: readonly Outlier[] | undefined
  readonly onChoose: (index: number) => void
  readonly onMark: (key: string) => void
}

function Row({ id, row, index, height, why, onChoose, onMark }: RowProps): JSX.Element {
  const isMarked = markedKeys.value.includes(row.key)
  return (
    <div
      id={id}
      role="row"
      class="session-row virtual-row"
      data-key={row.key}
      data-active={row.key === activeKey.value}
      aria-rowindex={index + 2}
      aria-selected={isMarked}
      style={{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
      onClick={() => onChoose(index)}
      onDblClick={() => openSession(row)}
    >
      <span role="gridcell" class="cell cell-mark">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isMarked}
          aria-label={`Compare ${titleOf(row)}`}
          onClick={(event) => event.stopPropagation()}
          onChange={() => onMark(row.key)}
        />
        {why === undefined ? null : (
          <span class="warn" title={why.map((each) => each.why).join('\n')}>
            !<span class="hidden-text">outlier</span>
          </span>
        )}
      </span>
      {columns.map(({ name, title, isNumber, text, cell }) => (
        <span
          key={name}
          role="gridcell"
          class={`cell cell-${name}${isNumber ? ' number numbers' : ''}`}
          data-title={title}
        >
          {cell?.(row) ?? text(row)}
        </span>
      ))}
    </div>
  )
}

function isInHead(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.session-head') !== null
}

/** Opens the last run of the session. */
function openSession({ key, runs }: SessionRow): void {
  goTo({ view: 'session', key, run: Math.max(1, runs), tab: 'timeline' })
}

function targetOf(key: string, at: number, count: number, fitting: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return Math.floor(at + 1)
    case 'ArrowUp':
    case 'k':
      return Math.ceil(at - 1)
    case 'PageDown':
      return Math.floor(at + fitting)
    case 'PageUp':
      return Math.ceil(at - fitting)
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

/** Keeps the visible rows in place when rows above them are added or removed. At the top, new rows become visible. */
function useSameFirstRow(
  scroller: { readonly current: HTMLDivElement | null },
  rows: readonly SessionRow[],
  rowHeight: number,
): void {
  const before = useRef<{ readonly rows: readonly SessionRow[]; readonly rowHeight: number }>({ rows, rowHeight })
  useLayoutEffect(() => {
    const { rows: old, rowHeight: oldHeight } = before.current
    before.current = { rows, rowHeight }
    const element = scroller.current
    if (element === null || (old === rows && oldHeight === rowHeight) || element.scrollTop < oldHeight) return
    const first = Math.floor(element.scrollTop / oldHeight)
    const within = element.scrollTop - first * oldHeight
    const key = old[first]?.key
    const now = rows.findIndex((row) => row.key === key)
    if (now >= 0) element.scrollTop = now * rowHeight + (within / oldHeight) * rowHeight
  }, [rows, rowHeight])
}

const narrow = '(max-width: 44rem)'

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrow).matches)
  useEffect(() => {
    const media = matchMedia(narrow)
    const follow = (): void => setNarrow(media.matches)
    media.addEventListener('change', follow)
    return () => media.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
