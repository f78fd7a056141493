// Holds R-VERI-20: whether the last change of a run was checked is derived from its record alone, the same for every reader.
import * as fc from 'fast-check'
import type { Verification } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { accountOf } from '../../src/account/account.ts'
import { htmlOf } from '../../src/export/html.ts'
import { markdownOf } from '../../src/export/markdown.ts'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import type { Report } from '../../src/report/report-model.ts'
import { verificationTexts } from '../../src/report/report-words.ts'
import { sessionTranscript } from '../../src/view/session-transcript.ts'
import { verificationFacts, verificationVerdict } from '../../src/words/verification-words.ts'
import { change, checkedRun, failing, passing, type Work } from '../support/checked-runs.ts'
import { sessionOf } from '../support/sessions.ts'
import { failed, goalOf, passed } from '../support/goal-runs.ts'

const asking: Verification = { mode: 'ask', checks: () => ['npm test'] }

const accountFor = async (...given: Parameters<typeof checkedRun>) => accountOf((await checkedRun(...given)).records)

const factsFor = async (...given: Parameters<typeof checkedRun>): Promise<readonly string[]> => {
  const { verification } = await accountFor(...given)
  return verification === undefined ? [] : verificationFacts(verification)
}

describe('the account of a run', () => {
  test('has the changes of the run and whether they were checked', async () => {
    const { verification } = await accountFor([change, failing, change, 'Done.'])
    expect(verification).toEqual({
      verified: false,
      changedLines: 8,
      uncheckedLines: 8,
      lastCheck: 'npm test',
      hasPassed: false,
      wasAsked: false,
      keptAnswer: false,
    })
  })

  test('has no verification where changes were not tracked or the run did not end', async () => {
    const { records } = await checkedRun([change, 'Done.'])
    expect(accountOf(records.filter(({ type }) => type !== 'end'))).not.toHaveProperty('verification')
    expect(await accountFor([change, 'Done.'], undefined as never, { verification: undefined })).not.toHaveProperty(
      'verification',
    )
  })

  test.each<[string, Parameters<typeof checkedRun>, readonly string[]]>([
    ['nothing changed', [['Hello.']], []],
    [
      'a change that a check followed',
      [[change, passing, 'Done.']],
      ['Checked: a check passed after the last change (4 changed lines).', 'The last check was `npm test`.'],
    ],
    [
      'a change that no check followed',
      [[change, 'Done.']],
      [
        'Not checked: no check has passed since the last change (4 changed lines).',
        'No check ran.',
        'The model was not asked to verify it.',
      ],
    ],
    [
      'a change after a check',
      [[change, passing, { changedLines: 1 }, 'Done.']],
      [
        'Not checked: no check has passed since the last change (1 of 5 changed lines).',
        'A check passed before that; the last one that ran was `npm test`.',
        'The model was not asked to verify it.',
      ],
    ],
    [
      'a question that the model did not follow',
      [[change, 'Done.', 'No need.'], asking],
      [
        'Not checked: no check has passed since the last change (4 changed lines).',
        'No check ran.',
        'The model was asked to verify it and called no tool: its answer before that was kept.',
      ],
    ],
    [
      'a question that the model followed, and whose check fails',
      [[change, 'Done.', failing, 'It fails.'], asking],
      [
        'Not checked: no check has passed since the last change (4 changed lines).',
        'No check passed; the last one that ran was `npm test`.',
        'The model was asked to verify it, and continued.',
      ],
    ],
    [
      'a question that the model followed, and whose check passes',
      [[change, 'Done.', passing, 'Done.'], asking],
      [
        'Checked: a check passed after the last change (4 changed lines).',
        'The last check was `npm test`.',
        'The model was asked to verify it, and continued.',
      ],
    ],
  ])('%s', async (_name, given, facts) => {
    expect(await factsFor(...given)).toEqual(facts)
  })

  test('treats met goals as a check', async () => {
    const { verification } = await accountFor([change, 'Done.'], asking, { until: [goalOf(failed(), passed)] })
    expect(verification).toMatchObject({ verified: true, uncheckedLines: 4, wasAsked: false })
    expect(verification && verificationVerdict(verification)).toBe('Checked by the goals (4 changed lines).')
  })

  test('agrees with the result of the run, whatever was done', async () => {
    const works = fc.array(fc.constantFrom<Work>(change, passing, failing, { changedLines: 1 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(works, fc.boolean(), async (done, asks) => {
        const { terminal, records } = await checkedRun([...done, 'Done.', 'No.'], asks ? asking : { mode: 'tell' })
        const { verification } = accountOf(records)
        expect(verification?.verified).toBe(terminal.verified)
        const isUnchecked = terminal.verified === false
        expect((verification?.uncheckedLines ?? 0) > 0).toBe(isUnchecked)
        expect(verification?.keptAnswer).toBe(verification?.wasAsked)
        expect(verification && verificationFacts(verification).join(' ').includes('Not checked')).toBe(isUnchecked)
      }),
      { numRuns: 40 },
    )
  })
})

test('the exports report verification for each run and for the session', async () => {
  const { records } = await checkedRun([change, 'Done.'])
  const session = sessionTranscript(sessionOf([records]))
  const markdown = [...markdownOf(session, 'A session')].join('')
  expect(markdown).toContain(
    '- Last change: ` Not checked: no check has passed since the last change (4 changed lines). `',
  )
  expect(markdown).toContain('- Last change: ` No check ran. `')
  const html = [...htmlOf(session, 'A session', { says: '' })].join('')
  expect(html).toContain('<li>Last change: No check ran.</li>')
  const { records: quiet } = await checkedRun(['Hello.'])
  expect([...markdownOf(sessionTranscript(sessionOf([quiet])), 'A session')].join('')).not.toContain('Last change')
})

test('a report counts runs that changed files', async () => {
  const collector = new ReportCollector({ since: null, until: null })
  const reported = async (...runs: Parameters<typeof checkedRun>[]): Promise<Report> => {
    for (const [index, given] of runs.entries()) {
      const { records } = await checkedRun(...given)
      const one = { sessionId: `s${index}`, cwd: '/a', runs: [records], began: [0], unpriced: [[]] }
      collector.add(one, { file: `/s${index}.jsonl` })
    }
    return collector.report('of this folder', [], 1)
  }
  const none = await reported([['Hello.']])
  expect(verificationTexts(none)).toEqual([])
  expect([...reportHtml(none)].join('')).not.toContain('Last changes')
  const report = await reported(
    [[change, 'Done.']],
    [[change, passing, 'Done.']],
    [[change, 'Done.', 'No need.'], asking],
    [[change, 'Done.', passing, 'Done.'], asking],
  )
  expect(report.verification).toEqual({ changed: 4, unchecked: 2, asked: 2, checkedWhenAsked: 1, keptAnswer: 1 })
  expect(verificationTexts(report)).toEqual([
    '2 of 4 runs that changed files ended unchecked: no check passed after the last change.',
    'The model was asked to verify its last change in 2 runs: 1 ended checked, and in 1 it called no tool.',
  ])
  expect([...reportHtml(report)].join('')).toContain('<li>2 of 4 runs that changed files ended unchecked')
})
