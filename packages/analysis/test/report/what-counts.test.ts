// Holds R-REP-2, R-REP-3c and R-REP-5 of docs/spec: which figures of a session count where in a report, and what it does not claim.
import { expect, test } from 'vitest'
import { agentTool, streamRun, startRun, tool, type RunOptions, type RunState, type StartOptions } from '@halting/core'
import { createMemorySteps, type StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { ReportCollector } from '../../src/report/report-collector.ts'
import type { Report } from '../../src/report/report-model.ts'
import { serviceFacts, headline, triedText } from '../../src/report/report-words.ts'
import { limitsWorthReporting } from '../../src/report/tighter-limits.ts'

const usage = { input_tokens: 900, output_tokens: 100 }
const callReply = (name: string, input: object = {}): ScriptedReply => ({ toolCalls: [{ name, input }], usage })
const answer: ScriptedReply = { text: 'done', usage }
/** A tenth of a cent per token. */
const prices: NonNullable<RunOptions['prices']> = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}
const tools = [
  tool({ name: 'Read', description: '', readOnly: true, execute: () => 'seen' }),
  tool({ name: 'Edit', description: '', execute: () => 'done' }),
  agentTool({ name: 'Agent', description: '', spawn: () => ({ prompt: 'look' }) }),
]

async function recordedRun(
  script: readonly ScriptedReply[],
  given: Partial<RunOptions> = {},
  start: Partial<StartOptions> = { prompt: 'go' },
): Promise<{ readonly records: readonly StepRecord[]; readonly state: RunState }> {
  const steps = createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) })
  const model = scriptedModel(script, { maxOutputTokens: 1_000 })
  const begins = startRun({ sessionId: 's', ...start })
  const { state } = await streamRun(begins, { tools, prices, model, ...given, steps }).ended
  return { records: JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[], state }
}

function reportOf(runs: readonly (readonly StepRecord[])[], began: readonly (number | null)[] = []): Report {
  const collector = new ReportCollector({ since: null, until: null })
  const all = runs.map((_, index) => began[index] ?? null)
  collector.add({ sessionId: 'aaaaaaaa', cwd: '/a', runs, began: all, unpriced: runs.map(() => []) }, { file: 'a' })
  return collector.report('of this test', [], Date.parse('2026-11-24T12:00:00Z'))
}

test('a call that waited for a person counts once, in the run that carried it out', async () => {
  const permissions: RunOptions['permissions'] = {
    denies: () => undefined,
    decide: ({ call }) => (call.name === 'Edit' ? { behavior: 'ask', message: 'May it?' } : { behavior: 'allow' }),
  }
  const first = await recordedRun([callReply('Edit')], { permissions })
  const waits = reportOf([first.records])
  expect(waits.tools).toMatchObject([{ tool: 'Edit', calls: 1, cut: 1 }])
  const start = {
    transcript: first.state.transcript,
    approvals: { call_0_0: { behavior: 'allow' } },
    runId: 'run2',
  } as const
  const second = await recordedRun([answer], { permissions }, start)
  const { tools: rows, bySession } = reportOf([first.records, second.records])
  expect(rows.filter(({ tool: name }) => name !== null)).toMatchObject([{ tool: 'Edit', calls: 1, cut: 0, failed: 0 }])
  expect(bySession).toMatchObject([{ calls: 1, failedCalls: 0 }])
})

test('a request that was open when its process died counts with its possible cost', async () => {
  const { records } = await recordedRun([callReply('Read'), answer])
  const at = records.findIndex((record) => record.type === 'intent' && record.key.endsWith('model:2.1'))
  const report = reportOf([records.slice(0, at + 1)])
  const { totals, open, service } = report
  expect([totals.tokens, totals.costUsd, service.untold]).toEqual([1_000, 1, 1])
  expect(totals.unknownTokens).toBeGreaterThan(2_000)
  expect(totals.unknownUsd).toBe(totals.unknownTokens / 1_000)
  expect(open).toMatchObject([{ costUsd: 1, unknownUsd: totals.unknownUsd }])
  expect(serviceFacts(report).join('\n')).toMatch(
    /One model request failed or is still running\. Its cost is unknown: up to [\d,]+ tokens and \$\d+\.\d\d more\./,
  )
})

test('the first line covers a run that began later than now by another clock', async () => {
  const { records } = await recordedRun([answer])
  const report = reportOf([records, records], [Date.parse('2026-11-23T12:00:00Z'), Date.parse('2027-01-02T12:00:00Z')])
  expect(headline(report)).toBe('1 session of this test, 2026-11-23 to 2027-01-02')
  const since = { ...report, since: '2026-11-20T00:00:00.000Z' }
  expect(headline(since)).toBe('1 session of this test, 2026-11-20 to 2027-01-02')
})

test('a limit that would have stopped a subagent is not reported as losing nothing', async () => {
  const looks = Array.from({ length: 6 }, () => callReply('Read'))
  // One is stopped with nothing done; the other has a subagent that takes six turns.
  const wanders = await recordedRun(
    Array.from({ length: 12 }, () => callReply('Read')),
    { maxTurns: 11 },
  )
  const hands = await recordedRun([callReply('Agent'), ...looks, answer, answer])
  const row = ({ tried }: Report) => tried.filter(({ limits }) => limits.maxTurns === 5)
  expect(row(reportOf([wanders.records]))).toMatchObject([{ stops: 1, unknown: 0, lostAnswers: 0, lostChanges: 0 }])
  const both = reportOf([wanders.records, hands.records])
  expect(row(both)).toMatchObject([{ stops: 1, unknown: 1, lostAnswers: 0, lostChanges: 0 }])
  const [strict] = row(both)
  if (strict === undefined) throw new Error('five turns were tried')
  expect(triedText(strict)).toMatch(
    /^--max-turns 5 stops 1 run earlier, .*; loses nothing in these; unknown for 1 more run$/,
  )
  const turnLimits = limitsWorthReporting(both.tried).flatMap(({ limits }) => limits.maxTurns ?? [])
  expect(turnLimits).toEqual([10, 5])
})

test("a reply that was cut off at its cap does not count as a run's answer at a limit", async () => {
  const cut: ScriptedReply = { text: 'And then we', stopReason: 'max_tokens', usage }
  const { records } = await recordedRun([callReply('Edit'), ...Array.from({ length: 9 }, () => cut)])
  expect(reportOf([records]).limits).toMatchObject([
    { reason: 'max_output_tokens', answered: 0, lost: [{ run: 'run1' }] },
  ])
})
