import { signal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import { replaceRoute, route } from '../data/route.ts'
import { rows } from '../data/store.ts'
import { rowsShown, type SessionFilter } from './filter.ts'
import { findOutliers, type Outlier } from './outliers.ts'
import { listStateOf, queryOf, type ListState } from './query.ts'
import type { SearchProgress } from './search-content.ts'
import { isSorted, mergedInPlace, sorted, type Sorting } from './sorting.ts'

/** Key of the active session. It is kept when the list is left or changes. */
export const activeKey = signal<string | null>(null)

/** Keys of the sessions that are marked for comparison, at most two, in the order of marking. */
export const markedKeys = signal<readonly string[]>([])

/** The result of the search in content; null when there was no search. */
export const contentSearch = signal<SearchProgress | null>(null)

/** Incremented when the person sorts again. */
const sortRequests = signal(0)

/** Sorts the list by the current figures. */
export function sortAgain(): void {
  sortRequests.value++
}

/** Marks a session, or removes its mark. When a third session is marked, the first mark is removed. */
export function toggleMark(key: string): void {
  const otherKeys = markedKeys.value.filter((each) => each !== key)
  markedKeys.value = otherKeys.length < markedKeys.value.length ? otherKeys : [...otherKeys, key].slice(-2)
}

/** Changes filter or sorting, by changing the address. */
export function showList(next: ListState): void {
  const query = queryOf(next)
  replaceRoute(query === '' ? { view: 'sessions' } : { view: 'sessions', query })
}

export interface ShownList extends ListState {
  /** All sessions. */
  readonly all: readonly SessionRow[]
  /** Sessions that pass the filters, in order. */
  readonly shown: readonly SessionRow[]
  readonly outliers: ReadonlyMap<string, readonly Outlier[]>
  readonly outlierKeys: ReadonlySet<string>
  /** Whether sessions changed after they were sorted, so that the order no longer fits their figures. */
  readonly isStale: boolean
}

/** The current list as a hook; the component is rendered again when it changes. */
export function useShownList(): ShownList {
  const { value: shownRoute } = route
  const query = shownRoute.view === 'sessions' ? (shownRoute.query ?? '') : ''
  const { filter, sorting } = useMemo(() => listStateOf(query), [query])
  const all = rows.value
  const outliers = useMemo(() => byKey(findOutliers(all)), [all])
  const outlierKeys = useMemo(() => new Set(outliers.keys()), [outliers])
  const found = contentSearch.value
  const foundKeys = useMemo(() => (found === null ? null : new Set(found.hits.map(({ key }) => key))), [found])
  const chosen = useMemo(
    () => rowsShown(all, filter, outlierKeys).filter(({ key }) => foundKeys === null || foundKeys.has(key)),
    [all, filter, outlierKeys, foundKeys],
  )
  const ordered = useOrder(chosen, filter, sorting)
  const isStale = useMemo(() => !isSorted(ordered, sorting), [ordered, sorting])
  return { filter, sorting, all, shown: ordered, outliers, outlierKeys, isStale }
}

interface Order {
  readonly filter: SessionFilter
  readonly sorting: Sorting
  readonly sortedAgain: number
  readonly chosen: readonly SessionRow[]
  readonly rows: readonly SessionRow[]
}

/** Sorts when filter or sorting change. When only sessions change, they keep their positions. */
function useOrder(chosen: readonly SessionRow[], filter: SessionFilter, sorting: Sorting): readonly SessionRow[] {
  const last = useRef<Order | null>(null)
  const again = sortRequests.value
  const before = last.current
  const isAsChosen =
    before !== null && before.filter === filter && before.sorting === sorting && before.sortedAgain === again
  if (isAsChosen && before.chosen === chosen) return before.rows
  const inOrder = isAsChosen
    ? mergedInPlace(
        before.rows.map(({ key }) => key),
        chosen,
        sorting,
      )
    : sorted(chosen, sorting)
  last.current = { filter, sorting, sortedAgain: again, chosen, rows: inOrder }
  return inOrder
}

function byKey(outliers: readonly Outlier[]): ReadonlyMap<string, readonly Outlier[]> {
  const keyed = new Map<string, Outlier[]>()
  for (const outlier of outliers) {
    const known = keyed.get(outlier.key)
    if (known === undefined) keyed.set(outlier.key, [outlier])
    else known.push(outlier)
  }
  return keyed
}
