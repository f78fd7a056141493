import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../../../agent/test/support/deep.ts'
import { isChromiumInstalled, withBrowser, type OpenOptions } from '../support/browser.ts'
import { everyView, type EveryView } from './support/every-view.ts'
import { hostileKey, sourceFor, viewedSessions } from './support/inspected-source.ts'
import { unreachableElements, lowContrastColors, lowContrastOn } from './support/readable.ts'

describe.skipIf(!isChromiumInstalled)('every view (needs chromium)', () => {
  const open = withBrowser()
  let sessions: Awaited<ReturnType<typeof viewedSessions>> = []
  beforeAll(async () => {
    sessions = await viewedSessions()
  })

  async function shown(view: EveryView, options: OpenOptions): Promise<Page> {
    const fragment = view.fragment.replace('HOSTILE', encodeURIComponent(hostileKey))
    const { page } = await open(sourceFor(view, sessions), { ...options, fragment })
    await page.locator('main h1').waitFor()
    await view.act?.(page)
    return page
  }
  const views = Object.entries<EveryView>(everyView)
  // In `.ci/run` each view is tested in one of two ways.
  const half = (rest: 0 | 1): typeof views => views.filter((_, at) => isWhole || at % 2 === rest)

  it.each(half(0))('%s: texts and marks have contrast in light and dark mode', async (name, view) => {
    for (const isDark of [false, true]) {
      const page = await shown(view, { isDark })
      expect({ name, isDark, ...(await lowContrastOn(page)) }).toEqual({ name, isDark, texts: [], marks: [] })
    }
  })

  it.each([false, true])('content of canvases has contrast (dark: %s)', async (isDark) => {
    expect(await lowContrastColors(await shown(everyView.plots, { isDark }))).toEqual([])
  })

  // A page of 1,280 pixels at 400 %.
  it.each(half(1))('%s: everything is reachable at 320 pixels, and nothing scrolls sideways', async (name, view) => {
    const page = await shown(view, { width: 320, height: 640 })
    expect({ name, width: await page.evaluate(() => document.documentElement.scrollWidth) }).toEqual({
      name,
      width: 320,
    })
    expect(await unreachableElements(page)).toEqual([])
  })
})
