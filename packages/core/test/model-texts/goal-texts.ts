import type { SamplesOf } from '../support/model-texts.ts'

const spec = { name: 'npm test' }
const judged = { name: 'The README describes every flag', judged: true } as const
const check = { name: 'npm test', met: false, exitCode: 1, durationMs: 900, tail: '3 of 40 tests fail' }
const round = {
  met: false,
  checks: [check],
  tampered: [],
  changedByChecks: [],
  changedTests: [],
  isUnstable: false,
  report: '3 of 40 tests fail',
}
const left = { turns: 12, usd: 0.5, tokens: Infinity, ms: 90_000 }
const noLimit = { turns: Infinity, usd: Infinity, tokens: Infinity, ms: Infinity }

export const samples: SamplesOf<typeof import('../../src/goals/goal-texts.ts')> = {
  triesText: [[1], [3]],
  baselineText: [
    [[spec, judged], round, 20],
    [[spec], { ...round, met: true, report: '' }, 1],
  ],
  takenOverText: [[['package.json (scripts.test)']]],
  sentBackText: [
    [round, { made: 1, max: 20 }, left, false],
    [
      { ...round, checks: [{ ...check, timedOut: true, pass: 2 }], report: '', changedByChecks: ['snapshot.json'] },
      { made: 2, max: 20 },
      noLimit,
      true,
    ],
    [{ ...round, tampered: ['package.json (scripts.test)'] }, { made: 3, max: 20 }, noLimit, false],
    [{ ...round, checks: [], tampered: ['package.json (scripts.test)'] }, { made: 4, max: 20 }, noLimit, false],
    [
      { ...round, checks: [{ ...check, name: judged.name, judged: true, exitCode: null }], report: 'Missing: --json' },
      { made: 5, max: 20 },
      noLimit,
      false,
    ],
  ],
  continueUnmetText: [
    [{ met: false, checks: [check], tampered: [], changedTests: [], changes: 0 }],
    [{ met: false, checks: [], tampered: [], changedTests: [], changes: 0 }],
  ],
  checkTimedOut: [
    ['', 600],
    ['3 of 40 tests fail', 600],
  ],
  checkFailed: [['spawn npm ENOENT']],
  filesUnreadable: [['EACCES']],
  unmetLine: [
    [{ checks: [check], tampered: [] }],
    [{ checks: [], tampered: [] }],
    [{ checks: [], tampered: ['package.json (scripts.test)'] }],
  ],
}
