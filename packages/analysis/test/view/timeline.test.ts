// The timeline has every step of a run once, within the run, correctly nested.
import { resume, type Hook, type StepRecord } from '@halting/core'
import { contextLayers } from '@halting/core/adapters'
import { recordedStep } from '../../src/account/recorded-steps.ts'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { transcriptParts } from '../../src/view/parts.ts'
import { viewOf } from '../../src/view/view.ts'
import type { InspectedSession } from '../../src/view/inspected-session.ts'
import type { RunView, TimelineItem } from '../../src/view/types.ts'
import {
  calls,
  largeSession,
  says,
  scriptedSession,
  scriptedWorld,
  sessionOf,
  type ScriptedWorld,
} from '../support/sessions.ts'

const runsOf = (session: InspectedSession): readonly RunView[] => viewOf(session).runs

/** The only run, or the last one. */
const lastRun = (session: InspectedSession): RunView => {
  const run = runsOf(session).at(-1)
  if (run === undefined) throw new Error('The session has no run.')
  return run
}

const ofKind = ({ items }: RunView, kind: TimelineItem['kind']): readonly TimelineItem[] =>
  items.filter((item) => item.kind === kind)

const spans: ReadonlySet<string> = new Set(['turn', 'agent'])

/** The properties of every timeline, whatever the run did. */
function check(records: readonly StepRecord[], { items, account, parts }: RunView): void {
  const activeMs = account.totals.activeMs - account.carried.activeMs
  expect(items.map(({ id }) => id)).toEqual(items.map((_, index) => index))
  for (const [index, { startMs, endMs, firstRecord, lastRecord, part }] of items.entries()) {
    expect(startMs).toBeGreaterThanOrEqual(items[index - 1]?.startMs ?? 0)
    expect(endMs ?? startMs).toBeGreaterThanOrEqual(startMs)
    expect(endMs ?? startMs).toBeLessThanOrEqual(activeMs + 1e-6)
    expect(lastRecord).toBeGreaterThanOrEqual(firstRecord)
    expect(lastRecord).toBeLessThan(records.length)
    expect(part ?? 0).toBeLessThan(Math.max(1, parts))
  }
  const steps = items.filter(({ kind }) => !spans.has(kind))
  // Each result closes exactly one item, and each intent starts one.
  const closing = steps
    .filter(({ lastRecord }) => records[lastRecord]?.type === 'result')
    .map((each) => each.lastRecord)
  const results = records.flatMap((record, index) => (record.type === 'result' ? [index] : []))
  expect(closing.toSorted((a, b) => a - b)).toEqual(results)
  const beginning = new Set(steps.map(({ firstRecord }) => firstRecord))
  const keys = new Set<string>()
  for (const [index, record] of records.entries()) {
    if (record.type !== 'intent' || keys.has(record.key)) continue
    keys.add(record.key)
    expect(beginning.has(index)).toBe(true)
  }
  // A step with a result is not open.
  const answered = new Set(records.flatMap((record) => (record.type === 'result' ? [record.key] : [])))
  for (const { endMs, firstRecord } of steps) {
    const record = records[firstRecord]
    const isDone = record !== undefined && 'key' in record && answered.has(record.key)
    expect(endMs === null && isDone).toBe(false)
  }
  // The attempts and the other charges make up the cost of the run.
  const closed = steps.filter(({ endMs }) => endMs !== null)
  const { totals, carried } = account
  const cost = closed.reduce((sum, { costUsd }) => sum + costUsd, 0)
  const tokens = closed.reduce((sum, item) => sum + item.tokens, 0)
  expect(tokens).toBe(totals.tokens - carried.tokens)
  expect(cost).toBeCloseTo((account.ending === null ? totals.costUsd : totals.committedUsd) - carried.costUsd, 6)
  // Turns follow each other. Steps of the main loop lie in one of them, and agents enclose their steps.
  const turns = items.filter(({ kind }) => kind === 'turn')
  for (const [index, turn] of turns.slice(1).entries())
    expect(turn.startMs).toBeGreaterThanOrEqual(turns[index]?.endMs ?? 0)
  for (const { scope, startMs, endMs } of steps.filter(({ kind }) => kind === 'attempt' || kind === 'tool')) {
    if (scope === '')
      expect(turns.some((turn) => turn.startMs <= startMs && (endMs ?? startMs) <= (turn.endMs ?? 0))).toBe(true)
    else {
      const around = items.some(
        (item) =>
          item.kind === 'agent' &&
          item.scope === scope &&
          item.startMs <= startMs &&
          (endMs ?? startMs) <= (item.endMs ?? 0),
      )
      expect(around).toBe(true)
    }
  }
}

const checkAll = (session: InspectedSession): void => {
  for (const [index, run] of runsOf(session).entries()) check(session.runs[index] ?? [], run)
}

/** A hook that observes everything and decides nothing. */
const guard: Hook = { id: 'guard', triggers: ['beforeToolUse', 'afterToolUse', 'beforeStep'], handle: () => {} }

