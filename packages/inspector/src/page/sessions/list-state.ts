import { signal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { SessionRow } from '@halting/analysis/view'
import { replaceRoute, route } from '../data/route.ts'
import { rows } from '../data/store.ts'
import { rowsShown, type SessionFilter } from './filter.ts'
import { outliersOf, type Outlier } from './outliers.ts'
import { listStateOf, queryOf, type ListState } from './query.ts'
import type { SearchProgress } from './search-said.ts'
import { isSorted, keptInPlace, sorted, type Sorting } from './sorting.ts'

/** The session that is looked at, by key; it stays when the list is left and when others come. */
export const activeKey = signal<string | null>(null)

/** Those that are marked for comparing, two at most, in the order in which they were. */
export const marked = signal<readonly string[]>([])

/** What was found in what was said; null where nobody looked. */
export const said = signal<SearchProgress | null>(null)

/** Counts up when a person wants the list sorted anew. */
const sortedAgain = signal(0)

/** Sorts by figures as they are now. */
export function sortAgain(): void {
  sortedAgain.value++
}

/** Marks a session, or takes the mark back. Of three, the first gives way. */
export function toggleMark(key: string): void {
  const others = marked.value.filter((each) => each !== key)
  marked.value = others.length < marked.value.length ? others : [...others, key].slice(-2)
}

/** Shows other sessions, or in another order. The address says which. */
export function showList(next: ListState): void {
  const query = queryOf(next)
  replaceRoute(query === '' ? { view: 'sessions' } : { view: 'sessions', query })
}

export interface ShownList extends ListState {
  /** All there are. */
  readonly all: readonly SessionRow[]
  /** Those that the filters let through, in order. */
  readonly shown: readonly SessionRow[]
  readonly outliers: ReadonlyMap<string, readonly Outlier[]>
  readonly outlierKeys: ReadonlySet<string>
  /** Sessions changed since they were sorted: the order is not that of their figures any more. */
  readonly isStale: boolean
}

/** What is shown now, for a component that is drawn again when it changes. */
export function useShownList(): ShownList {
  const { value: shownRoute } = route
  const query = shownRoute.view === 'sessions' ? (shownRoute.query ?? '') : ''
  const { filter, sorting } = useMemo(() => listStateOf(query), [query])
  const all = rows.value
  const outliers = useMemo(() => byKey(outliersOf(all)), [all])
  const outlierKeys = useMemo(() => new Set(outliers.keys()), [outliers])
  const found = said.value
  const saidKeys = useMemo(() => (found === null ? null : new Set(found.hits.map(({ key }) => key))), [found])
  const chosen = useMemo(
    () => rowsShown(all, filter, outlierKeys).filter(({ key }) => saidKeys === null || saidKeys.has(key)),
    [all, filter, outlierKeys, saidKeys],
  )
  const shown = useOrder(chosen, filter, sorting)
  const isStale = useMemo(() => !isSorted(shown, sorting), [shown, sorting])
  return { filter, sorting, all, shown, outliers, outlierKeys, isStale }
}

interface Order {
  readonly filter: SessionFilter
  readonly sorting: Sorting
  readonly sortedAgain: number
  readonly chosen: readonly SessionRow[]
  readonly rows: readonly SessionRow[]
}

/** Sorts when a person chose something. Where only sessions changed, they stay where they are. */
function useOrder(chosen: readonly SessionRow[], filter: SessionFilter, sorting: Sorting): readonly SessionRow[] {
  const last = useRef<Order | null>(null)
  const again = sortedAgain.value
  const before = last.current
  const isAsChosen =
    before !== null && before.filter === filter && before.sorting === sorting && before.sortedAgain === again
  if (isAsChosen && before.chosen === chosen) return before.rows
  const inOrder = isAsChosen
    ? keptInPlace(
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
