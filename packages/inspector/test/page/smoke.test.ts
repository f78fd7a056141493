import { describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { plainRow, plainSource } from '../support/plain-source.ts'

describe.skipIf(!isChromiumInstalled)('the page in a browser (needs chromium)', () => {
  const open = withBrowser()

  it('shows its header, lists its keys, and switches its colours', async () => {
    const { page } = await open(plainSource([{ row: plainRow('one'), records: [], parts: [] }], 'sessions of a test'))
    await page.getByText('sessions of a test').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Show these keys').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    expect(await paper()).toBe('rgb(255, 255, 255)')
    await page.getByLabel('Colours').selectOption('dark')
    expect(await paper()).toBe('rgb(15, 18, 22)')
  })
})
