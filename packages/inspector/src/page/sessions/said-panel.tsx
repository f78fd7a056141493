import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { counted, many } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { addressOf } from '../data/route.ts'
import { source } from '../data/store.ts'
import { titleOf } from './columns.tsx'
import { said } from './list-state.ts'
import { searchSaid } from './search-said.ts'

interface SaidPanelProps {
  /** Those that are shown are searched, in their order. */
  readonly rows: readonly SessionRow[]
}

/** How many hits are listed: the table has all sessions that were found. */
const mostListed = 50

/** Looks for a text in what was said in the sessions that are shown: one after another, until somebody stops it. */
export function SaidPanel({ rows }: SaidPanelProps): JSX.Element {
  const text = useSignal('')
  const isSearching = useSignal(false)
  const stop = useRef<AbortController | null>(null)
  const titles = useRef<ReadonlyMap<string, string>>(new Map())
  useEffect(() => () => stop.current?.abort(), [])
  const clear = (): void => {
    stop.current?.abort()
    said.value = null
  }
  const search = async (): Promise<void> => {
    clear()
    if (text.value.trim() === '') return
    const own = new AbortController()
    stop.current = own
    isSearching.value = true
    titles.current = new Map(rows.map((row) => [row.key, titleOf(row)]))
    const from = source()
    const end = await searchSaid(
      text.value,
      rows,
      (...asked) => from.parts(...asked),
      (progress) => (said.value = progress),
      own.signal,
    )
    // Another search may have begun.
    if (stop.current !== own) return
    isSearching.value = false
    if (!own.signal.aborted) said.value = end
  }
  const found = said.value
  return (
    <div class="said">
      <form
        class="filter-row"
        onSubmit={(event) => {
          event.preventDefault()
          void search()
        }}
      >
        <label class="filter-text">
          <span class="hidden-text">Search the content</span>
          <input
            type="search"
            id="said-search"
            placeholder="Search in all content"
            value={text.value}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
        {isSearching.value ? (
          <button
            type="button"
            onClick={() => {
              stop.current?.abort()
              isSearching.value = false
            }}
          >
            Stop
          </button>
        ) : (
          <button type="submit">Search {many(rows.length, 'session')}</button>
        )}
        {found === null ? null : (
          <button type="button" onClick={clear}>
            Clear the search
          </button>
        )}
      </form>
      {found === null ? null : (
        <>
          <p class="note soft" role="status">
            {counted(found.searched)} of {many(found.of, 'session')} searched
            {isSearching.value || found.searched === found.of ? '' : ', then stopped'}: found in{' '}
            {many(new Set(found.hits.map(({ key }) => key)).size, 'session')}
            {found.unread === 0 ? '' : `; ${counted(found.unread)} could not be read`}.
          </p>
          <ul class="hits">
            {found.hits.slice(0, mostListed).map(({ key, run, part, excerpt }) => (
              <li key={`${key} ${run} ${part}`}>
                <a href={addressOf({ view: 'session', key, run: run + 1, tab: 'timeline' })}>
                  {titles.current.get(key) ?? key}
                </a>{' '}
                <span class="soft">{excerpt}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
