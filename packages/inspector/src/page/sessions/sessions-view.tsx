import type { JSX } from 'preact'
import { useState, useMemo } from 'preact/hooks'
import { counted } from '@halting/analysis/words'
import { useKeys } from '../common/keys.ts'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { goTo } from '../data/route.ts'
import { unlistedCount, listingState, listMore } from '../data/store.ts'
import { Distributions } from './distributions.tsx'
import { FilterBar } from './filter-bar.tsx'
import type { SessionFilter } from './filter.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { activeKey, markedKeys, contentSearch, showList, sortAgain, useShownList } from './list-state.ts'
import { OutlierList } from './outlier-list.tsx'
import { ContentSearchPanel } from './content-search-panel.tsx'
import { SessionDetails } from './session-details.tsx'
import { SessionTable } from './session-table.tsx'
import { pictureOfSessions } from './sessions-picture.ts'
import type { SessionRow } from '@halting/analysis/view'
import { sumsOf, sumTexts } from './sums.ts'

/** The list of sessions: which ones have problems, and what they cost in total. */
export function SessionsView(): JSX.Element {
  const { all, shown, filter, sorting, outliers, outlierKeys, isStale } = useShownList()
  // A marked session may have been removed.
  const [first, second] = markedKeys.value.filter((key) => all.some((row) => row.key === key))
  const canCompare = first !== undefined && second !== undefined
  const compare = (): void => {
    if (canCompare) goTo({ view: 'compare', keys: [first, second] })
  }
  useKeys([
    { keys: ['/'], description: 'Search in the list', run: () => focusOn('#session-search') },
    { keys: ['c'], description: 'Compare the two marked sessions', run: compare },
  ])
  const onFilter = (next: SessionFilter): void => showList({ filter: next, sorting })
  const active = shown.find(({ key }) => key === activeKey.value)
  const { kind } = listingState.value
  if (all.length === 0) return <NoSessions />
  return (
    <>
      <ListHeading />
      <FilterBar rows={all} outlierKeys={outlierKeys} filter={filter} onFilter={onFilter} />
      <ContentSearchPanel rows={shown} />
      <SumsLine rows={shown} all={all.length} />
      <div class="list-tools">
        <button type="button" aria-keyshortcuts="c" disabled={!canCompare} onClick={compare}>
          {canCompare ? 'Compare the two marked sessions' : 'Mark two sessions to compare them'}
        </button>
        {shown.length === 0 ? null : (
          <PictureButtons
            name="sessions"
            pictureOf={() =>
              pictureOfSessions({
                shown,
                all: all.length,
                filter,
                sorting,
                outliers,
                contentText: contentSearch.value?.text ?? '',
              })
            }
          />
        )}
        {isStale ? (
          <button type="button" onClick={sortAgain}>
            Sessions changed: sort again
          </button>
        ) : null}
      </div>
      {shown.length === 0 && kind === 'loaded' ? <p class="note">No session matches these filters.</p> : null}
      <div class="list-and-details">
        <SessionTable
          rows={shown}
          sorting={sorting}
          outliers={outliers}
          onSort={(next) => showList({ filter, sorting: next })}
        />
        {active === undefined ? null : <SessionDetails row={active} why={outliers.get(active.key) ?? []} />}
      </div>
      <MoreSessions />
      <OutlierList rows={shown} outliers={outliers} filter={filter} onFilter={onFilter} />
      <h2>Distributions</h2>
      <Distributions rows={all} outlierKeys={outlierKeys} filter={filter} onFilter={onFilter} />
    </>
  )
}

/** The view of a list that has no sessions, or none so far. */
function NoSessions(): JSX.Element {
  return (
    <>
      <ListHeading />
      {listingState.value.kind === 'loaded' ? (
        <p class="note">There are no sessions here yet. A new session appears within two seconds.</p>
      ) : null}
    </>
  )
}

/** The heading of the list, and whether it is still being read or failed. */
function ListHeading(): JSX.Element {
  return (
    <>
      <h1>Sessions</h1>
      {listingState.value.kind === 'failed' ? <ErrorNote>{listingState.value.message}</ErrorNote> : null}
      {listingState.value.kind === 'loading' ? <Busy>Reading sessions …</Busy> : null}
    </>
  )
}

/** A button that lists more sessions of a cluster. */
function MoreSessions(): JSX.Element | null {
  const [problem, setProblem] = useState('')
  if (unlistedCount.value === 0) return null
  return (
    <p class="note">
      <button
        type="button"
        onClick={() =>
          void listMore().then(
            () => setProblem(''),
            ({ message }: Error) => setProblem(message),
          )
        }
      >
        List more ({counted(unlistedCount.value)})
      </button>
      {problem && <ErrorNote>{problem}</ErrorNote>}
    </p>
  )
}

function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus()
}

interface SumsLineProps {
  readonly rows: readonly SessionRow[]
  /** Total number of sessions. */
  readonly all: number
}

/** Sums of the listed sessions. */
function SumsLine({ rows, all }: SumsLineProps): JSX.Element {
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
