// Sessions of any program are shown with the same figures as in the other commands. Their content decides nothing.
import { join } from 'node:path'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'
import { accountOf } from '../../src/account/account.ts'
import { foldSession, rewindRecord } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { describe, expect, test } from 'vitest'
import { rowOf } from '../../src/view/row.ts'
import { transcriptParts } from '../../src/view/parts.ts'
import { viewOf } from '../../src/view/view.ts'
import type { InspectedSession } from '../../src/view/inspected-session.ts'
import type { TranscriptPart } from '../../src/view/types.ts'
import {
  calls,
  hostileSession,
  hostileText,
  says,
  scriptedSession,
  scriptedWorld,
  sessionOf,
  foreignSamples,
} from '../support/sessions.ts'

const prices = { cost: () => undefined, worstCase: () => undefined }

async function foreign(file: string): Promise<InspectedSession> {
  const read = await readForeignSession(join(foreignSamples, file))
  const runs = read.runs.map((run) => recordsOfForeign(run, prices))
  const program = file.startsWith('codex') ? 'codex' : 'claude-code'
  return sessionOf(
    runs.map(({ records }) => records),
    { program, unpriced: runs.map(({ unpriced }) => unpriced) },
  )
}

const callsIn = (parts: readonly TranscriptPart[]): number =>
  parts.reduce((sum, part) => sum + (part.kind === 'call' ? 1 + callsIn(part.agent) : 0), 0)

describe('sessions of other programs', () => {
  test.each(['claude-code-polling.jsonl', 'claude-code-short.jsonl', 'codex-rollout-0.jsonl'])('%s', async (file) => {
    const session = await foreign(file)
    const { row, runs } = viewOf(session)
    const accounts = session.runs.map(accountOf)
    const sum = (of: (account: (typeof accounts)[number]) => number) =>
      accounts.reduce((all, each) => all + of(each), 0)
    expect(row).toMatchObject({ turns: sum(({ totals }) => totals.turns), tokens: sum(({ totals }) => totals.tokens) })
    expect(row.turns).toBeGreaterThan(0)
    expect(row.unpriced.length).toBeGreaterThan(0)
    for (const [index, run] of runs.entries()) {
      // Nothing is invented that the program did not record.
      expect(run.account).toMatchObject({ limits: [], laps: [] })
      expect(run.points.every(({ turnsLeft, reservedUsd }) => turnsLeft === null && reservedUsd === null)).toBe(true)
      expect(run.points).toHaveLength(run.account.totals.turns)
      const times = run.points.reduce((all, { ms }) => all + Object.values(ms).reduce((a, b) => a + b, 0), 0)
      expect(times).toBeCloseTo(run.points.length === 0 ? 0 : run.account.totals.activeMs, 3)
      const parts = transcriptParts(session, index)
      expect(parts).toHaveLength(run.parts)
      // Each call of the main loop with a result is a bar that links to its call.
      const tools = run.items.filter(({ kind }) => kind === 'tool')
      expect(tools.every(({ part }) => part !== null && parts[part]?.kind === 'call')).toBe(true)
      expect(callsIn(parts)).toBe(row.runs === 1 ? row.calls : callsIn(parts))
    }
  })
})

describe('a session', () => {
  test('has a row with its own figures, without inherited ones, as its view has', async () => {
    const world = scriptedWorld()
    const scripts = [
      [calls(world, 'Look', 'Fail'), says(world, 'one')],
      [calls(world, 'Write'), says(world, 'two')],
    ]
    const session = await scriptedSession(world, scripts, { prompt: 'Do   it\nnow' })
    expect(rowOf(session)).toEqual(viewOf(session).row)
    expect(rowOf(session)).toMatchObject({
      title: 'Do it now',
      ending: 'completed',
      exitCode: 0,
      models: ['scripted'],
      runs: 2,
      turns: 4,
      calls: 3,
      failedCalls: 1,
      tokens: 4_400,
    })
    // The second run receives the messages of the first.
    const [first, second] = viewOf(session).runs
    expect(second?.points[0]?.context.results).toBeGreaterThan(first?.points[0]?.context.results ?? 0)
  })

  test('that was rewound is shown without the removed messages', async () => {
    const world = scriptedWorld()
    const scripts = [[calls(world, 'Look'), says(world, 'one')], [says(world, 'two')]]
    const session = await scriptedSession(world, scripts)
    const [first = [], second = []] = session.runs
    const folded = foldSession([first])
    const rewound = { ...session, runs: [[...first, rewindRecord(folded, 1)], second] }
    const resultsIn = (of: InspectedSession) => viewOf(of).runs[1]?.points[0]?.context.results
    expect(resultsIn(session)).toBeGreaterThan(0)
    expect(resultsIn(rewound)).toBe(0)
  })

  test('interrupted by a kill shows the messages of its open turn', async () => {
    const world = scriptedWorld()
    const script = [calls(world, 'Look'), says(world, 'never')]
    const session = await scriptedSession(world, [script], { killedAfter: 5 })
    const { row, runs } = viewOf(session)
    expect(row).toMatchObject({ ending: null, exitCode: null, turns: 1 })
    expect(transcriptParts(session, 0)).toMatchObject([
      { kind: 'person', text: 'Do it' },
      { kind: 'call', name: 'Look', callId: 'call_0_0', isError: false },
    ])
    expect(runs[0]?.parts).toBe(2)
  })

  test('with markup and control characters in every field keeps all of it as text', () => {
    const session = hostileSession()
    const view = viewOf(session)
    const parts = transcriptParts(session, 0)
    expect(view.row.title).toBe(hostileText.slice(0, 300))
    expect(parts.filter((part) => part.kind === 'person').every(({ text }) => text === hostileText)).toBe(true)
    expect(callsIn(parts)).toBe(3)
    expect(parts.flatMap((part) => (part.kind === 'call' ? part.changes : [])).join('\n')).toContain('<script>')
    // JSON round trips.
    expect(JSON.parse(JSON.stringify(view))).toEqual(view)
    expect(view.runs[0]?.items.filter(({ kind }) => kind === 'tool').map(({ part }) => part !== null)).toEqual([
      true,
      true,
      true,
    ])
  })
})
