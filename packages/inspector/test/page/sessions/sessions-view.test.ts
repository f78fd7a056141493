import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { money } from '@halting/analysis/words'
import { histogramOf } from '../../../src/page/sessions/distribution.ts'
import { rangeText } from '../../../src/page/sessions/figure-text.ts'
import { sumsOf } from '../../../src/page/sessions/sums.ts'
import type { SessionRow, TranscriptPart } from '@halting/analysis/view'
import { isChromiumInstalled, withBrowser } from '../../support/browser.ts'
import { plainSource, type PlainSource } from '../../support/plain-source.ts'
import { manyRows } from '../support/many-rows.ts'
import { rowWith } from '../support/rows.ts'

const sourceOf = (rows: readonly SessionRow[], parts: readonly TranscriptPart[] = []): PlainSource =>
  plainSource(rows.map((row) => ({ row, records: [], parts })))

const firstTitles = (page: Page, count: number): Promise<readonly string[]> =>
  page.locator('.virtual-row .cell-title').evaluateAll(
    (cells, most) =>
      cells
        .map((cell) => ({ text: cell.textContent ?? '', top: cell.getBoundingClientRect().top }))
        .toSorted((a, b) => a.top - b.top)
        .map(({ text }) => text)
        .slice(0, most),
    count,
  )

/** The keys of the visible rows, from the top. */
const visibleKeys = (page: Page): Promise<readonly string[]> =>
  page.locator('.session-rows').evaluate((box) => {
    const { top, bottom } = box.getBoundingClientRect()
    return [...box.querySelectorAll<HTMLElement>('.virtual-row')]
      .map((row) => ({ key: row.dataset['key'] ?? '', at: row.getBoundingClientRect().top }))
      .filter(({ at }) => at >= top - 1 && at < bottom)
      .toSorted((a, b) => a.at - b.at)
      .map(({ key }) => key)
  })

const expectCount = (page: Page, count: string): Promise<void> =>
  page.locator('.sums strong', { hasText: count }).waitFor()

