import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../../../../agent/test/support/deep.ts'
import { isChromiumInstalled, withBrowser } from '../../support/browser.ts'
import { everyView, type EveryView, type ViewName } from '../support/every-view.ts'
import { hostileKey, inspectedSource, sourceFor, viewedSessions } from '../support/inspected-source.ts'
import { manyRows } from '../support/many-rows.ts'
import { renderPicture, savableNames, savePicture, type RenderedPicture } from '../support/saved-pictures.ts'

/** The views with their savable pictures, and the page regions whose texts a picture must contain. */
const pictureRegions: { readonly [view in ViewName]?: { readonly [picture: string]: string } } = {
  'the list': {
    sessions: '.sums, .virtual-row .cell:not(.cell-mark), .chips button[aria-label]',
    outliers: '.outliers > ul a, .outliers > ul span, #outliers-title',
    'Dollars of sessions': '[data-figure=costUsd] .axis span',
    'Turns of sessions': '[data-figure=turns] .axis span',
    'Tokens of sessions': '[data-figure=tokens] .axis span',
    'Time of sessions': '[data-figure=activeMs] .axis span',
    'Endings of sessions': '[data-figure=ending] .bar > :is(.bar-name, .numbers)',
    'Models of sessions': '[data-figure=model] .bar > .numbers',
  },
  'a session': {
    timeline: 'h1, .lane-names > div, .legend > span:not(:last-child)',
    items: 'h1, .item-label',
    transcript: 'h1, .part[aria-current] summary *, .part[aria-current] pre',
    ending: 'h1, #ending-title, #ending > p, #ending .bar-row > span, #ending .why, #ending h3',
  },
  'a hostile session': {
    timeline: '.lane-names > div',
    items: '.item-kind',
    transcript: '.part .text, .part pre',
    ending: '#ending-title, #ending > p, #ending .bar-row > span, #ending .why',
  },
  plots: Object.fromEntries(
    ['Context by kind', 'Dollars', 'Tokens by kind', 'Time by turn', 'Total time', 'Retries left'].map((name) => [
      name,
      `h1, [aria-label="${name}"] :is(h2, figcaption p, .plot-series[aria-pressed=true])`,
    ]),
  ),
  'what if': { 'what other limits do': 'h1, .what-if-verdict, .what-if dd, .what-if li, .axis span, .what-if-command' },
  'what if, over all': {
    'Savings and losses by limit: turns':
      'h1, section h2, section li:not(:has(a)), .plot h2, .plot figcaption p, .plot-series, .stopped-runs a',
  },
  'two sessions': {
    comparison:
      'h1, .compare-head h2, .compare-head p, .compare-figures :is(th, td), .divergence, .side-line, .pair-whole :is(h3, p, li)',
  },
  'a hostile session beside another one': { comparison: '.compare-figures :is(th, td), .divergence' },
}
// The keys of the table above are names of views.
const views = Object.entries(pictureRegions) as [ViewName, { readonly [picture: string]: string }][]

const compact = (text: string): string => text.replaceAll(/\s+/g, '')

/** The texts of these page regions. */
async function textsOf(region: Locator): Promise<readonly string[]> {
  const texts = await region.evaluateAll((elements) => elements.map((element) => element.textContent))
  return [...new Set(texts.map((text) => compact(text.replace(/×$/, ''))))].filter((text) => text !== '')
}

describe.skipIf(!isChromiumInstalled)('pictures of every view (needs chromium)', () => {
  const open = withBrowser()
  let sessions: Awaited<ReturnType<typeof viewedSessions>> = []
  beforeAll(async () => {
    sessions = await viewedSessions()
  })

  async function shown(name: ViewName, isDark = false): Promise<Page> {
    const view: EveryView = everyView[name]
    const fragment = view.fragment.replace('HOSTILE', encodeURIComponent(hostileKey))
    const { page } = await open(sourceFor(view, sessions), { fragment, isDark })
    await page.locator('main h1').waitFor()
    await view.act?.(page)
    await page
      .getByRole('button', { name: /^Save .* as SVG$/ })
      .first()
      .waitFor()
    return page
  }

  it.each(views)('%s: they have all its texts and are inert', async (view, regions) => {
    const page = await shown(view)
    expect(await savableNames(page)).toEqual(Object.keys(regions))
    for (const [name, region] of Object.entries(regions)) {
      const { texts, ...problems } = await renderPicture(page, await savePicture(page, name, 'SVG'))
      expect({ name, ...problems }).toEqual({ name, forbidden: [], cut: [], overlapping: [], pale: [] })
      expect(texts.slice(0, 12).join(' ')).toMatch(/sessions of a test · \d{4}-\d\d-\d\d \d\d:\d\d \(UTC/)
      const all = compact(texts.join(''))
      const asked = await textsOf(page.locator(region))
      expect(asked.length).toBeGreaterThan(0)
      expect({ name, missing: asked.filter((text) => !all.includes(text)) }).toEqual({ name, missing: [] })
    }
  })

  it.each(views.filter((_, at) => isWhole || at % 2 === 0))(
    '%s: they are readable in dark mode too',
    async (view, regions) => {
      const page = await shown(view, true)
      for (const name of Object.keys(regions)) {
        const { pale, forbidden } = await renderPicture(page, await savePicture(page, name, 'SVG'))
        expect({ name, pale, forbidden }).toEqual({ name, pale: [], forbidden: [] })
      }
    },
  )

  it.each(['the list', 'a session'] as const)(
    '%s: as PNG they are twice as large, within what a browser paints',
    async (view) => {
      const page = await shown(view)
      for (const name of Object.keys(pictureRegions[view] ?? {})) {
        const svg = (await savePicture(page, name, 'SVG')).toString()
        const [, width = '', height = ''] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? []
        const png = await savePicture(page, name, 'PNG')
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

  it('the list: of thousands they show the first in order, with the totals of all', async () => {
    const rows = manyRows(10_000)
    const { page } = await open(inspectedSource([], rows), { fragment: '#/?ending=completed&sort=tokens,down' })
    await page.getByRole('status').getByText('of 10,000 sessions').waitFor()
    const { texts }: RenderedPicture = await renderPicture(page, await savePicture(page, 'sessions', 'SVG'))
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
