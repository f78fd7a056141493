// Holds R-GOAL-84 on the page: check rounds in the transcript and the list, and the state of the goals of the run.
import { expect, it, describe } from 'vitest'
import { transcriptParts, viewOf, type RunView, type TranscriptPart } from '@halting/analysis/view'
import { pictureOfEnding, goalLines } from '../../src/page/session/ending-figures.ts'
import { failed, filesOf, goalOf, goalRun } from '../../../analysis/test/support/goal-runs.ts'
import { sessionOf } from '../../../analysis/test/support/sessions.ts'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { generatedSource, type GeneratedSession } from '../support/generated-session.ts'

const hostile = '<img src=x onerror=document.title=1>'

/** A session of a run whose goal was not met, as it is sent to the page. */
async function session(): Promise<GeneratedSession & { readonly run: RunView }> {
  const until = [{ ...goalOf(failed(), failed(`${hostile}\n2 failed`)), name: `npm test ${hostile}` }]
  const { records } = await goalRun({ until, maxGoalTries: 1, goalFiles: filesOf([], ['a.test.ts']) })
  const inspected = sessionOf([records], { key: 'made' })
  const view = viewOf(inspected)
  const [run] = view.runs
  if (run === undefined) throw new Error('The session has no run.')
  const parts: readonly TranscriptPart[] = transcriptParts(inspected, 0)
  return { view, records: [records], parts: [parts], run }
}

it('the ending shows the state of the goals, in its picture too', async () => {
  const { run } = await session()
  expect(goalLines(run)).toEqual([
    `\`npm test ${hostile}\``,
    'Not met after 1 of 1 try; it was not met at the start.',
    `\`npm test ${hostile}\` failed with exit code 1.`,
    'The agent changed 1 test file: a.test.ts.',
    expect.stringMatching(/^Checked 3 times, in /),
  ])
  expect(pictureOfEnding(run).blocks.length).toBeGreaterThan(4)
  const { goal: _, ...account } = run.account
  expect(goalLines({ ...run, account })).toEqual([])
})

describe.skipIf(!isChromiumInstalled)('goals on the page (needs chromium)', () => {
  const open = withBrowser()

  it('are shown as check rounds between the messages and as a list next to the ending, never as markup', async () => {
    const { page } = await open(generatedSource(await session()), { fragment: '#/session/made/1/timeline' })
    const feed = page.getByRole('feed')
    await feed.getByText('Check before the first request: not met').waitFor()
    const kinds = await feed.locator('.part').evaluateAll((parts) => parts.map((part) => part.className))
    expect(kinds.map((kind) => kind.split(' ')[1])).toContain('check')
    await feed.getByText('Check of the answer: not met').first().click()
    await feed.getByText('2 failed').first().waitFor()
    await page.locator('.run-goals').getByText('Not met after 1 of 1 try').waitFor()
    expect(await page.locator('img[src=x]').count()).toBe(0)
    expect(await page.getByRole('option').filter({ hasText: 'goal: npm test' }).count()).toBe(3)
  })
})
