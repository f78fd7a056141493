// Holds rules of docs/spec: R-GRADE-8, R-GRADE-9: the page shows grades and calibrated limits as the program prints them.
import type { Calibration } from '@halting/analysis'
import { calibratedRows } from '@halting/analysis/words'
import type { SessionSource } from '@halting/analysis/view'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../../../inspector/test/support/browser.ts'
import { toolReply, storeSession, textReply } from '../support/store-session.ts'
import { installProgram, run, start, type Running } from '../support/program.ts'
import { sourceAt } from '../../../inspector/test/support/served-source.ts'

installProgram()

const idOf = (number: number): string => `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`

let inspecting: Running | undefined
let source: SessionSource | undefined

beforeAll(async () => {
  if (!isChromiumInstalled) return
  for (let number = 1; number <= 22; number++)
    await storeSession(idOf(number), [toolReply(['Read', { file_path: 'a' }]), textReply('done')])
  const looks = Array.from({ length: 9 }, () => toolReply(['Edit', { file_path: 'same' }]))
  await storeSession(idOf(23), looks, { maxTurns: 8 })
  await run(['grade', idOf(1), 'good'])
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

describe.skipIf(!isChromiumInstalled)('calibrated limits and grades on the page (needs chromium)', () => {
  const open = withBrowser()

  it("says how many solved runs are missing, and shows the program's limits for a larger share", async () => {
    const { page } = await open(served(), { fragment: '#/what-if' })
    await page.getByRole('button', { name: 'Read 23 sessions' }).click()
    const section = page.getByRole('region', { name: 'Calibrated limits' })
    await section.getByText('too few solved runs: 22 of 50 needed').waitFor()
    await section.getByLabel('Solved runs that a limit may lose').selectOption('5')
    await section.getByRole('table').waitFor()
    const { stdout } = await run(['what-if', '--suggest', '--may-lose', '5%', '--json'])
    const { calibration } = JSON.parse(stdout) as { readonly calibration: Calibration }
    const [group] = calibration.groups
    const rows = await section.getByRole('table').getByRole('row').allTextContents()
    const expected = (group === undefined ? [] : calibratedRows(group)).map(
      ({ label, limit, lost, toExpect, saves }) => `${label}${limit}${lost}${toExpect}${saves}`,
    )
    expect(expected.length).toBe(4)
    expect(rows.slice(1)).toEqual(expected)
    expect(await section.locator('.what-if-command').textContent()).toBe(
      'halting what-if --suggest --may-lose 5% --save',
    )
    expect(await section.textContent()).toContain('22 of 23 runs solved: 1 graded by you, 21 guesses.')
  })

  it('shows the grade of a run with its ending', async () => {
    const { page } = await open(served(), { fragment: `#/session/${idOf(1)}/1/ending` })
    expect(await page.getByText('good, graded by you').textContent()).toBe('good, graded by you')
    const other = await open(served(), { fragment: `#/session/${idOf(23)}/1/ending` })
    expect(await other.page.getByText('bad, a guess').textContent()).toBe('bad, a guess')
  })
})
