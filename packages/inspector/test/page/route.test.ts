import { describe, expect, it } from 'vitest'
import { addressOf, routeOf, type Route } from '../../src/page/data/route.ts'

describe('the address of a view', () => {
  const routes: readonly Route[] = [
    { view: 'sessions' },
    { view: 'sessions', query: 'ending=error&text=a%2Fb%3F' },
    { view: 'session', key: 'a/b #1', run: 2, tab: 'plots' },
    { view: 'compare', keys: ['a/b', 'ö%'] },
    { view: 'compare', keys: ['a?b', '?'], query: 'runs=1,2' },
    { view: 'what-if' },
  ]
  it.each(routes)('is parsed as it was formatted: $view', (route) => {
    expect(routeOf(addressOf(route))).toEqual(route)
  })

  it.each(['', '#', '#/nothing', '#/session', '#/compare/one', '#/session/%', '#?', '#/?'])(
    '%j is some view',
    (fragment) => {
      expect(['sessions', 'session']).toContain(routeOf(fragment).view)
    },
  )
})
