// Holds R-WHYW-2 on the page: a wait for a service is a mark with its length and cause, and is not active time.
import { describe, expect, it } from 'vitest'
import { transcriptParts, viewOf } from '@halting/analysis/view'
import { timeBars } from '../../src/page/session/ending-figures.ts'
import { isMoment, itemLine } from '../../src/page/session/item-words.ts'
import { calls, limited, says, serviceRun } from '../../../analysis/test/support/service-runs.ts'
import { sessionOf } from '../../../analysis/test/support/sessions.ts'
import { isChromiumInstalled, withBrowser } from '../support/browser.ts'
import { generatedSource } from '../support/generated-session.ts'

async function session() {
  const records = await serviceRun([calls('Look'), limited(), says('done')])
  const inspected = sessionOf([records], { key: 'made' })
  const view = viewOf(inspected)
  const [run] = view.runs
  if (run === undefined) throw new Error('The session has no run.')
  return { view, records: [records], parts: [transcriptParts(inspected, 0)], run }
}

it('a wait shows its length and its cause, and has a row in the time of the run', async () => {
  const { run } = await session()
  const waits = run.items.filter(({ kind }) => kind === 'wait')
  expect(waits.map(isMoment)).toEqual([true])
  expect(waits.map(itemLine)).toEqual([
    expect.stringMatching(/^wait For claude-x \(429 rate_limit\), over, waited 1 h(?: 0 min)?, at 0 ms$/),
  ])
  expect(timeBars(run).at(-1)).toMatchObject({ label: 'services', share: null, value: '1 h, not active' })
})

describe.skipIf(!isChromiumInstalled)('waits on the page (needs chromium)', () => {
  const open = withBrowser()

  it('are in the list and between the messages', async () => {
    const { page } = await open(generatedSource(await session()), { fragment: '#/session/made/1/timeline' })
    await page.getByRole('feed').getByText('for claude-x (429 rate_limit).').waitFor()
    expect(await page.getByRole('option').filter({ hasText: 'For claude-x (429 rate_limit)' }).count()).toBe(1)
  })
})
