// Holds R-GOAL-87: the goals of many runs in a report.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountOf } from '../../src/account/account.ts'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { goalTables, goalTexts } from '../../src/report/report-words.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import type { Report } from '../../src/report/report-model.ts'
import { failed, filesOf, goalOf, goalRun, passed } from '../support/goal-runs.ts'

type Runs = readonly Awaited<ReturnType<typeof goalRun>>['records'][]

/** The report on sessions of one run each, in these folders, one day apart. */
function reportOf(runs: Runs, folders: readonly string[] = ['/a']): Report {
  const collector = new ReportCollector({ since: null, until: null })
  for (const [index, records] of runs.entries()) {
    const cwd = folders[index % folders.length] ?? ''
    const began = [Date.UTC(2026, 10, 16 + index, 12)]
    collector.add({ sessionId: `s${index}`, cwd, runs: [records], began, unpriced: [[]] }, { file: `/s${index}.jsonl` })
  }
  return collector.report('of this folder', [], Date.UTC(2026, 11, 1))
}

const met = async () => (await goalRun({ until: [goalOf(failed(), failed('x'), passed)] })).records
const heldBack = async () => (await goalRun({ until: [goalOf(passed)], goalFiles: filesOf([], ['a.test.ts']) })).records
const unmet = async () => (await goalRun({ until: [goalOf(failed())], maxGoalTries: 1 })).records
const without = async () => (await goalRun({})).records

test('counts runs by how they ended with their goals, and by day, model and folder', async () => {
  const report = reportOf([await met(), await heldBack(), await unmet(), await without()], ['/a', '/b'])
  expect(report.goals).toMatchObject({ runs: 3, met: 2, unmet: 1, unknown: 0, heldFromStart: 1, changedTests: 1 })
  expect(report.goals.byDay.map(({ runs, met: reached }) => [runs, reached])).toEqual([
    [1, 1],
    [1, 1],
    [1, 0],
  ])
  expect(report.goals.byModel).toMatchObject([{ name: 'scripted', runs: 3 }])
  expect(report.goals.byFolder).toMatchObject([
    { name: '/a', runs: 2, met: 1, unmet: 1 },
    { name: '/b', runs: 1, heldFromStart: 1 },
  ])
  expect(goalTexts(report)[0]).toBe('3 runs had goals: 2 met (1 held from the start), 1 not met. Checks took 0 ms.')
  expect(goalTables(report, undefined).map(([by]) => by)).toEqual(['day', 'folder'])
  expect(goalTables(report, 'model').map(([by]) => by)).toEqual(['model'])
  const html = [...reportHtml(report)].join('')
  expect(html).toContain('<li>3 runs had goals: 2 met (1 held from the start), 1 not met. Checks took 0 ms.</li>')
  expect(html).toContain('aria-label="Goals by folder"')
})

test('does not mention goals where no run had any', async () => {
  const report = reportOf([await without()])
  expect(report.goals).toMatchObject({ runs: 0, byDay: [], byModel: [], byFolder: [] })
  expect(goalTexts(report)).toEqual([])
  expect([...reportHtml(report)].join('')).not.toContain('Goals')
})

test('has breakdowns that agree with each other and with the accounts of the runs', async () => {
  const runs = await Promise.all([met(), heldBack(), unmet(), without()])
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...runs), { maxLength: 8 }),
      fc.array(fc.constantFrom('/a', '/b', '/c'), { minLength: 1, maxLength: 3 }),
      (chosen, folders) => {
        const { goals } = reportOf(chosen, folders)
        const accounts = chosen.flatMap((records) => accountOf(records).goal ?? [])
        expect([goals.runs, goals.tries]).toEqual([
          accounts.length,
          accounts.reduce((sum, { tries }) => sum + tries, 0),
        ])
        expect(goals.met + goals.unmet + goals.unknown).toBe(goals.runs)
        for (const rows of [goals.byDay, goals.byModel, goals.byFolder])
          for (const field of ['runs', 'met', 'unmet', 'unknown', 'heldFromStart', 'tries', 'checkMs'] as const)
            expect(rows.reduce((sum, row) => sum + row[field], 0)).toBe(goals[field])
      },
    ),
    { numRuns: 30 },
  )
})
