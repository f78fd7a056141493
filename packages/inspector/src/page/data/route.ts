import { signal, type ReadonlySignal } from '@preact/signals'

/** Which view is shown, as the fragment of the address says: a reload and the browser's way back keep it. */
export type Route =
  | { readonly view: 'sessions' }
  | { readonly view: 'session'; readonly key: string; readonly run: number; readonly tab: SessionTab }
  | { readonly view: 'compare'; readonly keys: readonly [string, string] }
  | { readonly view: 'what-if' }

export const sessionTabs = ['timeline', 'plots', 'what-if'] as const
export type SessionTab = (typeof sessionTabs)[number]

/** `#/`, `#/session/KEY/RUN/TAB` (runs count from 1), `#/compare/KEY/KEY`, `#/what-if`. What is no address is the list. */
export function routeOf(fragment: string): Route {
  const [view, ...given] = fragment
    .replace(/^#?\/?/, '')
    .split('/')
    .map((part) => decoded(part))
  const [first = '', second = '', third = ''] = given
  if (view === 'session' && first !== '') {
    const tab = sessionTabs.find((each) => each === third) ?? 'timeline'
    return { view, key: first, run: Math.max(1, Math.trunc(Number(second)) || 1), tab }
  }
  if (view === 'compare' && first !== '' && second !== '') return { view, keys: [first, second] }
  return view === 'what-if' ? { view } : { view: 'sessions' }
}

export function addressOf(route: Route): string {
  const part = encodeURIComponent
  switch (route.view) {
    case 'sessions':
      return '#/'
    case 'session':
      return `#/session/${part(route.key)}/${route.run}/${route.tab}`
    case 'compare':
      return `#/compare/${route.keys.map(part).join('/')}`
    case 'what-if':
      return '#/what-if'
  }
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
