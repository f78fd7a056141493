// Holds rules of docs/spec: R-REP-8, R-GRADE-7: limits calibrated on solved runs in a report, with the source of their grades.
import { beforeAll, expect, test } from 'vitest'
import type { GradingSources } from '../../src/grades/graded-runs.ts'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import type { Report } from '../../src/report/report-model.ts'
import { calibrationTexts, calibrationTitle, hasLimit } from '../../src/words/calibration-texts.ts'
import { failed, goalOf, goalRun } from '../support/goal-runs.ts'

type Records = Awaited<ReturnType<typeof goalRun>>['records']

let solved: Records
let unsolved: Records
beforeAll(async () => {
  solved = (await goalRun({})).records
  unsolved = (await goalRun({ until: [goalOf(failed())], maxGoalTries: 1 })).records
})

function reportOf(counts: { readonly solved: number; readonly unsolved: number }, grading?: GradingSources): Report {
  const collector = new ReportCollector({ since: null, until: null }, grading)
  const all = [
    ...Array.from({ length: counts.solved }, () => solved),
    ...Array.from({ length: counts.unsolved }, () => unsolved),
  ]
  for (const [index, runs] of all.entries()) {
    const session = { sessionId: `s${index}`, cwd: '/repo/sub', runs: [runs], began: [0], unpriced: [[]] }
    collector.add(session, { file: `/s${index}.jsonl` })
  }
  return collector.report('of this folder', [], Date.UTC(2026, 11, 1))
}

test('reports limits with intervals, and that grades are guesses, where enough runs are solved', () => {
  const report = reportOf({ solved: 60, unsolved: 5 })
  const [group, ...more] = report.calibration.groups
  expect(more).toEqual([])
  expect(group).toMatchObject({
    model: 'scripted',
    repository: '/repo/sub',
    runs: 65,
    solved: { all: 60, byPerson: 0, byGoal: 0, guessed: 60 },
    limits: { turns: { kind: 'limit', limit: 2, solved: 60, lost: { runs: 0, of: 60 } } },
  })
  expect(calibrationTitle(report.calibration)).toBe('Limits that would have lost at most 2 % of the solved runs')
  const [first, warning, save] = calibrationTexts(report.calibration)
  expect(first).toContain('turns 2 (lost 0 of 60; expect 1.6 % (0–6 %)')
  expect(first).toMatch(/^scripted: dollars of a run /)
  expect(first).toContain('60 of 65 runs solved: 60 guesses.')
  expect(warning).toContain('All of these grades are guesses')
  expect(save).toBe('To save the limits of a project: halting what-if --suggest --may-lose 2% --save')
  const html = [...reportHtml(report)].join('')
  expect(html).toContain('Limits that would have lost at most 2 % of the solved runs</h2>')
  expect(html).toContain('<th scope="row" dir="auto">turns</th><td>2</td><td>0 of 60')
})

test('reports no limit where too few runs are solved, and how many are needed', () => {
  const report = reportOf({ solved: 12, unsolved: 0 })
  expect(report.calibration.groups.some(hasLimit)).toBe(false)
  expect(calibrationTexts(report.calibration)).toEqual([
    'scripted: too few solved runs: 12 of 50 needed. 12 of 12 runs solved: 12 guesses.',
  ])
})

test("counts a person's grades first, and the worktrees of a repository together", () => {
  const grading: GradingSources = {
    grades: { of: (sessionId) => (sessionId === 's0' ? { grade: 'bad' } : { grade: 'good' }) },
    repositoryOf: (folder) => folder.replace('/sub', ''),
  }
  const [group] = reportOf({ solved: 52, unsolved: 0 }, grading).calibration.groups
  expect(group).toMatchObject({ repository: '/repo', solved: { all: 51, byPerson: 51, guessed: 0 } })
  const [refused] = reportOf({ solved: 50, unsolved: 0 }, grading).calibration.groups
  expect(refused?.limits.turns).toMatchObject({ kind: 'refused', why: 'few', solved: 49 })
})

test('names repositories by the distinguishing ends of their paths', () => {
  const calibrated = reportOf({ solved: 3, unsolved: 0 }).calibration
  const [group] = calibrated.groups
  const in3 = (repository: string) => (group === undefined ? [] : [{ ...group, repository }])
  const groups = [...in3('/work/a/app'), ...in3('/work/b/app'), ...in3('/work/lib'), ...in3('')]
  const names = calibrationTexts({ ...calibrated, groups: groups.slice(0, 3) }).map((text) => text.split(':')[0])
  expect(names).toEqual(['scripted in a/app', 'scripted in b/app', 'scripted in lib'])
  expect(calibrationTexts({ ...calibrated, groups: groups.slice(2) })[1]).toMatch(
    /^scripted in a folder that is not known: /,
  )
})