describe.skipIf(!isChromiumInstalled)('the list of sessions in a browser (needs chromium)', () => {
  const open = withBrowser()
  const rows = manyRows(2_000)

  it('has few of two thousand rows in the document, sums all of them, and sorts by a column', async () => {
    const { page } = await open(sourceOf(rows))
    await expectCount(page, '2,000 sessions')
    expect(await page.locator('.virtual-row').count()).toBeLessThan(60)
    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe('2001')
    expect(await page.locator('.sums').textContent()).toContain(money(sumsOf(rows).costUsd))
    expect(await firstTitles(page, 2)).toEqual(['Session number 0', 'Session number 1'])
    await page.getByRole('columnheader', { name: 'Dollars' }).getByRole('button').click()
    const dearest = rows.toSorted((a, b) => b.costUsd - a.costUsd || (a.key < b.key ? -1 : 1))
    expect(await firstTitles(page, 3)).toEqual(dearest.slice(0, 3).map(({ title }) => title))
    expect(page.url()).toContain('sort=costUsd%2Cdown')
    await page.locator('.session-rows').evaluate((box) => {
      box.scrollTop = box.scrollHeight
    })
    await page.locator('.virtual-row[aria-rowindex="2001"]').waitFor()
    expect(await page.locator('.virtual-row').count()).toBeLessThan(60)
  })

  it('works by keys: select, mark two, compare, and open', async () => {
    // The content of the other views does not matter here: they wait for their sessions.
    const { page } = await open({ ...sourceOf(rows), session: () => new Promise(() => {}) })
    await expectCount(page, '2,000 sessions')
    await page.getByRole('grid').focus()
    for (const key of ['ArrowDown', 'ArrowDown', ' ', 'PageDown', 'ArrowUp', ' ']) await page.keyboard.press(key)
    const marks = await page
      .locator('.virtual-row[aria-selected="true"]')
      .evaluateAll((all) => all.map((row) => (row instanceof HTMLElement ? row.dataset['key'] : '')))
    expect([marks.length, marks[0]]).toEqual([2, 's1'])
    await page.keyboard.press('c')
    await page.waitForURL(`**/#/compare/${marks.join('/')}`)
    await page.goBack()
    await page.getByRole('grid').focus()
    // The selection is unchanged.
    expect(await page.locator('.virtual-row[data-active="true"]').getAttribute('data-key')).toBe(marks[1])
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/#/session/s0/1/timeline')
  })

  it('moves by j and k wherever the focus is, as the help says', async () => {
    const { page } = await open({ ...sourceOf(rows), session: () => new Promise(() => {}) })
    await expectCount(page, '2,000 sessions')
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next session; Enter opens it, Space marks it').waitFor()
    await page.keyboard.press('Escape')
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
    expect(await page.locator('.virtual-row[data-active="true"]').getAttribute('data-key')).toBe('s0')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/#/session/s0/1/timeline')
  })

  it('keeps its filters in the address, so that a reload shows the same sessions', async () => {
    const { page } = await open(sourceOf(rows))
    await expectCount(page, '2,000 sessions')
    await page.locator('[data-dimension="ending"] summary').click()
    await page.getByRole('checkbox', { name: 'model_error' }).check()
    const failed = rows.filter(({ ending }) => ending === 'model_error').length
    await expectCount(page, `${failed} of 2,000 sessions`)
    await page.locator('[data-dimension="ending"] summary').click()
    await page.getByRole('searchbox', { name: 'Title, folder or id contains' }).fill('P3 number')
    const both = rows.filter(({ ending, cwd }) => ending === 'model_error' && cwd === '/work/p3').length
    await expectCount(page, `${both} of 2,000 sessions`)
    await page.reload()
    await expectCount(page, `${both} of 2,000 sessions`)
    await page.getByRole('button', { name: 'Remove filter: ending: model_error' }).click()
    await expectCount(page, `${rows.filter(({ cwd }) => cwd === '/work/p3').length} of 2,000 sessions`)
    await page.getByRole('button', { name: 'All sessions' }).click()
    await expectCount(page, '2,000 sessions')
    expect(new URL(page.url()).hash).toBe('#/')
  })

  it('draws the distribution of dollars, and shows the sessions of a bar', async () => {
    const { page } = await open(sourceOf(rows))
    await expectCount(page, '2,000 sessions')
    const { bins } = histogramOf(
      rows.map(({ costUsd }) => costUsd),
      'costUsd',
    )
    const dollars = page.locator('[data-figure="costUsd"]')
    expect(
      await dollars.locator('.column').evaluateAll((bars) => bars.map((bar) => bar.getAttribute('data-count'))),
    ).toEqual(bins.map(({ count }) => String(count)))
    const bin = bins[5] ?? { count: 0 }
    const bar = dollars.getByRole('button', { name: `${rangeText('costUsd', bin)}: ${bin.count} sessions` })
    await bar.click()
    await expectCount(page, `${bin.count} of 2,000 sessions`)
    // The other bars stay, so that one of them can be selected instead.
    expect(await dollars.locator('.column').count()).toBe(bins.length)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await expectCount(page, `${bins[6]?.count} of 2,000 sessions`)
    await page.locator('[data-figure="model"]').getByRole('button', { name: 'claude-opus-5' }).click()
    const opus = rows.filter(
      ({ costUsd, models }) =>
        models[0] === 'claude-opus-5' && costUsd >= (bins[6]?.from ?? 0) && costUsd < (bins[6]?.below ?? 0),
    )
    await expectCount(page, `${opus.length} of 2,000 sessions`)
  })

  it('saves a distribution as a picture that has its bars', async () => {
    const { page } = await open(sourceOf(rows))
    await expectCount(page, '2,000 sessions')
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save Endings of sessions as SVG' }).click()
    const download = await saved
    expect(download.suggestedFilename()).toBe('endings-of-sessions.svg')
    const svg = await readFile(await download.path(), 'utf8')
    expect(svg).toContain('<title>completed: 1,001</title>')
  })

  it('updates sessions in place, without moving the selection or the visible rows', async () => {
    const source = sourceOf(rows)
    const { page } = await open(source)
    await expectCount(page, '2,000 sessions')
    await page.getByRole('grid').focus()
    for (let count = 0; count < 3; count++) await page.keyboard.press('PageDown')
    const chosen = await page.locator('.virtual-row[data-active="true"]').getAttribute('data-key')
    const seen = await visibleKeys(page)
    const change = (key: string, more: Partial<SessionRow>): void => {
      const known = source.sessions.get(key)?.row ?? rowWith({ key })
      source.sessions.set(key, { row: { ...known, ...more }, records: [], parts: [] })
    }
    // The selected one continues and is now the newest; another one is added.
    change(chosen ?? '', { isLive: true, turns: 777, changedAt: 1_800_000_000_000 })
    change('new', { title: 'A new session', changedAt: 1_799_000_000_000 })
    source.change(chosen ?? '', 'new')
    await expectCount(page, '2,001 sessions')
    await page.locator('.virtual-row[data-active="true"] .cell-turns', { hasText: '777' }).waitFor()
    expect(await visibleKeys(page)).toEqual(seen)
    expect(await page.locator('.virtual-row[data-active="true"]').getAttribute('data-key')).toBe(chosen)
    await page.getByRole('button', { name: 'sort again' }).click()
    await page.locator('.session-rows').evaluate((box) => {
      box.scrollTop = 0
    })
    await page.locator('.virtual-row[data-key="new"]').waitFor()
    expect((await visibleKeys(page)).slice(0, 3)).toEqual([chosen, 'new', 's0'])
  })

  it('is read once: changes send only the changed rows, and a removed session disappears', async () => {
    const source = sourceOf(rows)
    let lists = 0
    const { page, requests } = await open({
      ...source,
      list(signal) {
        lists++
        return source.list(signal)
      },
    })
    await expectCount(page, '2,000 sessions')
    for (const turns of [701, 702, 703]) {
      source.sessions.set('s1', { row: { ...(rows[1] ?? rowWith()), turns }, records: [], parts: [] })
      source.change('s1')
      await page.locator('.virtual-row[data-key="s1"] .cell-turns', { hasText: String(turns) }).waitFor()
    }
    source.sessions.delete('s0')
    source.change('s0')
    await expectCount(page, '1,999 sessions')
    expect(await page.locator('.virtual-row[data-key="s0"]').count()).toBe(0)
    expect(lists).toBe(1)
    expect(requests.filter((asked) => asked.endsWith('api/sessions'))).toHaveLength(1)
  })

  it('has more sessions on request', async () => {
    const all = manyRows(5)
    const source = sourceOf(all.slice(0, 2))
    const { page } = await open({
      ...source,
      remaining: 3,
      async more() {
        for (const row of all.slice(2)) source.sessions.set(row.key, { row, records: [], parts: [] })
        source.change(...all.slice(2).map(({ key }) => key))
      },
    })
    await expectCount(page, '2 sessions')
    await page.getByRole('button', { name: 'List more (3)' }).click()
    await expectCount(page, '5 sessions')
    expect(await visibleKeys(page)).toHaveLength(5)
  })

  it('is read again once the connection for changes was broken', async () => {
    const source = sourceOf(manyRows(5))
    let isBroken = true
    const { page, problems } = await open({
      ...source,
      row(key) {
        const isFirst = isBroken
        isBroken = false
        return isFirst ? Promise.reject(new TypeError('undefined is no function')) : source.row(key)
      },
    })
    await expectCount(page, '5 sessions')
    source.sessions.delete('s0')
    source.change('s1')
    await expectCount(page, '4 sessions')
    // The browser logs the broken connection to its console.
    expect(problems.splice(0).filter((problem) => !problem.includes('net::ERR'))).toEqual([])
  })

  it('searches the messages, shows the matches, and clears them', async () => {
    const few = manyRows(20)
    const source = sourceOf(few, [{ kind: 'answer', text: 'hay' }])
    const parts: TranscriptPart[] = [{ kind: 'answer', text: 'here is the <b>Needle</b>' }]
    source.sessions.set('s7', { row: few[7] ?? rowWith(), records: [], parts })
    const { page } = await open(source)
    await expectCount(page, '20 sessions')
    await page.getByRole('searchbox', { name: 'Search the content' }).fill('needle')
    await page.keyboard.press('Enter')
    await page.getByText('20 of 20 sessions searched: found in 1 session.').waitFor()
    await expectCount(page, '1 of 20 sessions')
    expect(await page.locator('.hits').textContent()).toBe('Session number 7 here is the <b>Needle</b>')
    await page.getByRole('button', { name: 'Clear the search' }).click()
    await expectCount(page, '20 sessions')
  })

  it('says how many sessions are running, unreadable or outliers, and when there are none', async () => {
    const { page } = await open(
      sourceOf([
        rowWith({ key: 'a', isLive: true, ending: null, exitCode: null }),
        rowWith({ key: 'b', problem: 'torn' }),
        rowWith({ key: 'c', unpriced: ['gpt'] }),
        rowWith({ key: 'd', ending: 'model_error', exitCode: 1 }),
      ]),
    )
    await expectCount(page, '4 sessions')
    expect(await page.locator('.flags label').allTextContents()).toEqual([
      'running 1',
      'with a problem or an unknown price 2',
      'outliers 1',
    ])
    const { page: empty } = await open(sourceOf([]))
    await empty.getByText('There are no sessions here yet. A new session appears within two seconds.').waitFor()
    expect(await empty.getByRole('grid').count()).toBe(0)
  })

  it('names outliers and their reasons', async () => {
    const dear = rowWith({ key: 'dear', title: 'The dear one', costUsd: 9, ending: 'model_error', exitCode: 1 })
    const { page } = await open(
      sourceOf([...Array.from({ length: 9 }, (_, index) => rowWith({ key: `u${index}` })), dear]),
    )
    await page.getByRole('heading', { name: '1 outlier' }).waitFor()
    const reason = await page.locator('.outliers li').first().textContent()
    expect(reason).toBe(
      'The dear one: Unusually high: dollars $9.00; half of the sessions are between $0.0100 and $0.0100. It failed (model_error) and cost $9.00. ',
    )
  })

  it('shows the text of a title and executes none of it', async () => {
    const title = '<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202e[31m'
    const hostile = rowWith({
      key: '"><script>alert(3)</script>',
      title,
      cwd: 'javascript:alert(4)',
      models: ['<svg onload=alert(5)>'],
      ending: '<b onclick=alert(6)>',
      problem: '<iframe src=//elsewhere.example>',
      unpriced: ['<img src=//elsewhere.example>'],
    })
    const { page } = await open(sourceOf([hostile]))
    await expectCount(page, '1 session')
    await page.getByRole('grid').focus()
    await page.keyboard.press('ArrowDown')
    await page.locator('.session-details').waitFor()
    expect(await page.locator('.virtual-row .cell-title').textContent()).toBe(
      '<img src=x onerror=alert(1)></script><script>alert(2)</script>⟦U+202E⟧[31m',
    )
    expect(await page.locator('#app').locator('script, img, iframe, svg, [onclick]').count()).toBe(0)
    expect(
      await page.locator('#app a').evaluateAll((links) => links.map((link) => link.getAttribute('href')?.slice(0, 1))),
    ).toEqual(expect.not.arrayContaining(['j', 'd', '/']))
  })

  it.each([320, 640])('has one column at %d pixels, without scrolling sideways', async (width) => {
    const { page } = await open(sourceOf(rows), { width, height: 480 })
    await expectCount(page, '2,000 sessions')
    await page.getByRole('grid').focus()
    await page.keyboard.press('ArrowDown')
    await page.locator('.session-details').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    const rest = await page.locator('.session-rows').evaluate((box) => box.scrollWidth - box.clientWidth)
    expect(rest).toBe(0)
  })

  it('truncates no column, however wide it is', async () => {
    const { page } = await open(sourceOf(rows), { width: 1_800, height: 480 })
    await expectCount(page, '2,000 sessions')
    for (let width = 1_800; width >= 320; width -= 40) {
      await page.setViewportSize({ width, height: 480 })
      const beyond = (): Promise<number> =>
        page
          .locator('.virtual-row, .session-head .session-row')
          .evaluateAll((all) => Math.max(...all.map((row) => row.scrollWidth - row.clientWidth)))
      await expect.poll(beyond, { message: `${width} pixels` }).toBe(0)
    }
  })
})
