// Holds R-JOUR-4b: records may come from anybody. A field of a wrong type is reported, or leads to no invalid figure.
import { agentTool, HaltingError, streamRun, startRun, tool, type RunOptions } from '@halting/core'
import { createMemorySteps, foldSession, validateRecord, type StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { whatIf, trajectoryOf } from '@halting/analysis'
import { rowOf, sessionTranscript, transcriptParts, viewOf } from '@halting/analysis/view'
import { assert, nat, property } from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { drawn } from '../../../agent/test/support/deep.ts'
import { htmlOf, markdownOf } from '@halting/analysis/export'
import { type AnySession, inspectedSession } from '@halting/analysis/sessions'
import { plainWhyText } from '../../src/inspect/plain-why-text.ts'
import { styleFor } from '../../src/io/style.ts'
import { ReportCollector } from '@halting/analysis/report'
import { reportText } from '../../src/report/report-text.ts'
import { waitingCalls } from '@halting/analysis/transcript'

const usage = { input_tokens: 1_000, output_tokens: 100 }
const asks = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, input: { file_path: 'a.ts', old_string: 'a', new_string: 'b' } })),
  usage,
})
const patch = { structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-a', '+b'] }] }

const options: Partial<RunOptions> = {
  maxTurns: 30,
  maxBudgetUsd: 50,
  tools: [
    tool({ name: 'Read', description: '', readOnly: true, execute: () => 'seen' }),
    tool({
      name: 'Edit',
      description: '',
      execute: () => ({ content: [{ type: 'text', text: 'done' }], details: patch }),
    }),
    tool({ name: 'Fail', description: '', execute: () => ({ content: 'no', isError: true }) }),
    agentTool({ name: 'Agent', description: '', spawn: () => ({ prompt: 'look', agentType: 'scout' }) }),
  ],
  prices: {
    cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1_000,
    worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
  },
}

/** The records of a run with parallel calls, a failure and a subagent, as a file returns them. */
let recorded: readonly StepRecord[] = []
beforeAll(async () => {
  const steps = createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) })
  const script = [
    asks('Read', 'Edit'),
    asks('Agent', 'Fail'),
    asks('Read'),
    { text: 'sub', usage },
    { text: 'done', usage },
  ]
  await streamRun(startRun({ prompt: 'go' }), {
    ...options,
    model: scriptedModel(script, { maxOutputTokens: 1_000 }),
    steps,
  }).result
  // The step store holds JSON.
  recorded = JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
})

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

/** Replacements for any value. */
const strange: readonly unknown[] = [
  [undefined, null, true, 0, -1, 0.5, 1e308, -1e308, '', '5', 'x', '__proto__', [], {}, [null], [1], [[]]],
  [{ type: 'text' }, { type: 'tool_use', id: 1 }, { type: 'tool_result' }, { kind: 'user' }, { toString: 1 }],
  ['completed', 'run1/agent:1:0:x/model:1.1', 'agent:1:0:x/', nested(50), nested(20_000)],
].flat()

type Holder = Record<string | number, unknown>

/** Each location in a value, down to a depth. */
function placesIn(value: unknown, levels = 20): readonly (readonly [Holder, string])[] {
  if (typeof value !== 'object' || value === null || levels === 0) return []
  // An object, or a list whose locations are its indexes.
  const holder = value as Holder
  return Object.keys(holder).flatMap((name) => [[holder, name] as const, ...placesIn(holder[name], levels - 1)])
}

/** The same records with some values replaced. */
function changed(changes: readonly (readonly [record: number, place: number, value: number])[]): readonly StepRecord[] {
  const records = structuredClone(recorded)
  for (const [record, place, value] of changes) {
    const places = placesIn(records[record % records.length])
    const [holder, name] = places[place % places.length] ?? []
    if (holder === undefined || name === undefined) continue
    holder[name] = strange[value]
  }
  return records
}

/** Everything that views derive from a session. */
function madeOf(runs: readonly (readonly StepRecord[])[]): readonly unknown[] {
  const session: AnySession = { sessionId: 's', cwd: '/', runs, began: [0], unpriced: [[]] }
  const found = { key: 's', sessionId: 's', path: null, changedAt: 0, isLive: false, signature: '' }
  const inspected = inspectedSession(session, { found, shellArguments: 's', whyText: plainWhyText })
  const collector = new ReportCollector({ since: null, until: null })
  collector.add(session, { file: 's.jsonl' })
  const report = collector.report('here', [], 0)
  const figures = [
    rowOf(inspected),
    viewOf(inspected),
    report,
    ...runs.map((records) => whatIf(trajectoryOf(records), { maxTurns: 1, maxBudgetUsd: 1 })),
  ]
  const texts = [
    ...runs.map((_, run) => transcriptParts(inspected, run)),
    reportText(report, { by: undefined, width: 80, style: styleFor(false, {}) }),
    ...htmlOf(sessionTranscript({ sessionId: 's', cwd: '/', runs }), 'A session', { says: '' }),
    ...markdownOf(sessionTranscript({ sessionId: 's', cwd: '/', runs }), 'A session'),
    waitingCalls(foldSession(runs)),
  ]
  JSON.stringify([figures, texts, runs])
  return figures
}

/** Numbers that JSON cannot express. */
const strayNumbers = (value: unknown): readonly number[] =>
  typeof value === 'number'
    ? [value].filter((each) => !Number.isFinite(each))
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strayNumbers)
      : []

test('either refuses a damaged record or derives only valid figures from it', () => {
  expect(recorded.map(validateRecord).filter((misfit) => misfit !== undefined)).toEqual([])
  expect(strayNumbers(madeOf([recorded]))).toEqual([])
  let taken = 0
  const one = [nat(), nat(), nat(strange.length - 1)] as const
  assert(
    property(...one, ...one, (record, place, value, record2, place2, value2) => {
      const records = changed([
        [record, place, value],
        [record2, place2, value2],
      ])
      if (records.some((each) => validateRecord(each) !== undefined)) return
      try {
        expect(strayNumbers(madeOf([records]))).toEqual([])
        taken++
      } catch (error) {
        if (!(error instanceof HaltingError)) throw error
      }
    }),
    { numRuns: drawn(3_000) },
  )
  // No view reads most fields.
  expect(taken).toBeGreaterThan(drawn(3_000) / 10)
})
