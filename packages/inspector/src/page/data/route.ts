import { signal, type ReadonlySignal } from '@preact/signals'

/** Which view is shown, as the fragment of the address says: a reload and the browser's way back keep it. */
export type Route =
  | { readonly view: 'sessions'; readonly query?: string }
  | { readonly view: 'session'; readonly key: string; readonly run: number; readonly tab: SessionTab }
  | { readonly view: 'compare'; readonly keys: readonly [string, string]; readonly query?: string }
  | { readonly view: 'what-if' }

const sessionTabs = ['timeline', 'plots', 'what-if'] as const
export type SessionTab = (typeof sessionTabs)[number]

/**
 * `#/?QUERY`, `#/session/KEY/RUN/TAB` (runs count from 1), `#/compare/KEY/KEY?QUERY`, `#/what-if`. What is no address is the list. A query is what the view makes
 * of it: filters, which runs.
 */
export function routeOf(fragment: string): Route {
  const [, path = '', query] = /^#?\/?([^?]*)(?:\?(.+))?$/s.exec(fragment) ?? []
  const asked = query === undefined ? {} : { query }
  const [view, ...given] = path.split('/').map((part) => decoded(part))
  const [first = '', second = '', third = ''] = given
  if (view === 'session' && first !== '') {
    const tab = sessionTabs.find((each) => each === third) ?? 'timeline'
    return { view, key: first, run: Math.max(1, Math.trunc(Number(second)) || 1), tab }
  }
  if (view === 'compare' && first !== '' && second !== '') return { view, keys: [first, second], ...asked }
  return view === 'what-if' ? { view } : { view: 'sessions', ...asked }
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

/** Follows the fragment from now on. */
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

/** Goes there without a step that the browser's way back would take: for what is set a little at a time, such as a filter. */
export function replaceRoute(next: Route): void {
  history.replaceState(null, '', addressOf(next))
  current.value = next
}
