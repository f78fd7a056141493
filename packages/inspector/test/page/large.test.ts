import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { generatedSession, generatedSource } from '../support/generated-session.ts'

/** The size of a page: the cost of drawing follows from it, and a test can count it on any machine. */
const elementCount = (page: Page): Promise<number> => page.locator('*').count()

describe.skipIf(!isChromiumInstalled)('a session of a hundred thousand records (needs chromium)', () => {
  const open = withBrowser()

  it('opens, scrolls to its end and back, and has no more elements than one of a hundred', async () => {
    const small = await open(generatedSource(generatedSession({ turns: 20 })), {
      fragment: '#/session/made/1/timeline',
    })
    await small.page.getByRole('feed').locator('.part').nth(50).waitFor()
    const fewest = await elementCount(small.page)

    const session = generatedSession({ turns: 20_000 })
    expect(session.records[0]?.length).toBeGreaterThan(100_000)
    const { page } = await open(generatedSource(session), { fragment: '#/session/made/1/timeline' })
    await page.getByRole('feed').locator('.part').nth(50).waitFor({ timeout: 60_000 })
    const canvas = page.getByRole('application', { name: 'Timeline of the run' })
    await expect
      .poll(async () => Number(await canvas.getAttribute('data-bars')), { timeout: 20_000 })
      .toBeGreaterThan(100)
    expect(Number(await canvas.getAttribute('data-bars'))).toBeLessThan(6_000)
    expect(await elementCount(page)).toBeLessThan(fewest * 3)

    const list = page.getByRole('listbox', { name: 'Items of the run' })
    await list.focus()
    await list.press('End')
    await page.locator('[role=option][aria-selected=true] .item-label').getByText('max_turns').waitFor()
    await page.getByRole('feed').locator('[data-part="60000"]').waitFor({ timeout: 20_000 })
    for (let press = 0; press < 20; press++) await list.press('PageUp')
    for (let press = 0; press < 10; press++) await page.getByRole('feed').evaluate((feed) => feed.scrollBy(0, -2_000))
    expect(await elementCount(page)).toBeLessThan(fewest * 4)
    await list.press('Home')
    await page.locator('[role=option][aria-selected=true] .item-label').getByText('turn 1', { exact: true }).waitFor()
    expect(await page.locator('[role=option]').count()).toBeLessThan(80)
  })
})
