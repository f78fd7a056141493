// Holds rules of docs/spec: R-FOR-1, R-FOR-4, R-FOR-5: golden figures of recorded sessions.
import { accountOf } from '../../src/account/account.ts'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { transcriptProblems } from '@halting/core/testing'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { expect, test } from 'vitest'
import { kindOfSession, readForeignSession } from '../../src/foreign/read-foreign.ts'
import type { ForeignSession } from '../../src/foreign/session.ts'
import { sendableRuns } from '../../src/foreign/take-over.ts'
import { prices, samplePath } from './support.ts'

const golden = [
  {
    name: 'claude-code-polling',
    program: 'claude-code',
    sessionId: '155c6d30-c71f-4440-a083-22ef29be548c',
    recordedUsd: 0.0096,
    totals: { turns: 16, requests: 16, tokens: 1_920, costUsd: 0.0096, committedUsd: 0.0096, activeMs: 635 },
    tools: [
      ['Bash', 15, 0, 1_800],
      [null, 0, 0, 120],
    ],
    ending: 'the model answered without calling a tool (inferred: Claude Code records no reason)',
    unpriced: [],
    messages: 32,
  },
  {
    // Two replies in one stream, billed once; the model of the stream has no price, the requested one has.
    name: 'claude-code-short',
    program: 'claude-code',
    sessionId: 'fe91754d-8bd4-4477-83a5-c9226c6e6ac5',
    recordedUsd: 0.001044,
    totals: { turns: 2, requests: 2, tokens: 84, costUsd: 0.001044, committedUsd: 0.001044, activeMs: 99 },
    tools: [
      ['test-tool', 1, 1, 82],
      [null, 0, 0, 2],
    ],
    ending: 'the model answered without calling a tool (inferred: Claude Code records no reason)',
    unpriced: [],
    messages: 4,
  },
  {
    // The same figures are in two records and count once.
    name: 'codex-rollout-0',
    program: 'codex',
    sessionId: '01a1ffd1-a059-7390-995c-054692f499d6',
    recordedUsd: undefined,
    totals: { turns: 1, requests: 1, tokens: 16, costUsd: 0, committedUsd: 0, activeMs: 70 },
    tools: [[null, 0, 0, 16]],
    ending: 'the task was complete, according to Codex',
    unpriced: ['gpt-fake'],
    messages: 3,
  },
] as const

const recordsOf = ({ runs }: Pick<ForeignSession, 'runs'>): ReturnType<typeof recordsOfForeign>[] =>
  runs.map((run) => recordsOfForeign(run, prices))

test.each(golden)(
  '$name has the expected figures and ending, and a transcript that the API accepts',
  async (expected) => {
    const path = samplePath(expected.name)
    expect(await kindOfSession(path)).toBe(expected.program)
    const session = await readForeignSession(path)
    expect(session).toMatchObject({
      program: expected.program,
      sessionId: expected.sessionId,
      cwd: '/home/user/project',
      skipped: { unknown: 0, kinds: [], damaged: 0, tooLong: [], copied: 0, strayResults: 0, withoutFigures: 0 },
    })
    expect(session.recordedUsd).toBe(expected.recordedUsd)
    const [run, ...more] = recordsOf(session)
    expect(more).toEqual([])
    expect(run?.unpriced).toEqual(expected.unpriced)
    const account = accountOf(run?.records ?? [])
    expect(account.totals).toEqual(expected.totals)
    expect(account.tools.map(({ tool, calls, failed, tokens }) => [tool, calls, failed, tokens])).toEqual(
      expected.tools,
    )
    expect(account.ending).toMatchObject({ reason: 'completed', signal: { message: expected.ending } })
    const kept = { runs: sendableRuns(await readForeignSession(path, 'newest_branch')) }
    const messages = foldSession(recordsOf(kept).map(({ records }) => records)).transcript.messages()
    expect(messages).toHaveLength(expected.messages)
    expect(transcriptProblems(messages)).toEqual([])
  },
)

test('polling of a changing figure is progress; a turn limit would have stopped it', async () => {
  const [run] = recordsOf(await readForeignSession(samplePath('claude-code-polling')))
  const trajectory = trajectoryOf(run?.records ?? [])
  expect(whatIf(trajectory, { noProgress: true })).toMatchObject({
    verdict: 'same',
    toldAfterTurn: null,
    kept: { turns: 16 },
  })
  expect(whatIf(trajectory, { maxTurns: 10 })).toMatchObject({
    verdict: 'stops',
    reason: 'max_turns',
    kept: { turns: 10, tokens: 1_200, costUsd: 0.006 },
    saved: { turns: 6, tokens: 720, costUsd: 0.0036 },
    lost: { changes: { Bash: 5 }, answer: true },
  })
  // These prices have no worst case.
  expect(whatIf(trajectory, { maxBudgetUsd: 0.005 })).toMatchObject({
    verdict: 'stops',
    isAtTheLatest: true,
    kept: { turns: 9, costUsd: 0.005 },
  })
})
