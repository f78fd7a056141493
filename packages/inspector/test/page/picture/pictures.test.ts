import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { InspectedSession } from '../../../src/index.ts'
import { isChromiumThere, withBrowser } from '../../support/browser.ts'
import { picturedSessions } from '../../support/pictured-sessions.ts'
import { hostileSession } from '../../support/sessions.ts'
import { inspectedSource } from '../support/inspected-source.ts'
import { manyRows } from '../support/many-rows.ts'
import { drawnIn, savable, saved, type Drawn } from '../support/saved-pictures.ts'

/** A view, what a person does there, and where on the page stands what its pictures must say. */
interface Viewed {
  readonly fragment: string
  readonly act?: (page: Page) => Promise<unknown>
  /** By the name of the picture. */
  readonly says: { readonly [name: string]: string }
}

const views: { readonly [name: string]: Viewed } = {
  'the list': {
    fragment: '#/?ending=max_turns&sort=costUsd',
    says: {
      sessions: '.sums, .virtual-row .cell:not(.cell-mark), .chips button[aria-label]',
      'Dollars of sessions': '[data-figure=costUsd] .axis span',
      'Turns of sessions': '[data-figure=turns] .axis span',
      'Tokens of sessions': '[data-figure=tokens] .axis span',
      'Time of sessions': '[data-figure=activeMs] .axis span',
      'Endings of sessions': '[data-figure=ending] .bar > :is(.bar-name, .numbers)',
      'Models of sessions': '[data-figure=model] .bar > .numbers',
      outliers: '.outliers > ul a, .outliers > ul span, #outliers-title',
    },
  },
  'a session': {
    fragment: '#/session/flaky/1/timeline',
    act: async (page) => {
      await page.locator('.item-label', { hasText: 'Edit' }).first().click()
      await page.locator('.part[aria-current] details[open]').waitFor()
      await page.getByRole('button', { name: 'Nearer' }).click()
    },
    says: {
      timeline: 'h1, .lane-names > div, .legend > span:not(:last-child)',
      items: 'h1, .item-label',
      transcript: 'h1, .part[aria-current] summary *, .part[aria-current] pre',
      ending: 'h1, #ending-title, #ending > p, #ending .bar-row > span, #ending .why, #ending h3',
    },
  },
  'a hostile session': {
    fragment: '#/session/HOSTILE/1/timeline',
    act: async (page) => {
      await page.locator('.part summary').nth(1).click()
    },
    says: {
      timeline: '.lane-names > div',
      items: '.item-kind',
      transcript: '.part .text, .part pre',
      ending: '#ending-title, #ending > p, #ending .bar-row > span, #ending .why',
    },
  },
  plots: {
    fragment: '#/session/flaky/1/plots',
    act: async (page) => {
      const context = page.getByRole('figure', { name: 'Context by kind' })
      await context.getByRole('button', { name: 'Zoom in' }).click()
      await context.getByRole('button', { name: 'Person', exact: true }).click()
    },
    says: Object.fromEntries(
      ['Context by kind', 'Dollars', 'Tokens by kind', 'Time by turn', 'Time in all', 'Allowances left'].map((name) => [
        name,
        `h1, [aria-label="${name}"] :is(h2, figcaption p, .plot-series[aria-pressed=true])`,
      ]),
    ),
  },
  'what if': {
    fragment: '#/session/flaky/1/what-if',
    act: async (page) => {
      await page.getByLabel('Turns: turns').fill('8')
      await page.getByLabel('Dollars: US dollars').fill('0.5')
      await page.getByLabel('Time: seconds').fill('50')
    },
    says: { 'what other limits do': 'h1, .what-if-verdict, .what-if dd, .what-if li, .axis span, .what-if-command' },
  },
  'what if, over all': {
    fragment: '#/what-if',
    act: async (page) => {
      await page.getByRole('button', { name: /^Read \d/ }).click()
      await page.getByText('As a table').click()
      await page
        .getByRole('row', { name: /^limit of turns 5 / })
        .getByRole('button')
        .click()
    },
    says: {
      'Savings and losses by limit: turns':
        'h1, section h2, section li:not(:has(a)), .plot h2, .plot figcaption p, .plot-series, .stopped-runs a',
    },
  },
  'two sessions': {
    fragment: '#/compare/flaky/flaky-again',
    act: (page) => page.locator('.pair').nth(1).click(),
    says: {
      comparison:
        'h1, .compare-head h2, .compare-head p, .compare-figures :is(th, td), .divergence, .side-line, .pair-whole :is(h3, p, li)',
    },
  },
  'a hostile session beside another one': {
    fragment: '#/compare/HOSTILE/flaky',
    act: (page) => page.locator('.pair').nth(2).click(),
    says: { comparison: '.compare-figures :is(th, td), .divergence' },
  },
}

