import { signal, type ReadonlySignal } from '@preact/signals'

/** The current view, stored in the fragment of the address, so that reloading and the back button work. */
export type Route =
  | { readonly view: 'sessions'; readonly query?: string }
  | { readonly view: 'session'; readonly key: string; readonly run: number; readonly tab: SessionTab }
  | { readonly view: 'compare'; readonly keys: readonly [string, string]; readonly query?: string }
  | { readonly view: 'what-if' }

const sessionTabs = ['timeline', 'plots', 'what-if'] as const
export type SessionTab = (typeof sessionTabs)[number]

/**
 * Parses `#/?QUERY`, `#/session/KEY/RUN/TAB` (runs count from 1), `#/compare/KEY/KEY?QUERY` and `#/what-if`; anything else is the list. Each view
 * defines its own query.
 */
export function routeOf(fragment: string): Route {
  const [, path = '', query] = /^#?\/?([^?]*)(?:\?(.+))?$/s.exec(fragment) ?? []
  const queryField = query === undefined ? {} : { query }
  const [view, ...given] = path.split('/').map((part) => decoded(part))
  const [first = '', second = '', third = ''] = given
  if (view === 'session' && first !== '') {
    const tab = sessionTabs.find((each) => each === third) ?? 'timeline'
    return { view, key: first, run: Math.max(1, Math.trunc(Number(second)) || 1), tab }
  }
  if (view === 'compare' && first !== '' && second !== '') return { view, keys: [first, second], ...queryField }
  return view === 'what-if' ? { view } : { view: 'sessions', ...queryField }
}

export function addressOf(route: Route): string {
  const part = encodeURIComponent
  switch (route.view) {
    case 'sessions':
      return `#/${queryPart(route.query)}`
    case 'session':
      return `#/session/${part(route.key)}/${route.run}/${route.tab}`
    case 'compare':
      return `#/compare/${route.keys.map(part).join('/')}${queryPart(route.query)}`
    case 'what-if':
      return '#/what-if'
  }
}

function queryPart(query = ''): string {
  return query === '' ? '' : `?${query}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const current = signal<Route>({ view: 'sessions' })
export const route: ReadonlySignal<Route> = current

/** Starts to follow the fragment. */
export function followRoute(): void {
  const follow = (): void => {
    current.value = routeOf(location.hash)
  }
  addEventListener('hashchange', follow)
  follow()
}

export function goTo(next: Route): void {
  location.hash = addressOf(next)
}

/** Replaces the address without a history entry: for values that change gradually, such as a filter. */
export function replaceRoute(next: Route): void {
  history.replaceState(null, '', addressOf(next))
  current.value = next
}
