// Holds R-REP-1 and R-REP-2 of docs/spec. All breakdowns of a report agree with each other and with the accounts of the runs.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { streamRun, startRun, tool, type RunOptions } from '@halting/core'
import { createMemorySteps, type StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { accountOf } from '../../src/account/account.ts'
import { recordedWork } from '../../src/account/recorded-work.ts'
import type { AnySession } from '../../src/sessions/read-session.ts'
import { ReportCollector } from '../../src/report/report-collector.ts'
import type { Report } from '../../src/report/report-model.ts'

const prices: NonNullable<RunOptions['prices']> = {
  cost: (model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) * (model === 'dear' ? 3e-6 : 7e-7),
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) * 3e-6,
}

const tools = [
  tool({ name: 'Read', description: '', readOnly: true, execute: () => 'seen' }),
  tool({ name: 'Edit', description: '', execute: () => 'done' }),
  tool({
    name: 'Bash',
    description: '',
    execute: () => {
      throw new Error('exit 1')
    },
  }),
]

const usage = fc.record({
  input_tokens: fc.integer({ min: 1, max: 99_999 }),
  output_tokens: fc.integer({ min: 0, max: 9_999 }),
  cache_read_input_tokens: fc.integer({ min: 0, max: 99_999 }),
})

const reply: fc.Arbitrary<ScriptedReply> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      usage,
      toolCalls: fc.array(
        fc.constantFrom('Read', 'Edit', 'Bash', 'None').map((name) => ({ name, input: {} })),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
    }),
  },
  { weight: 2, arbitrary: usage.map((reported) => ({ text: 'done', usage: reported })) },
  { weight: 1, arbitrary: fc.constant({ error: { kind: 'overloaded', message: 'busy', status: 529 } } as const) },
  {
    weight: 1,
    arbitrary: fc.constant({ text: 'cut', streamError: { kind: 'connection', message: 'gone' } } as const),
  },
)

const run = fc.record({
  script: fc.array(reply, { minLength: 1, maxLength: 8 }),
  model: fc.constantFrom('dear', 'cheap'),
  maxTurns: fc.integer({ min: 1, max: 6 }),
  /** How much of its records remains: 1 for all. */
  left: fc.constantFrom(1, 1, 1, 0.6),
  day: fc.integer({ min: 0, max: 5 }),
})

const session = fc.record({
  runs: fc.array(run, { minLength: 1, maxLength: 3 }),
  cwd: fc.constantFrom('/a', '/b/c', ''),
})

const dayMs = 86_400_000

async function recordsOf(given: typeof run extends fc.Arbitrary<infer Drawn> ? Drawn : never, id: number) {
  const { script, model, maxTurns } = given
  const steps = createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) })
  const running = streamRun(startRun({ prompt: 'go', sessionId: 's', runId: `run${id}` }), {
    tools,
    prices,
    maxTurns,
    maxBudgetUsd: 1e6,
    model: scriptedModel(script, { id: model, maxOutputTokens: 1_000 }),
    steps,
  })
  await running.result
  // The records as a session file stores them.
  const records = JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
  return records.slice(0, Math.max(1, Math.ceil(records.length * given.left)))
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)
/** In nano-dollars, which are integers. */
const nanos = (rows: readonly { readonly costUsd: number; readonly unknownUsd: number }[]): readonly number[] => [
  sum(rows.map(({ costUsd }) => Math.round(costUsd * 1e9))),
  sum(rows.map(({ unknownUsd }) => Math.round(unknownUsd * 1e9))),
]

// oxlint-disable-next-line vitest/expect-expect -- `holds` has them
test('all breakdowns agree with the accounts of all runs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(session, { minLength: 1, maxLength: 5 }), async (sessions) => {
      const collector = new ReportCollector({ since: null, until: null })
      const all: (readonly StepRecord[])[] = []
      for (const [index, { runs, cwd }] of sessions.entries()) {
        const records = await Promise.all(runs.map((each, number) => recordsOf(each, number + 1)))
        all.push(...records)
        const read: AnySession = {
          sessionId: `session-${index}`,
          cwd,
          runs: records,
          began: runs.map(({ day }) => (day === 0 ? null : day * dayMs)),
          unpriced: runs.map(() => []),
        }
        collector.add(read, { file: `${index}.jsonl` })
      }
      const report = collector.report('of this test', [], 0)
      expectAgreement(report, all)
    }),
    { numRuns: 60 },
  )
})

function expectAgreement(report: Report, all: readonly (readonly StepRecord[])[]): void {
  const { totals, byDay, byModel, byFolder, byProgram, bySession, endings, tools: toolRows, compactions } = report
  const accounts = all.map(accountOf)
  const paid = nanos([totals])
  for (const rows of [byDay, byFolder, byProgram, bySession, byModel, endings]) expect(nanos(rows)).toEqual(paid)
  for (const rows of [byDay, byFolder, byProgram, bySession]) {
    expect(sum(rows.map(({ runs }) => runs))).toBe(totals.runs)
    expect(sum(rows.map(({ turns }) => turns))).toBe(totals.turns)
    expect(sum(rows.map(({ requests }) => requests))).toBe(totals.requests)
    expect(sum(rows.map(({ activeMs }) => activeMs))).toBe(totals.activeMs)
  }
  for (const rows of [byDay, byFolder, byProgram, bySession, byModel, endings]) {
    expect(sum(rows.map(({ tokens }) => tokens))).toBe(totals.tokens)
    expect(sum(rows.map(({ unknownTokens }) => unknownTokens))).toBe(totals.unknownTokens)
  }
  expect(sum(byModel.map(({ requests }) => requests))).toBe(totals.requests)
  expect(sum(Object.values(report.time))).toBe(totals.activeMs)

  expect(totals.runs).toBe(all.length)
  expect(totals.turns).toBe(sum(accounts.map((account) => account.totals.turns)))
  expect(totals.requests).toBe(sum(accounts.map((account) => account.totals.requests)))
  // The possible cost of an open request is not charged to anyone yet.
  const requests = all.flatMap((records) => recordedWork(records).requests)
  const open = sum(requests.filter(({ outcome: came }) => came === 'open').map(({ tokens }) => tokens))
  const charged = totals.tokens + totals.unknownTokens - open
  expect(charged).toBe(sum(accounts.map((account) => account.totals.tokens)))
  expect(report.service.untold).toBe(requests.filter(({ isAtWorst }) => isAtWorst).length)
  expect(paid[0]).toBe(sum(accounts.map((account) => Math.round(account.totals.costUsd * 1e9))))
  const committed = sum(accounts.map((account) => Math.round(account.totals.committedUsd * 1e9)))
  expect(sum(paid)).toBe(committed)

  const called = sum(accounts.flatMap((account) => account.tools.map(({ calls }) => calls)))
  expect(sum(toolRows.map(({ calls }) => calls))).toBe(called)
  const notDone = sum(accounts.flatMap((account) => account.tools.map(({ failed, open }) => failed + open)))
  expect(sum(toolRows.map(({ failed, denied, invalid, cut }) => failed + denied + invalid + cut))).toBe(notDone)
  const ofTools = sum(accounts.flatMap((account) => account.tools.map(({ tokens }) => tokens)))
  expect(sum(toolRows.map(({ tokens }) => tokens)) + compactions.tokens + compactions.unknownTokens).toBe(charged)
  expect(sum(toolRows.map(({ tokens }) => tokens))).toBe(ofTools)
}
