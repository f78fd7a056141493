// Tests R-VERI-1a, R-VERI-3 to R-VERI-7: verification in runs with random models and tools.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  certificate,
  replay,
  resume,
  type FileWork,
  type Permissions,
  type RunOptions,
  type RunState,
  type StepRecord,
} from '../../src/index.ts'
import { lastAnswer } from '../../src/entries/adapters.ts'
import { validateRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { hashText } from '../../src/values/hash.ts'
import { isToolUse } from '../../src/model/messages.ts'
import { begin, calls, json, subagent, tool, type Run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

type Move =
  | 'answer'
  | 'empty'
  | 'refuse'
  | 'cut'
  | 'fail'
  | 'agent'
  | { readonly edit: number }
  | { readonly check: boolean }
  | { readonly both: boolean }

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('answer' as const) },
  { weight: 4, arbitrary: fc.record({ edit: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ check: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ both: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constantFrom('empty', 'refuse', 'cut', 'fail', 'agent') },
)

interface Drawn {
  /** The actions of the model, from its first request on; then it answers. */
  readonly moves: readonly Move[]
  readonly maxTurns: number
  readonly project: readonly string[] | 'throws'
  readonly plans: boolean
  readonly until: boolean
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  moves: fc.array(move, { minLength: 2, maxLength: 8 }),
  maxTurns: fc.oneof(
    { weight: 3, arbitrary: fc.constant(20) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 6 }) },
  ),
  project: fc.oneof({ weight: 4, arbitrary: fc.constant(['npm test']) }, fc.constantFrom([], 'throws' as const)),
  plans: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
  until: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
})

function replyTo(move: Move | undefined, number: number): ScriptedReply {
  switch (move) {
    case undefined:
    case 'answer':
      return `answer ${number}`
    case 'empty':
      return ''
    case 'refuse':
      return { text: `refusal ${number}`, stopReason: 'refusal' }
    case 'cut':
      return { text: `cut ${number}`, stopReason: 'max_tokens' }
    case 'fail':
      return { error: { kind: 'authentication_failed', message: 'no key', status: 401 } }
    case 'agent':
      return calls({ name: 'Agent', id: `call_${number}`, input: {} })
    default:
      return calls({ name: 'Do', id: `call_${number}`, input: move })
  }
}

function workOf(input: unknown): FileWork {
  const { edit, check, both } = input as { readonly edit?: number; readonly check?: boolean; readonly both?: boolean }
  if (edit !== undefined) return { changedLines: edit }
  const passed = check ?? both ?? false
  return { ...(both !== undefined && { changedLines: 3 }), check: { command: 'make', passed } }
}

const planPermissions = (plans: boolean): Permissions => ({
  denies: () => undefined,
  decide: () => ({ behavior: 'allow' }),
  isPlanning: () => plans,
})

/** The model depends only on its input, so that a resume behaves the same. Agents edit and answer. */
function optionsOf({ moves, maxTurns, project, plans, until }: Drawn, mode: 'ask' | 'tell' = 'ask'): RunOptions {
  const model = scriptedModel(
    ({ messages }) => {
      const answersShown = messages.filter(({ role }) => role === 'assistant').length
      if (JSON.stringify(messages[0]).includes('"sub"'))
        return answersShown === 0 ? replyTo({ edit: 4 }, 100) : 'agent done'
      return replyTo(moves[answersShown], answersShown)
    },
    { defaultOutputTokens: 64_000 },
  )
  return {
    model,
    tools: [
      tool('Do', (input) => ({ content: 'done', fileWork: workOf(input) }), { onUnknownOutcome: 'rerun' }),
      subagent,
    ],
    maxTurns,
    maxRetries: 0,
    clock: createFakeClock({ autoAdvance: true }),
    permissions: planPermissions(plans),
    verification: {
      mode,
      checks: () => (project === 'throws' ? Promise.reject(new Error('unreadable')) : project),
    },
    ...(until && { until: [{ name: 'lint', check: () => ({ met: true }) }] }),
  }
}

const runOf = (plan: Drawn, mode?: 'ask' | 'tell'): Promise<Run> => begin([], optionsOf(plan, mode) as never).end()

const isQuestion = (entry: { readonly kind: string }): boolean =>
  entry.kind === 'user' && 'keepsAnswer' in entry && 'id' in entry && String(entry.id).includes('verify')

/** What was changed and checked before the entry at this position, by what the model was shown: an independent oracle. */
function uncheckedBefore(state: RunState, end: number): { readonly lines: number; readonly isKnown: boolean } {
  let [lines, isKnown] = [0, false]
  for (const entry of [...state.transcript].slice(0, end)) {
    if (entry.kind !== 'assistant') continue
    for (const { name, input } of entry.message.content.filter(isToolUse)) {
      const { changedLines = 0, check } = name === 'Agent' ? { changedLines: 4 } : workOf(input)
      lines = check?.passed === true ? 0 : lines + changedLines
      isKnown ||= check !== undefined
    }
  }
  return { lines, isKnown }
}