const compact = (text: string): string => text.replaceAll(/\s+/g, '')

/** What stands there on the page, text by text. */
async function said(region: Locator): Promise<readonly string[]> {
  const texts = await region.evaluateAll((elements) => elements.map((element) => element.textContent))
  return [...new Set(texts.map((text) => compact(text.replace(/×$/, ''))))].filter((text) => text !== '')
}

describe.skipIf(!isChromiumThere)('pictures of every view (needs chromium)', () => {
  const open = withBrowser()
  let sessions: readonly InspectedSession[] = []
  beforeAll(async () => {
    sessions = [...(await picturedSessions()), hostileSession()]
  })

  async function shown({ fragment, act }: Viewed, isDark: boolean): Promise<Page> {
    const rows = fragment.startsWith('#/?') ? manyRows(400) : []
    const hostile = encodeURIComponent(hostileSession().key)
    const { page } = await open(inspectedSource(sessions, rows), {
      fragment: fragment.replace('HOSTILE', hostile),
      isDark,
    })
    await page
      .getByRole('button', { name: /^(?:Save .* as SVG|Read \d.*)$/ })
      .first()
      .waitFor()
    if (fragment.startsWith('#/?')) await page.getByRole('status').getByText('of 403 sessions').waitFor()
    await act?.(page)
    await page
      .getByRole('button', { name: /^Save .* as SVG$/ })
      .first()
      .waitFor()
    return page
  }

  it.each(Object.entries(views))('%s: they say what it says, whole and inert', async (_, view) => {
    const page = await shown(view, false)
    expect(await savable(page)).toEqual(Object.keys(view.says))
    for (const [name, region] of Object.entries(view.says)) {
      const { texts, ...problems } = await drawnIn(page, await saved(page, name, 'SVG'))
      expect({ name, ...problems }).toEqual({ name, forbidden: [], cut: [], overlapping: [], pale: [] })
      expect(texts[0]).not.toBe('')
      expect(texts.slice(0, 12).join(' ')).toMatch(/sessions of a test · \d{4}-\d\d-\d\d \d\d:\d\d \(UTC/)
      const all = compact(texts.join(''))
      const asked = await said(page.locator(region))
      expect(asked.length).toBeGreaterThan(0)
      expect({ name, missing: asked.filter((text) => !all.includes(text)) }).toEqual({ name, missing: [] })
    }
  })

  it.each(Object.entries(views))('%s: they are read in the dark as well', async (_, view) => {
    const page = await shown(view, true)
    for (const name of Object.keys(view.says)) {
      const { pale, forbidden } = await drawnIn(page, await saved(page, name, 'SVG'))
      expect({ name, pale, forbidden }).toEqual({ name, pale: [], forbidden: [] })
    }
  })

  it.each(['the list', 'a session'])(
    '%s: as PNG they are twice as large, within what a browser paints',
    async (name) => {
      const view = views[name]
      if (view === undefined) throw new Error('There is no such view.')
      const page = await shown(view, false)
      for (const each of Object.keys(view.says)) {
        const svg = (await saved(page, each, 'SVG')).toString()
        const [, width = '', height = ''] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? []
        const png = await saved(page, each, 'PNG')
        expect(png.subarray(1, 4).toString()).toBe('PNG')
        const scale = Math.min(2, 16_000 / Math.max(Number(width), Number(height)))
        expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(
          [width, height].map((size) => Math.round(Number(size) * scale)),
        )
        // More than a page of one colour.
        expect(png.length).toBeGreaterThan(10_000)
      }
    },
  )

  it('the list: of thousands they have the first, in their order, with the sums of all', async () => {
    const rows = manyRows(10_000)
    const { page } = await open(inspectedSource([], rows), { fragment: '#/?ending=completed&sort=tokens,down' })
    await page.getByRole('status').getByText('of 10,000 sessions').waitFor()
    const { texts }: Drawn = await drawnIn(page, await saved(page, 'sessions', 'SVG'))
    const completed = rows.filter(({ ending }) => ending === 'completed')
    const order = completed.toSorted((a, b) => b.tokens - a.tokens || (a.key < b.key ? -1 : 1)).slice(0, 200)
    expect(texts.filter((text) => text.startsWith('Session number'))).toEqual(order.map(({ title }) => title))
    expect(texts).toContain('Sorted by tokens, descending. ! marks an outlier.')
    expect(texts).toContain('Sessions with: ending: completed.')
    expect(completed).toHaveLength(5_001)
    expect(texts).toContain('4,801 more sessions are not in this picture.')
    expect(texts.join(' ')).toContain('5,001 of 10,000 sessions: $')
  })
})
