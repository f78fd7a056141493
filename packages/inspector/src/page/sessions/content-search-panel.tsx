import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { counted, many } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { addressOf } from '../data/route.ts'
import { source } from '../data/store.ts'
import { titleOf } from './columns.tsx'
import { contentSearch } from './list-state.ts'
import { searchContent, type SearchProgress } from './search-content.ts'

interface ContentSearchProps {
  /** The sessions to search, in this order. */
  readonly rows: readonly SessionRow[]
}

/** The maximum number of listed hits; the table has all sessions that were found. */
const maxListed = 50

/** Searches the content of the sessions in the list, one after another, until the person stops it. */
export function ContentSearchPanel({ rows }: ContentSearchProps): JSX.Element {
  const text = useSignal('')
  const { isSearching, titles, search, stop, clear } = useContentSearch(rows)
  const found = contentSearch.value
  return (
    <div class="said">
      <form
        class="filter-row"
        onSubmit={(event) => {
          event.preventDefault()
          void search(text.value)
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
        {isSearching ? (
          <button type="button" onClick={stop}>
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
      {found === null ? null : <Hits found={found} isSearching={isSearching} titles={titles} />}
    </div>
  )
}

interface ContentSearch {
  readonly isSearching: boolean
  /** Titles of the sessions, by key, as they were when the search began. */
  readonly titles: ReadonlyMap<string, string>
  readonly search: (text: string) => Promise<void>
  readonly stop: () => void
  readonly clear: () => void
}

/** Runs one search at a time: a new search, or leaving the view, stops the previous one. */
function useContentSearch(rows: readonly SessionRow[]): ContentSearch {
  const isSearching = useSignal(false)
  const running = useRef<AbortController | null>(null)
  const titles = useRef<ReadonlyMap<string, string>>(new Map())
  useEffect(() => () => running.current?.abort(), [])
  const clear = (): void => {
    running.current?.abort()
    contentSearch.value = null
  }
  const search = async (text: string): Promise<void> => {
    clear()
    if (text.trim() === '') return
    const own = new AbortController()
    running.current = own
    isSearching.value = true
    titles.current = new Map(rows.map((row) => [row.key, titleOf(row)]))
    const from = source()
    const end = await searchContent(
      text,
      rows,
      (...asked) => from.parts(...asked),
      (progress) => (contentSearch.value = progress),
      own.signal,
    )
    // Another search may have begun.
    if (running.current !== own) return
    isSearching.value = false
    if (!own.signal.aborted) contentSearch.value = end
  }
  const stop = (): void => {
    running.current?.abort()
    isSearching.value = false
  }
  return { isSearching: isSearching.value, titles: titles.current, search, stop, clear }
}

interface HitsProps extends Pick<ContentSearch, 'isSearching' | 'titles'> {
  readonly found: SearchProgress
}

function Hits({ found, isSearching, titles }: HitsProps): JSX.Element {
  return (
    <>
      <p class="note soft" role="status">
        {counted(found.searched)} of {many(found.of, 'session')} searched
        {isSearching || found.searched === found.of ? '' : ', then stopped'}: found in{' '}
        {many(new Set(found.hits.map(({ key }) => key)).size, 'session')}
        {found.unread === 0 ? '' : `; ${counted(found.unread)} could not be read`}.
      </p>
      <ul class="hits">
        {found.hits.slice(0, maxListed).map(({ key, run, part, excerpt }) => (
          <li key={`${key} ${run} ${part}`}>
            <a href={addressOf({ view: 'session', key, run: run + 1, tab: 'timeline' })}>{titles.get(key) ?? key}</a>{' '}
            <span class="soft">{excerpt}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
