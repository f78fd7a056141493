import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../../support/browser.ts'
import { noContext, noMs, plottedRun, plottedView, pointWith, trajectoryWith } from '../support/plotted-run.ts'
import { viewSource } from '../support/view-source.ts'

const hostile = '</text><script>document.title="taken"</script><img src=x onerror=alert(1)>'

const points = [1, 2, 3, 4].map((request) =>
  pointWith({
    request,
    context: { ...noContext, fixed: 1_000, results: request * 500 },
    usage: { input: 100, cacheRead: request * 300, cacheWrite: 10, output: 20 },
    settledUsd: request * 0.1,
    reservedUsd: 0.4,
    ms: { ...noMs, model: 700, tools: request * 100 },
    isCompacted: request === 3,
    turnsLeft: 10 - request,
    allowancesLeft: { [hostile]: 4 - request },
  }),
)
const { limits, ...rest } = trajectoryWith([])
const run = plottedRun({
  points,
  phases: [
    { phase: 'model', ms: 2_800 },
    { phase: 'tools', ms: 1_000 },
  ],
  trajectory: { ...rest, limits: { ...limits, maxBudgetUsd: 1 } },
})

function plot(page: Page, name: string): Locator {
  return page.getByRole('figure', { name, exact: true })
}

/** The series that uPlot draws, from the top of a stack downwards. */
async function drawnSeries(page: Page, name: string): Promise<readonly (readonly (number | null)[])[]> {
  const read = (element: Element): unknown =>
    'chart' in element && typeof element.chart === 'object' && element.chart !== null && 'data' in element.chart
      ? element.chart.data
      : null
  // The data of a chart: numbers only.
  return (await page.locator(`[data-plot="${name}"]`).evaluate(read)) as readonly (readonly (number | null)[])[]
}

/** The texts of a table, one row each. */
function cells(table: Locator): Promise<readonly string[]> {
  return table
    .locator('tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent).join(' | ')))
}

describe.skipIf(!isChromiumInstalled)('plots in a browser (needs chromium)', () => {
  const open = withBrowser()
  const show = async (): Promise<Page> => {
    const { page } = await open(viewSource([plottedView(run)]), { fragment: '#/session/one/1/plots' })
    await plot(page, 'Retries left').locator('canvas').waitFor()
    return page
  }

  it('draw the stacked values of the run', async () => {
    const page = await show()
    expect(await drawnSeries(page, 'Context by kind')).toEqual([
      [1, 2, 3, 4],
      [1_500, 2_000, 2_500, 3_000],
      [1_000, 1_000, 1_000, 1_000],
    ])
    expect(await drawnSeries(page, 'Dollars')).toEqual([
      [1_000, 2_000, 3_000, 4_000],
      [0.4, 0.5, 0.6000000000000001, 0.7000000000000001].map((value) => expect.closeTo(value)),
      [0.1, 0.2, 0.3, 0.4].map((value) => expect.closeTo(value)),
    ])
    expect(await drawnSeries(page, 'Tokens by kind')).toEqual([
      [1, 2, 3, 4],
      [300 / 410, 600 / 710, 900 / 1_010, 1_200 / 1_310],
      [430, 730, 1_030, 1_330],
      [410, 710, 1_010, 1_310],
      [310, 610, 910, 1_210],
      [300, 600, 900, 1_200],
    ])
    expect(await drawnSeries(page, 'Time by turn')).toEqual([
      [1, 2, 3, 4],
      [800, 900, 1_000, 1_100],
      [700, 700, 700, 700],
    ])
    expect(await drawnSeries(page, 'Total time')).toEqual([
      [0, 1],
      [null, 1_000],
      [2_800, null],
    ])
    expect(await drawnSeries(page, 'Retries left')).toEqual([
      [1, 2, 3, 4],
      [3, 2, 1, 0],
      [9, 8, 7, 6],
    ])
    expect(await page.title()).not.toBe('taken')
  })

  it('have a table of their values, and leave out a series that is switched off', async () => {
    const page = await show()
    const figure = plot(page, 'Context by kind')
    await figure.getByText('As a table').click()
    expect(await cells(figure.getByRole('table'))).toEqual([
      'turn | System prompt and tools | Results | Marked',
      'turn 1 | 1,000 | 500 | ',
      'turn 2 | 1,000 | 1,000 | ',
      'turn 3 | 1,000 | 1,500 | compacted',
      'turn 4 | 1,000 | 2,000 | ',
    ])
    await figure.getByRole('button', { name: 'System prompt and tools' }).click()
    expect(await drawnSeries(page, 'Context by kind')).toEqual([
      [1, 2, 3, 4],
      [500, 1_000, 1_500, 2_000],
    ])
  })

  it('zoom by dragging and by keys, reset, and show the values at a position', async () => {
    const page = await show()
    const figure = plot(page, 'Tokens by kind')
    const seen = (): Promise<unknown> =>
      page.locator('[data-plot="Tokens by kind"]').evaluate((element) =>
        // The chart that is drawn there.
        (({ min, max }) => [min, max])(
          (element as unknown as { chart: { scales: { x: { min: number; max: number } } } }).chart.scales.x,
        ),
      )
    expect(await seen()).toEqual([0.5, 4.5])
    const over = figure.locator('.u-over')
    await over.scrollIntoViewIfNeeded()
    const box = await over.boundingBox()
    if (box === null) throw new Error('The plot is not shown.')
    const middle = box.y + box.height / 2
    await page.mouse.move(box.x + box.width * 0.25, middle)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.5, middle, { steps: 4 })
    await page.mouse.up()
    await expect.poll(seen).toEqual([expect.closeTo(1.5, 1), expect.closeTo(2.5, 1)])
    await figure.getByRole('button', { name: 'All' }).click()
    await expect.poll(seen).toEqual([0.5, 4.5])
    await page.locator('[data-plot="Tokens by kind"]').focus()
    await page.keyboard.press('+')
    await expect.poll(seen).toEqual([1.5, 3.5])
    await page.keyboard.press('0')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    expect(await figure.locator('.plot-readout').textContent()).toBe(
      'turn 2 · From the cache 600 · Written to the cache 10 · Input 100 · Output 20 · Share from the cache 84.5 %',
    )
  })

  it('are saved as SVG with their values, and as PNG of twice the size', async () => {
    const page = await show()
    const save = async (name: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name, exact: true }).click(),
      ])
      expect(download.suggestedFilename()).toMatch(/^[a-z-]+\.(?:svg|png)$/)
      return readFileSync(await download.path())
    }
    for (const name of ['Context by kind', 'Dollars', 'Tokens by kind', 'Time by turn', 'Total time', 'Retries left']) {
      const svg = (await save(`Save ${name} as SVG`)).toString()
      const problems = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml')
        return parsed.querySelectorAll('parsererror, script, image, foreignObject').length
      }, svg)
      expect(problems).toBe(0)
      expect(svg).toContain(`${name}</text>`)
    }
    const svg = (await save('Save Tokens by kind as SVG')).toString()
    expect(svg).toContain('turn 3: From the cache 900')
    const png = await save('Save Tokens by kind as PNG')
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    const [, width = '', height = ''] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? []
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([2 * Number(width), 2 * Number(height)])
    // More than a white page: thousands of bytes of lines and letters.
    expect(png.length).toBeGreaterThan(5_000)
  })
})
