// Session files end to end: the file, the program that reads it, its server or exported page, and a browser.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../../../agent/test/support/deep.ts'
import { isChromiumInstalled, withPages } from '../../../inspector/test/support/browser.ts'
import { hostileCopy, hostileJournal } from '../support/hostile-files.ts'
import { largeFile, largeJournal, lineOfClaudeCode, linesOfCodex } from '../support/large-files.ts'
import { inspectorStarter } from '../support/inspector.ts'
import { here, installProgram, run } from '../support/program.ts'

installProgram()

/** Time limit for a busy machine. */
const patienceMs = 60_000

/** Lines of a large file; a hundred thousand in the deep checks. */
const lines = isWhole ? 100_000 : 30_000
const large = ['ours', 'claude-code', 'codex'] as const
const pathOf = (folder: 'hostile' | 'large', name: string): string => join(here(), folder, `${name}.jsonl`)
/** A name that would be markup, and a path that leads elsewhere. */
const hostile = ['<img src=x onerror=hacked=1>', '..%2f..%2fetc', '"\'&amp;#?'] as const

const inspecting = inspectorStarter()

beforeAll(async () => {
  if (!isChromiumInstalled) return
  for (const folder of ['hostile', 'large']) mkdirSync(join(here(), folder))
  await hostileJournal(pathOf('hostile', hostile[0]), hostile[0])
  hostileCopy('claude-code-polling.jsonl', pathOf('hostile', hostile[1]))
  hostileCopy('codex-rollout-0.jsonl', pathOf('hostile', hostile[2]))
  await largeJournal(pathOf('large', 'ours'), 'ours', lines)
  largeFile(pathOf('large', 'claude-code'), lines, lineOfClaudeCode)
  largeFile(pathOf('large', 'codex'), lines, linesOfCodex)
}, 2 * patienceMs)

/** How the program shows a session: from its server, and as a file. */
type Shown = 'served' | 'exported'

