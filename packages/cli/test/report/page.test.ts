// `HALTING_WRITE=1` takes its picture. Holds R-REP-7 of docs/spec: the page of a report in a real browser, which requests nothing, runs nothing and has no errors.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SessionSource } from '@halting/analysis/view'
import { beforeAll, describe, expect, test } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../../../inspector/test/support/browser.ts'
import { storeWeekSession, week } from '../support/store-week.ts'
import { here, installProgram, run } from '../support/program.ts'

installProgram()

/** The page is a file: it makes no request. */
const nothing: SessionSource = {
  title: 'none',
  async *list() {},
  row: () => Promise.resolve(undefined),
  session: () => Promise.resolve(undefined),
  records: () => Promise.resolve([]),
  parts: () => Promise.resolve([]),
  watch: () => () => undefined,
}

const evil = '<script>document.title="run"</script><img src="http://127.0.0.1:9/x" onerror="document.title=1">'

async function pageOf(...args: readonly string[]): Promise<string> {
  const file = `page-${args.length}.html`
  const { status } = await run(['report', ...args, '--format', 'html', '--output', file], { env: { TZ: 'UTC' } })
  expect(status).toBe(0)
  return pathToFileURL(join(here(), file)).href
}

describe.skipIf(!isChromiumInstalled)('in a browser', () => {
  const open = withBrowser()

  beforeAll(async () => {
    for (const session of week) await storeWeekSession(session, here())
  })

  test('has all its parts, and the same tables as the terminal', async () => {
    const { page } = await open(nothing, {
      address: await pageOf('--since', '2026-11-16', '--until', '2026-11-22'),
      width: 900,
      height: 1_000,
    })
    expect(await page.title()).toBe('10 sessions of this folder, 2026-11-16 to 2026-11-22')
    const titles = await page.locator('h2').allTextContents()
    expect(titles).toEqual(
      expect.arrayContaining(['By day', 'By model', 'How they ended', 'Ended by a limit', 'Tools']),
    )
    const ended = page.getByRole('region', { name: 'How they ended' }).last().locator('tbody tr')
    expect((await ended.allInnerTexts()).map((row) => row.split('\t').slice(0, 3))).toEqual([
      ['completed', '0', '7'],
      ['max_turns', '3', '1'],
      ['no_progress', '3', '1'],
      ['did not end', '', '1'],
    ])
    const bars = page.getByRole('img', { name: 'Cost by day' }).locator('rect.one')
    const widths = await bars.evaluateAll((all) => all.map((bar) => Number(bar.getAttribute('width'))))
    expect(widths.indexOf(Math.max(...widths))).toBe(3)
    const picture = new URL('../../../../docs/pictures/report.png', import.meta.url)
    const clip = { x: 0, y: 0, width: 900, height: 850 }
    if (process.env['HALTING_WRITE'] === '1') await page.screenshot({ path: picture.pathname, clip })
  })

  test('fits a narrow page: wide parts scroll on their own', async () => {
    const { page } = await open(nothing, { address: await pageOf('.'), width: 320, height: 800 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  })

  test('runs nothing from a session', async () => {
    const folder = join(here(), 'hostile')
    mkdirSync(folder)
    const sample = join(import.meta.dirname, '../../../analysis/test/foreign/samples/claude-code-short.jsonl')
    const written = evil.replaceAll('"', '\\"')
    const text = readFileSync(sample, 'utf8')
      .replaceAll('"content":"hi"', `"content":"${written}"`)
      .replaceAll('/home/user/project', `/home/${written}`)
      .replaceAll('"test-tool"', `"${written}"`)
      .replaceAll('claude-3-haiku-20240307', written)
    writeFileSync(join(folder, 'evil.jsonl'), text)
    const { page } = await open(nothing, { address: await pageOf('hostile', '--since', '2026-01-01') })
    expect(await page.title()).toContain('1 session')
    expect(await page.locator('script, img').count()).toBe(0)
    expect(await page.locator('td, th').allTextContents()).toEqual(expect.arrayContaining([evil]))
  })
})
