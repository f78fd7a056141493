// The page compared with the program: both calculate other limits for the same sessions.
import type { SessionSource } from '@halting/analysis/view'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../../../inspector/test/support/browser.ts'
import { toolReply, storeSession, textReply } from '../support/store-session.ts'
import { installProgram, run, start, type Running } from '../support/program.ts'
import { sourceAt } from '../../../inspector/test/support/served-source.ts'

installProgram()

const [good, circling] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

let inspecting: Running | undefined
let source: SessionSource | undefined

beforeAll(async () => {
  if (!isChromiumInstalled) return
  await storeSession(good, [
    toolReply(['Read', { file_path: 'a' }]),
    toolReply(['Edit', { file_path: 'a' }]),
    textReply('done'),
  ])
  const looks = Array.from({ length: 30 }, () => toolReply(['Read', { file_path: 'same' }]))
  await storeSession(circling, [toolReply(['Edit', { file_path: 'b' }]), ...looks], { maxTurns: 25 })
  inspecting = start(['inspect'])
  await inspecting.waitForOutput('\n')
  source = sourceAt(inspecting.stdout().trimEnd())
})
afterAll(async () => {
  inspecting?.child.kill('SIGINT')
  await inspecting?.ended
})

function served(): SessionSource {
  if (source === undefined) throw new Error('The program serves nothing.')
  return source
}

/** The program's paragraph about one session, on one line. */
async function printedBy(args: readonly string[]): Promise<string> {
  const { stdout, stderr, status } = await run(['what-if', ...args])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .join(' ')
}

describe.skipIf(!isChromiumInstalled)('what-if on the page (needs chromium)', () => {
  const open = withBrowser()

  it.each([
    { key: good, field: 'Turns: turns', written: '2', flags: ['--max-turns', '2'] },
    { key: good, field: 'Turns: turns', written: '3', flags: ['--max-turns', '3'] },
    { key: good, field: 'Dollars: US dollars', written: '1.5', flags: ['--max-budget-usd', '1.5'] },
    { key: circling, field: 'Tokens: tokens', written: '5000', flags: ['--max-tokens', '5000'] },
    { key: circling, field: 'Time: seconds', written: '3600', flags: ['--max-duration', '3600s'] },
    { key: circling, field: 'Turns: turns', written: '26', flags: ['--max-turns', '26'] },
  ])('answers $flags like the program', async ({ key, field, written, flags }) => {
    const { page } = await open(served(), { fragment: `#/session/${key}/1/what-if` })
    await page.getByLabel(field, { exact: true }).fill(written)
    const printed = await printedBy([key, ...flags])
    const verdict = await page.locator('.what-if-verdict').textContent()
    expect(printed).toContain(verdict)
    const figures = await figuresOn(page)
    expect(figures['Saved']).toBe(/Saves (.*?)\.(?: Loses .*)?$/.exec(printed.trim())?.[1])
    expect(figures['Lost'] ?? 'nothing').toBe(/Loses (.*?)\./.exec(printed)?.[1] ?? 'nothing')
    expect(await page.locator('.what-if-command').textContent()).toContain(` ${flags.join(' ')} `)
  })

  it('answers while a slider is moved by keys, and marks the stop', async () => {
    const { page } = await open(served(), { fragment: `#/session/${circling}/1/what-if` })
    await page.getByLabel('Turns: slider').focus()
    await page.keyboard.press('Home')
    for (let step = 0; step < 4; step++) await page.keyboard.press('ArrowRight')
    await expect
      .poll(() => page.locator('.what-if-verdict').textContent())
      .toContain('Would have stopped after 5 turns')
    expect(await page.locator('.what-if-bars').getAttribute('data-stop')).toBe('5')
    await page.getByRole('button', { name: 'Turns: reset' }).click()
    expect(await page.locator('.what-if-bars').getAttribute('data-stop')).toBe('')
  })

  it('suggests the same limits over all sessions as the program, and lists which runs a limit stops', async () => {
    const { page } = await open(served(), { fragment: '#/what-if' })
    await page.getByRole('button', { name: 'Read 2 sessions' }).click()
    const suggested = page.getByRole('region', { name: 'Suggested limits' })
    await suggested.waitFor()
    const { stdout } = await run(['what-if', good, circling, '--suggest', '--json'])
    // Its own words.
    const printed = JSON.parse(stdout) as {
      readonly suggested: readonly {
        readonly stops: number
        readonly saved: { readonly turns: number; readonly tokens: number }
      }[]
    }
    expect(printed.suggested.length).toBeGreaterThan(0)
    const lines = await suggested.getByRole('listitem').allTextContents()
    expect(lines).toEqual(
      printed.suggested.map(({ stops, saved }) => {
        const figures = `stops ${stops} run${stops === 1 ? '' : 's'}, saves ${saved.turns} turns, ${saved.tokens.toLocaleString('en')} tokens`
        return expect.stringContaining(figures) as string
      }),
    )
    await page.getByText('As a table').click()
    await page
      .getByRole('row', { name: /^limit of turns 3 / })
      .getByRole('button', { name: 'Which' })
      .click()
    const stopped = await page
      .getByRole('region', { name: 'Runs that this limit would stop' })
      .getByRole('listitem')
      .allTextContents()
    expect(stopped).toEqual([expect.stringContaining('Would have stopped after 3 turns')])
  })
})

async function figuresOn(page: Page): Promise<{ readonly [name: string]: string | undefined }> {
  const names = await page.locator('.what-if-figures dt').allTextContents()
  const values = await page.locator('.what-if-figures dd').allTextContents()
  return Object.fromEntries(names.map((name, index) => [name, values[index]]))
}
