import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { generatedSession, generatedSource } from '../support/generated-session.ts'

const fragment = '#/session/made/1/timeline'
const selectedItem = (page: Page): Promise<string | null> =>
  page.locator('[role=option][aria-selected=true] .item-label').textContent()
const selectedPart = (page: Page): Promise<string | null> =>
  page.locator('.part[aria-current=true]').getAttribute('data-part')

/** How many bars the timeline has drawn. */
async function barsOn(page: Page): Promise<number> {
  const canvas = page.getByRole('application', { name: 'Timeline of the run' })
  const bars = async (): Promise<number> => Number(await canvas.getAttribute('data-bars'))
  await expect.poll(bars).toBeGreaterThan(0)
  return bars()
}

describe.skipIf(!isChromiumInstalled)('a session on the page (needs chromium)', () => {
  const open = withBrowser()

  it('has one selection for the list, the transcript, the records and the timeline', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 30 })), { fragment })
    await page.getByRole('feed').getByText('Prompt of run 1').waitFor()
    for (const key of ['j', 'j', 'j', 'j', 'k']) await page.keyboard.press(key)
    expect(await selectedItem(page)).toBe('Read file-1.ts')
    expect(await selectedPart(page)).toBe('2')
    await page.getByRole('feed').getByText('Result of Read 1', { exact: true }).waitFor()

    expect(await page.evaluate(() => scrollY)).toBe(0)
    await page.locator('.part[data-part="6"]').click()
    expect(await selectedItem(page)).toBe('Edit file-2.ts')

    await page.getByRole('tab', { name: 'Records' }).click()
    await page.locator('.records').getByText('"label": "Edit file-2.ts"').waitFor()

    // The first bar of the third lane: the tools.
    const canvas = page.getByRole('application', { name: 'Timeline of the run' })
    await canvas.focus()
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'Home', 'Enter']) await canvas.press(key)
    await page.getByRole('tab', { name: 'Transcript' }).click()
    const box = await canvas.boundingBox()
    await canvas.click({ position: { x: (box?.width ?? 0) * (60 / 3_000), y: 20 + 22 * 2 + 11 } })
    expect(await selectedItem(page)).toBe('Read file-1.ts')
    await page.keyboard.press('Escape')
    expect(await page.locator('[role=option][aria-selected=true]').count()).toBe(0)
  })

  it('zooms the timeline by keys and by the wheel, and draws less', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 100 })), { fragment })
    const canvas = page.getByRole('application', { name: 'Timeline of the run' })
    const bars = async (): Promise<number> => Number(await canvas.getAttribute('data-bars'))
    await expect.poll(bars).toBeGreaterThan(300)
    const before = await bars()
    await canvas.focus()
    for (let press = 0; press < 8; press++) await canvas.press('+')
    await expect.poll(bars).toBeLessThan(before / 5)
    await canvas.press('0')
    await expect.poll(bars).toBe(before)
    await canvas.hover()
    await page.mouse.wheel(0, -1_500)
    await expect.poll(bars).toBeLessThan(before / 3)
    await page.getByRole('button', { name: 'All' }).click()
    await expect.poll(bars).toBe(before)
  })

  it('folds and unfolds agents', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 5 })), { fragment })
    const lanes = page.locator('.lane-names > div')
    await expect.poll(() => lanes.count()).toBe(9)
    await page.getByRole('button', { name: 'Unfold agents' }).click()
    await expect.poll(() => lanes.count()).toBe(7)
  })

  it('saves the timeline as a picture that names each bar', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 7 })), { fragment })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save timeline as SVG' }).click(),
    ])
    const svg = readFileSync(await download.path(), 'utf8')
    expect(svg).toContain('<title>tool Edit file-7.ts, failed, 40 ms, at 650 ms</title>')
    expect(svg).toContain('>Run 1 of 1, ending: max_turns.</text>')
    expect(svg).toContain('>Session made</text>')
  })

  it('switches runs and tabs by keys, and shows the ending of each run with its figures', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 4, runs: 2 })), { fragment })
    const ending = page.locator('#ending')
    await ending.getByText('max_turns: Step limit reached: 4/4').waitFor()
    await ending.getByText('max_turns: why of run 1').waitFor()
    expect(await ending.getByRole('meter', { name: 'turns' }).getAttribute('aria-valuetext')).toBe('4 of 4, reached')
    expect(await ending.getByRole('meter', { name: 'dollars' }).getAttribute('aria-valuenow')).toBe('25')
    await page.keyboard.press(']')
    await ending.getByText('max_turns: why of run 2').waitFor()
    expect(new URL(page.url()).hash).toBe('#/session/made/2/timeline')
    for (const [key, tab] of Object.entries({ p: 'Plots', w: 'What if', t: 'Timeline' })) {
      await page.keyboard.press(key)
      await page.getByRole('tab', { name: tab, selected: true }).waitFor()
    }
  })

  it('goes to the ending from each of its tabs', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 30 })), {
      fragment: '#/session/made/1/plots',
      height: 300,
    })
    await page.getByRole('tab', { name: 'Plots', selected: true }).waitFor()
    await page.keyboard.press('e')
    await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor()
    const top = (): Promise<number> => page.locator('#ending').evaluate((ending) => ending.getBoundingClientRect().top)
    await expect.poll(top).toBeLessThan(200)
    await page.evaluate(() => scrollTo(0, 0))
    await page.getByRole('button', { name: 'Why it ended' }).click()
    await expect.poll(top).toBeLessThan(200)
  })

  it('searches its items at once, and the messages on request', async () => {
    const { page } = await open(generatedSource(generatedSession({ turns: 100 })), { fragment })
    await page.getByRole('feed').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('file-77')
    await page.getByText('2 items').waitFor()
    await page.getByRole('searchbox').fill('answer 77')
    await page.keyboard.press('Enter')
    await page.getByText('Found in 1 part', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Answer 77' }).click()
    await page.getByRole('feed').getByText('Answer 77', { exact: true }).waitFor()
    await page.getByRole('searchbox').press('Escape')
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
  })

  it('follows a session that continues, and keeps the selection', async () => {
    const source = generatedSource(generatedSession({ turns: 3 }))
    const { page } = await open(source, { fragment })
    await page.getByRole('feed').getByText('Answer 3').waitFor()
    const before = await barsOn(page)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    source.change(generatedSession({ turns: 6 }))
    await page.getByRole('feed').getByText('Answer 6').waitFor()
    await page.locator('#ending').getByText('Step limit reached: 6/6').waitFor()
    expect(await selectedItem(page)).toBe('model-1')
    await expect.poll(() => barsOn(page)).toBeGreaterThan(before * 1.5)
  })

  it('shows the beginning of a long session, says so, and shows all of it once it has been read', async () => {
    const [begun, whole] = [generatedSession({ turns: 4 }), generatedSession({ turns: 40 })]
    let isRead = (): void => undefined
    const reading = new Promise<void>((resolve) => (isRead = resolve))
    const { page } = await open(
      {
        ...generatedSource(whole),
        async session(_key, asked) {
          if (asked === 'beginning') return { ...begun.view, row: whole.view.row, isBeginning: true }
          await reading
          return whole.view
        },
      },
      { fragment },
    )
    await page.getByText('until all of it has been read').waitFor()
    await page.getByText('40 turns').waitFor()
    const numbers = async (): Promise<string> => (await page.locator('.numbers').first().textContent()) ?? ''
    expect(await numbers()).not.toMatch(/tokens|\$|call/)
    const before = await barsOn(page)
    // Totals that need the whole session are absent.
    expect(await page.locator('#ending').count()).toBe(0)
    expect(await page.getByText('Step limit reached').count()).toBe(0)
    await page.keyboard.press('p')
    await page.getByText('Reading …', { exact: true }).waitFor()
    await page.keyboard.press('t')
    await page.keyboard.press('e')
    isRead()
    await page.locator('#ending').getByText('Step limit reached: 40/40').waitFor()
    const ofEnding = (): Promise<boolean> =>
      page.locator('#ending').evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect()
        return top < innerHeight && bottom > 0
      })
    await expect.poll(ofEnding).toBe(true)
    await expect.poll(() => barsOn(page)).toBeGreaterThan(before * 3)
    expect(await page.getByText('until all of it has been read').count()).toBe(0)
    expect(await numbers()).toMatch(/tokens, \$/)
  })

  it('says what to do where the session does not exist', async () => {
    const { page, problems } = await open(generatedSource(), { fragment: '#/session/none/1/timeline' })
    expect(await page.getByRole('alert').textContent()).toMatch(/\w/)
    // The browser logs the 404 response to its console.
    expect(problems.splice(0).filter((problem) => !problem.includes('404'))).toEqual([])
  })

  it('has one column at 320 pixels, and nothing scrolls sideways', async () => {
    const session = generatedSession({ turns: 30, runs: 2, say: (what) => `${what} ${'longword'.repeat(20)}` })
    const { page } = await open(generatedSource(session), { fragment, width: 320, height: 640 })
    await page.getByRole('feed').locator('.part').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    const [list, feed] = await Promise.all([
      page.getByRole('listbox').boundingBox(),
      page.getByRole('feed').boundingBox(),
    ])
    expect((feed?.y ?? 0) > (list?.y ?? 0) + (list?.height ?? 0)).toBe(true)
  })

  it('executes nothing and requests nothing, whatever its texts contain', async () => {
    const say = (what: string): string =>
      `${what}</script><script>alert(1)</script><img src="http://example.invalid/x" onerror="alert(2)"><a href="javascript:alert(3)">\u202E\u001B[31m`
    const { page, requests, url } = await open(generatedSource(generatedSession({ turns: 6, say })), { fragment })
    await page.getByRole('feed').locator('.part').first().waitFor()
    for (let press = 0; press < 8; press++) await page.keyboard.press('j')
    await page.getByRole('tab', { name: 'Records' }).click()
    await page.locator('.records pre').first().waitFor()
    await page.getByRole('application').hover()
    for (const fragmentOf of ['#/', '#/session/made/1/plots', '#/session/made/1/what-if', '#/what-if'])
      await page.goto(`${url}${fragmentOf}`)
    await page.goto(`${url}${fragment}`)
    await page.getByRole('feed').locator('.part').first().waitFor()
    expect(await page.locator('img, main script, a[href^="javascript"]').count()).toBe(0)
    // Characters that change the text direction are visible and have no effect.
    expect(await page.getByRole('feed').innerText()).toContain('⟦U+202E⟧')
    expect(requests.filter((asked) => !asked.startsWith(url) && !asked.startsWith('data:'))).toEqual([])
  })
})