describe.skipIf(!isChromiumInstalled)('a file of a session in a browser (needs chromium)', () => {
  const open = withPages()

  /** The address of a session's page, without a fragment. */
  async function addressOf(path: string, shown: Shown): Promise<string> {
    if (shown === 'served') return (await inspecting([path])).address.replace(/#.*$/, '')
    const file = join(here(), 'it.html')
    expect(await run(['inspect', '--output', file, '--force', path])).toMatchObject({ status: 0, stdout: '' })
    return pathToFileURL(file).href
  }

  const ways = ['served', 'exported'] as const

  // Half of them in `.ci/run`: each program, and both ways.
  const largeShown = ways
    .flatMap((shown) => large.map((program) => ({ shown, program })))
    .filter((_, at) => isWhole || at % 2 === 0)

  it.each(largeShown)(
    'with tens of thousands of lines of $program scrolls to its end, $shown',
    async ({ program, shown }) => {
      const address = await addressOf(pathOf('large', program), shown)
      const { page } = await open(address, { fragment: `#/session/${program}/1/timeline` })
      page.setDefaultTimeout(patienceMs)
      expect(await endOf(page)).toBeGreaterThan(0.3 * lines)
      expect(await page.locator('*').count()).toBeLessThan(5_000)
      await page.getByRole('listbox', { name: 'Items of the run' }).press('Home')
      await page.getByRole('feed').locator('[data-part="0"]').waitFor()
    },
    2 * patienceMs,
  )

  const hostileShown = ways
    .flatMap((shown, way) => hostile.map((name, at) => ({ shown, name, isDrawn: (way + at) % 2 === 0 })))
    .filter(({ isDrawn }) => isWhole || isDrawn)

  it.each(hostileShown)(
    'with script in every field is shown with its endings, runs nothing and requests nothing: $name, $shown',
    async ({ name, shown }) => {
      const path = pathOf('hostile', name)
      // True: the program's own output.
      const { runs } = JSON.parse((await run(['why', path, '--json'])).stdout) as Why
      const address = await addressOf(path, shown)
      const session = `#/session/${encodeURIComponent(name)}`
      const { page } = await open(address, { fragment: `${session}/1/timeline` })
      page.setDefaultTimeout(patienceMs)
      for (const [index, { ending }] of runs.entries()) {
        await page.goto(`${address}${session}/${index + 1}/timeline`)
        await page
          .locator('#ending')
          .getByText(ending?.reason ?? 'No ending is recorded')
          .first()
          .waitFor()
        await page.getByRole('feed').getByText('window.hacked').first().waitFor()
        await openAll(page)
        expect(await strangersOn(page)).toEqual([])
        for (const tab of ['plots', 'what-if']) {
          await page.goto(`${address}${session}/${index + 1}/${tab}`)
          await page.locator('figure, .what-if-verdict').first().waitFor()
          expect(await strangersOn(page)).toEqual([])
        }
      }
      for (const [fragment, view] of otherViews(name)[shown]) {
        await page.goto(`${address}${fragment}`)
        await page.locator(view).first().waitFor()
        expect(await strangersOn(page)).toEqual([])
      }
    },
    2 * patienceMs,
  )
})

/** The views of several sessions, and how to recognize each. A file has one session, and shows it instead. */
function otherViews(name: string): {
  readonly [shown in Shown]: readonly (readonly [fragment: string, view: string])[]
} {
  const key = encodeURIComponent(name)
  const [list, compare, whatIf] = ['#/', `#/compare/${key}/${key}`, '#/what-if']
  const session = '[data-view=session] #ending'
  return {
    served: [
      [list, '[data-view=sessions] .virtual-row'],
      [compare, '[data-view=compare] .pair'],
      [whatIf, '[data-view=what-if] h1, [data-view=what-if] h2, [data-view=what-if] p'],
    ],
    exported: [
      [list, session],
      [compare, session],
      [whatIf, session],
    ],
  }
}

interface Why {
  readonly runs: readonly { readonly ending: { readonly reason: string } | null }[]
}

/** Text on the page or in its objects that came from a session. */
function strangersOn(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const elements = [
      ...document.querySelectorAll('img, iframe, object, embed, base, form[action], svg script, [onerror], [onload]'),
    ]
    const links = [...document.querySelectorAll('a')].filter(({ protocol }) => protocol === 'javascript:')
    const fields = ['hacked' in window ? 'hacked' : '', 'polluted' in {} ? 'polluted' : '']
    return [...[...elements, ...links].map(({ outerHTML }) => outerHTML), ...fields.filter((each) => each !== '')]
  })
}

/** Unfolds everything, opens records, and searches. */
async function openAll(page: Page): Promise<void> {
  for (const summary of (await page.locator('.part summary').all()).slice(0, 8)) await summary.click()
  await page.getByRole('tab', { name: 'Records' }).click()
  await page.locator('.records pre').first().waitFor()
  await page.getByRole('tab', { name: 'Transcript' }).click()
  await page.getByRole('searchbox').fill('window.hacked=1')
  await page.keyboard.press('Enter')
  await page.getByText(/^Found in \d+ parts?/).waitFor()
  await page.getByRole('searchbox').press('Escape')
}

/** Scrolls to the ending through the list of items; returns the number of the last visible item. */
async function endOf(page: Page): Promise<number> {
  await page.getByRole('feed').locator('.part').first().waitFor()
  await page.locator('#ending').getByText('completed').first().waitFor()
  const list = page.getByRole('listbox', { name: 'Items of the run' })
  await list.focus()
  await list.press('End')
  await page.locator('[role=option][aria-selected=true] .item-label').getByText('completed').waitFor()
  const parts = page.getByRole('feed').locator('.part')
  await expect
    .poll(async () => Number(await parts.last().getAttribute('data-part')), { timeout: patienceMs })
    .toBeGreaterThan(1_000)
  return Number(await parts.last().getAttribute('data-part'))
}
