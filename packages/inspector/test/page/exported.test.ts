import { mkdtempSync, rmSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { exportedPage, readPageFiles } from '../../src/index.ts'
import { transcriptParts, viewOf, type InspectedSession } from '@halting/analysis/view'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { plainSource } from '../support/plain-source.ts'
import { hostileSession, hostileText } from '../../../analysis/test/support/sessions.ts'

const folder = mkdtempSync(join(tmpdir(), 'halting-exported-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes it as `halting inspect --output` does and returns its file URL. */
async function exportToFile(session: InspectedSession): Promise<string> {
  const page = await readPageFiles(join(inject('program'), 'dist', 'inspector'))
  const file = join(folder, 'it.html')
  const source = {
    records: (_key: string, run: number, from: number, count: number) =>
      Promise.resolve(session.runs[run]?.slice(from, from + count) ?? []),
    parts: (_key: string, run: number, from: number, count: number) =>
      Promise.resolve(transcriptParts(session, run).slice(from, from + count)),
  }
  for await (const piece of exportedPage({ page, view: viewOf(session), source })) await appendFile(file, piece)
  return pathToFileURL(file).href
}

describe.skipIf(!isChromiumInstalled)('an exported session in a browser', () => {
  const open = withBrowser()

  test('works from disk: nothing in it runs, nothing is requested, and the content of the model is shown', async () => {
    const session = hostileSession()
    const address = await exportToFile(session)
    const key = encodeURIComponent(session.key)
    const { page, requests } = await open(plainSource(), { address, fragment: `#/session/${key}/1/timeline` })
    await page.getByText(hostileText.slice(0, 33), { exact: false }).first().waitFor()
    for (const tab of ['plots', 'what-if', 'timeline']) {
      await page.goto(`${address}#/session/${key}/1/${tab}`)
      await page.locator('#app > *').first().waitFor()
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save ending as PNG' }).click(),
    ])
    expect((await readFile(await download.path())).subarray(1, 4).toString()).toBe('PNG')
    await page.goto(`${address}#/`)
    await page.getByText(hostileText.slice(0, 33), { exact: false }).first().waitFor()
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
    // A saved picture comes from the page itself.
    const asked = requests.filter((each) => !each.startsWith('blob:'))
    expect(new Set(asked.map((each) => each.replace(/#.*/s, '')))).toEqual(new Set([address]))
  })
})