describe('the timeline', () => {
  test('shows parallel tools as parallel, agents around their steps, and the ending last', async () => {
    const world = scriptedWorld()
    const script = [
      calls(world, 'Look', 'Find', 'Write', 'Fail'),
      calls(world, 'Agent'),
      calls(world, 'Look'),
      says(world, 'from within'),
      says(world, 'done'),
    ]
    const session = await scriptedSession(world, [script])
    checkAll(session)
    const run = lastRun(session)
    expect(ofKind(run, 'turn').map(({ label, startMs, endMs }) => [label, startMs, endMs])).toEqual([
      ['turn 1', 0, 150],
      ['turn 2', 150, 450],
      ['turn 3', 450, 550],
    ])
    expect(ofKind(run, 'tool').map(({ label, status, scope }) => [label, status, scope])).toEqual([
      ['Look look-0.ts', 'done', ''],
      ['Find find-1.ts', 'done', ''],
      ['Write write-2.ts', 'done', ''],
      ['Fail fail-3.ts', 'failed', ''],
      ['Look look-0.ts', 'done', 'agent:2:0:call_1_0/'],
    ])
    expect(ofKind(run, 'agent')).toMatchObject([
      {
        label: 'Agent agent-0.ts',
        scope: 'agent:2:0:call_1_0/',
        startMs: 250,
        endMs: 450,
        status: 'done',
        costUsd: 2.2,
        request: 2,
      },
    ])
    expect(run.items.at(-1)).toMatchObject({ kind: 'ending', status: 'done', startMs: 550, part: run.parts - 1 })
  })

  test('links an item to its part of the transcript', async () => {
    const world = scriptedWorld()
    const script = [calls(world, 'Look', 'Write'), calls(world, 'Agent'), calls(world, 'Look'), 'within', 'done']
    const session = await scriptedSession(world, [script])
    const parts = transcriptParts(session, 0)
    const { items } = lastRun(session)
    const shown = items.map(({ kind, scope, part }) => {
      const linked = part === null ? undefined : parts[part]
      return [kind, scope === '' ? 'main' : 'agent', linked?.kind === 'call' ? linked.name : (linked?.kind ?? null)]
    })
    expect(shown).toEqual([
      ['turn', 'main', 'Look'],
      ['attempt', 'main', 'Look'],
      ['tool', 'main', 'Look'],
      ['tool', 'main', 'Write'],
      ['turn', 'main', 'Agent'],
      ['attempt', 'main', 'Agent'],
      ['agent', 'agent', 'Agent'],
      ['attempt', 'agent', 'Agent'],
      ['tool', 'agent', 'Agent'],
      ['attempt', 'agent', 'Agent'],
      ['turn', 'main', 'answer'],
      ['attempt', 'main', 'answer'],
      ['ending', 'main', 'answer'],
    ])
  })

  test('shows failed attempts, the waits between them, and recoveries', async () => {
    const world = scriptedWorld()
    const overloaded = { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const
    const cut = { text: 'half', stopReason: 'max_tokens', usage: { input_tokens: 10, output_tokens: 10 } } as const
    const session = await scriptedSession(world, [[overloaded, calls(world, 'Look'), cut, says(world, 'done')]])
    checkAll(session)
    const run = lastRun(session)
    expect(ofKind(run, 'attempt').map(({ status }) => status)).toEqual(['failed', 'answered', 'answered', 'answered'])
    expect(ofKind(run, 'wait').map(({ label }) => label)).toEqual(['Before a retry'])
    expect(ofKind(run, 'lap').map(({ label }) => label)).toEqual(['max_output_tokens_recovery'])
    // A recovery continues its turn.
    expect(ofKind(run, 'turn').map(({ label }) => label)).toEqual(['turn 1', 'turn 2'])
  })

  test('shows hooks and compactions where they happened', async () => {
    const world = scriptedWorld()
    const long = {
      toolCalls: [{ name: 'Write', input: { path: 'much.ts' } }],
      text: 'x'.repeat(4_000),
      usage: { input_tokens: 90_000, output_tokens: 1_000 },
    }
    const script = [calls(world, 'Look'), long, 'a summary', says(world, 'done')]
    const session = await scriptedSession(world, [script], {
      hooks: [guard],
      context: contextLayers({ clearResults: false, collapse: false, contextThreshold: 50_000 }),
      prompt: 'y'.repeat(10_000),
    })
    checkAll(session)
    const run = lastRun(session)
    expect(ofKind(run, 'hook').map(({ label }) => label)).toContain('beforeToolUse guard')
    expect(ofKind(run, 'compaction').length).toBeGreaterThan(0)
    const compacted = run.points.filter(({ isCompacted }) => isCompacted)
    expect(compacted.map(({ turn }) => turn)).toEqual([3])
    expect(compacted[0]?.context.summaries).toBeGreaterThan(0)
    const parts = transcriptParts(session, 0)
    const done = ofKind(run, 'compaction').find(({ status }) => status === 'compacted')
    expect(parts[done?.part ?? -1]).toMatchObject({ kind: 'note' })
    // When the record is cut after the compaction and the reply to it, no iteration mentions them. The steps do.
    const replied =
      session.runs[0]?.findLastIndex((record) => 'key' in record && record.key.startsWith('run1/model:')) ?? 0
    const cut = lastRun({ ...session, runs: [session.runs[0]?.slice(0, replied + 1) ?? []] })
    expect(cut.points.map(({ isCompacted }) => isCompacted)).toEqual([false, false, true])
    expect(cut.points[2]?.context.summaries).toBe(compacted[0]?.context.summaries)
  })

  test('leaves a step that a kill interrupted without an end', async () => {
    const world = scriptedWorld()
    const session = await scriptedSession(world, [[calls(world, 'Write'), says(world, 'done')]], { killedAfter: 4 })
    checkAll(session)
    expect(lastRun(session).items.at(-1)).toMatchObject({
      kind: 'tool',
      endMs: null,
      status: 'open',
      label: 'Write write-0.ts',
    })
  })

  test('shows a run that continues after a kill as one run, and repeats an open step in its turn once it was retried', async () => {
    const script = (world: ScriptedWorld) => [calls(world, 'Look'), calls(world, 'Write'), says(world, 'done')]
    for (const killedAfter of [2, 4, 6, 8, 9]) {
      const world = scriptedWorld()
      const cut = await scriptedSession(world, [script(world)], { killedAfter })
      const [records = []] = cut.runs
      const asked = records.filter((record) => record.type === 'result' && record.key.startsWith('run1/model:')).length
      const model = scriptedModel(script(world).slice(asked), { maxOutputTokens: 1_000 })
      const { loop, steps } = resume(records, { model, ...world })
      await loop.result
      const session = sessionOf([steps.records])
      checkAll(session)
      const run = lastRun(session)
      expect(run.account.ending?.reason).toBe('completed')
      const { items } = run
      const turns = items.filter(({ kind }) => kind === 'turn')
      expect(turns.map(({ label }) => label)).toEqual(['turn 1', 'turn 2', 'turn 3'])
      const ends = items.map(({ endMs, startMs }) => endMs ?? startMs)
      expect(Math.max(...ends)).toBeLessThanOrEqual(run.account.totals.activeMs)
      expect(run.points.map(({ turn }) => turn)).toEqual([1, 2, 3])
    }
  })

  test('shows a step that waits for a person with its call', async () => {
    const world = scriptedWorld()
    const ask = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'may it?' }) as const }
    const script = [calls(world, 'Write'), says(world, 'never')]
    const run = lastRun(await scriptedSession(world, [script], { permissions: ask }))
    expect(run.account.ending?.reason).toBe('needs_approval')
    const waits = ofKind(run, 'wait')
    expect(waits.map(({ label }) => label)).toContain('Permission for Write write-0.ts')
    expect(run.items.at(-1)).toMatchObject({ kind: 'ending', status: 'failed' })
  })

  test('has each record once, within the run, nested, with the cost of the run, whatever happens and wherever it is cut', async () => {
    const steps = fc.array(fc.subarray(['Look', 'Find', 'Write', 'Fail', 'Agent', 'Gone'], { minLength: 1 }), {
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(steps, fc.nat({ max: 60 }), fc.boolean(), async (turns, cut, hasTwoRuns) => {
        const world = scriptedWorld()
        const script = (of: ScriptedWorld) => [
          ...turns.map((names) => calls(of, ...names)),
          ...Array.from({ length: 30 }, () => says(of, 'done')),
        ]
        const scripts = hasTwoRuns ? [[says(world, 'first')], script(world)] : [script(world)]
        const session = await scriptedSession(world, scripts, {
          killedAfter: cut + 3,
          hooks: [guard],
        })
        checkAll(session)
        const { points, account } = lastRun(session)
        expect(points.at(-1)?.tokens ?? 0).toBe(points.length === 0 ? 0 : account.totals.tokens)
      }),
      { numRuns: 30 },
    )
  })

  test('starts the time of a run that continues another at zero', () => {
    const [records = []] = largeSession(200).runs
    const [first] = records
    if (first?.type !== 'start') throw new Error('A run begins with its start.')
    const { spent } = first.start
    const carried = {
      ...first,
      start: { ...first.start, spent: { ...spent, turns: 5, totalTokens: 70, nanos: 2e9, now: 900 } },
    }
    const session = sessionOf([[carried, ...records.slice(1)]])
    const { items, points } = lastRun(session)
    expect(items[0]).toMatchObject({ kind: 'turn', startMs: 0, label: 'turn 6' })
    expect(points[0]?.settledUsd).toBeCloseTo(2.001)
  })

  test('reads keys of steps as core does', () => {
    const [records = []] = largeSession(100).runs
    for (const record of records)
      expect('key' in record ? recordedStep(record.key, 0, 0, false).request : 1).toBeGreaterThan(0)
  })
})
