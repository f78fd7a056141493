import { describe, expect, it } from 'vitest'
import { type SessionSource } from '../../../src/index.ts'
import type { SessionView } from '@halting/analysis/view'
import { isChromiumInstalled, withBrowser } from '../../support/browser.ts'
import { plainSource } from '../../support/plain-source.ts'
import { runWith, viewWith, type TestTurn } from '../support/views.ts'

function sourceOf(...views: readonly SessionView[]): SessionSource {
  const byKey = new Map(views.map((view) => [view.row.key, view]))
  return {
    ...plainSource(views.map(({ row }) => ({ row, records: [], parts: [] }))),
    session: (key) => Promise.resolve(byKey.get(key)),
  }
}

const call = (...calls: readonly string[]): TestTurn => ({ calls })

describe.skipIf(!isChromiumInstalled)('two sessions in a browser (needs chromium)', () => {
  const open = withBrowser()
  const first = viewWith('a', [
    runWith([call('Read x'), { calls: ['Bash npm test!', 'Read y'], costUsd: 1 }, call('Edit x'), call()]),
    runWith([call('Grep z'), call()]),
  ])
  const second = viewWith('b', [
    runWith([call('Read x'), { calls: ['Bash npm test', 'Read y'], model: 'claude-opus-5' }, call()], 'max_turns'),
  ])

  it('are aligned turn by turn, and the page says where they diverge', async () => {
    const { page } = await open(sourceOf(first, second), { fragment: '#/compare/a/b?runs=1,' })
    await page.getByText('They differ after 1 turn with the same calls').waitFor()
    expect(await page.locator('.divergence').textContent()).toBe(
      'They differ after 1 turn with the same calls: turn 2 of the first and turn 2 of the second had different outcomes. The first: Bash npm test (failed), Read y (done). The second: Bash npm test (done), Read y (done).',
    )
    expect(await page.locator('.pair').evaluateAll((all) => all.map((pair) => pair.getAttribute('data-kind')))).toEqual(
      ['same', 'same', 'only-first', 'same'],
    )
    expect(await page.locator('.compare-figures tr').allTextContents()).toEqual([
      'FirstSecondChange',
      'endingcompletedmax_turnsdifferent',
      'dollars$1.03$0.0300−97 %',
      'turns43−25 %',
      'requests43−25 %',
      'tokens400300−25 %',
      'time4.0 s3.0 s−25 %',
    ])
  })

  it('show what differs in a selected pair', async () => {
    const { page } = await open(sourceOf(first, second), { fragment: '#/compare/a/b?runs=1,1' })
    await page.getByRole('button', { name: 'Go to the first difference' }).click()
    const whole = page.getByLabel('The selected pair of turns')
    expect(await whole.locator('p').first().textContent()).toBe('the same calls, different outcome, different model')
    expect(await whole.locator('li').allTextContents()).toEqual([
      'Bash npm test (failed) different outcome',
      'Read y (done)',
      'Bash npm test (done) different outcome',
      'Read y (done)',
    ])
    await page.getByRole('listbox').focus()
    await page.keyboard.press('ArrowDown')
    await whole.getByText('only the first').waitFor()
  })

  it('are compared over all runs unless one is selected, and may be exchanged', async () => {
    const { page } = await open(sourceOf(first, second), { fragment: '#/compare/a/b' })
    const turns = page.locator('tr[data-figure="turns"] td')
    await turns.first().waitFor()
    expect(await turns.allTextContents()).toEqual(['6', '3', '−50 %'])
    await page.getByLabel('Runs').selectOption('2')
    expect(await turns.allTextContents()).toEqual(['2', '3', '+50 %'])
    expect(new URL(page.url()).hash).toBe('#/compare/a/b?runs=2,')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Swap' }).click()
    await page.waitForURL('**/#/compare/b/a?runs=,2')
    expect(await turns.allTextContents()).toEqual(['3', '2', '−33 %'])
  })

  it('of ten thousand turns have few in the document', async () => {
    const long = Array.from({ length: 10_000 }, (_, index) => call(`Bash ${index}`))
    const source = sourceOf(viewWith('a', [runWith(long)]), viewWith('b', [runWith(long.toSpliced(5_000, 1))]))
    const { page } = await open(source, { fragment: '#/compare/a/b' })
    await page.getByText('They differ after 5,000 turns with the same calls').waitFor()
    await page.getByRole('button', { name: 'Go to the first difference' }).click()
    await page.locator('.pair[data-diverges="true"]').waitFor()
    expect(await page.locator('.pair').count()).toBeLessThan(40)
  })

  it('show an error where one does not exist', async () => {
    const { page, problems } = await open(sourceOf(first), { fragment: '#/compare/a/missing' })
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toMatch(/^The second session: ./)
    // The browser also logs the 404 response to its console.
    expect(problems.splice(0).filter((problem) => !problem.includes('404'))).toEqual([])
  })

  it('show the input of a call and execute none of it', async () => {
    const hostile = viewWith('a', [runWith([call('<img src=x onerror=alert(1)> </script>')])])
    const { page } = await open(sourceOf(hostile, second), { fragment: '#/compare/a/b', width: 320 })
    await page.locator('.pair').first().click()
    await page.getByLabel('The selected pair of turns').waitFor()
    expect(await page.locator('#app img').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
  })
})