test('the model is asked at most once, only about an unchecked change, and the run ends as it would have', async () => {
  let callCount = 0
  await fc.assert(
    fc.asyncProperty(drawn, async (plan) => {
      const run = await runOf(plan)
      const { transcript } = run.state
      const entries = [...transcript]
      const questions = entries.flatMap((entry, index) => (isQuestion(entry) ? [index] : []))
      expect(questions.length).toBe(run.transitions.filter((each) => each === 'unverified_change').length)
      expect(questions.length).toBeLessThanOrEqual(1)
      const { laps, turns } = certificate(optionsOf(plan))
      expect(run.transitions.length + 1).toBeLessThanOrEqual(laps.bounded ? laps.value : 0)
      expect(run.transitions.filter((each) => each !== 'max_output_tokens_recovery').length + 1).toBeLessThanOrEqual(
        turns.bounded ? turns.value : 0,
      )
      const plain = await runOf(plan, 'tell')
      expect(plain.transitions).not.toContain('unverified_change')
      const [question] = questions
      const withoutQuestion = question === undefined ? run : plain
      expect(json([withoutQuestion.terminal, withoutQuestion.state.spent])).toEqual(
        json([plain.terminal, plain.state.spent]),
      )
      if (question === undefined) return
      callCount += 1
      const { lines, isKnown } = uncheckedBefore(run.state, question)
      expect([lines >= 3, isKnown || plan.project === 'throws' ? isKnown : plan.project.length > 0]).toEqual([
        true,
        true,
      ])
      expect([plan.plans, plan.until, plan.maxTurns]).toEqual([false, false, expect.toSatisfy((most) => most >= 4)])
      expect(plain.terminal.reason).toBe('completed')
      const behind = entries.slice(question)
      const called = behind.some((entry) => entry.kind === 'assistant' && entry.message.content.some(isToolUse))
      if (called) return
      expect([run.terminal.reason, lastAnswer(run.state)]).toEqual(['completed', lastAnswer(plain.state)])
      expect(run.terminal.verified).toBe(plain.terminal.verified)
      expect(run.state.spent.turns).toBeLessThanOrEqual(plain.state.spent.turns + 1)
    }),
  )
  expect(callCount).toBeGreaterThan(0)
})

test('the result lists what was checked, as the tools reported', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async (plan) => {
      const { terminal, state } = await runOf(plan)
      const { lines } = uncheckedBefore(state, state.transcript.length)
      const changed = [...state.transcript].some(
        (entry) =>
          entry.kind === 'assistant' &&
          entry.message.content
            .filter(isToolUse)
            .some(({ name, input }) => name === 'Agent' || (workOf(input).changedLines ?? 0) > 0),
      )
      const expected = changed ? lines === 0 || (plan.until && terminal.goal?.met === true) : 'nothing changed'
      expect(terminal.verified).toBe(expected)
    }),
  )
})

test('a run that was killed after any record is not asked again and ends the same, and so does its replay', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, fc.nat(), async (plan, at) => {
      const completeRun = await runOf(plan)
      const count = 1 + (at % completeRun.steps.records.length)
      const records = await killedAfter(count, optionsOf(plan))
      expect(records.map(validateRecord)).toEqual(records.map(() => undefined))
      if (records.at(-1)?.type === 'end') return
      const resumed = resume(records, optionsOf(plan))
      const { terminal, state } = await resumed.loop.ended
      expect(conversationOf(state)).toEqual(conversationOf(completeRun.state))
      expect([terminal.reason, terminal.verified]).toEqual([completeRun.terminal.reason, completeRun.terminal.verified])
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      const again = await replay(json(resumed.steps.records) as readonly StepRecord[], optionsOf(plan))
      expect(json(again.terminal)).toEqual(json(terminal))
    }),
  )
})

test('a resume after each record of a run that was asked ends the same', async () => {
  const plan: Drawn = {
    moves: [{ edit: 5 }, 'agent', 'answer', { check: false }, 'answer'],
    maxTurns: 20,
    project: ['npm test'],
    plans: false,
    until: false,
  }
  const completeRun = await runOf(plan)
  expect(completeRun.transitions).toEqual(['next_turn', 'next_turn', 'unverified_change', 'next_turn'])
  for (let count = 1; count < completeRun.steps.records.length; count++) {
    const checks = { asked: 0 }
    const options = { ...optionsOf(plan), verification: countingVerification(checks) }
    const records = await killedAfter(count, optionsOf(plan))
    const onRecord = records.some((record) => record.type === 'result' && record.key.includes('verify:'))
    const resumed = resume(records, options)
    const { terminal, state } = await resumed.loop.ended
    expect([count, json(conversationOf(state)), terminal.reason]).toEqual([
      count,
      json(conversationOf(completeRun.state)),
      'completed',
    ])
    expect(checks.asked).toBe(onRecord ? 0 : 1)
  }
})

const countingVerification = (checks: { asked: number }) => ({
  mode: 'ask' as const,
  checks: () => {
    checks.asked += 1
    return ['npm test']
  },
})

/** A short form of the conversation. */
function conversationOf({ transcript }: RunState): readonly unknown[] {
  return [...transcript].map((entry) =>
    entry.kind === 'user' || entry.kind === 'assistant'
      ? [entry.kind, hashText(JSON.stringify(entry.message.content))]
      : entry.kind,
  )
}
