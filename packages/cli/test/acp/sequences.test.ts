// Holds rules of docs/spec: R-ACP-2, R-ACP-3, R-ACP-4, R-ACP-6: a client may send any requests in any order.
import { methods, type RequestPermissionOutcome } from '@agentclientprotocol/sdk'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ScriptedReply, scriptedModel } from '@halting/core/testing'
import { callProblems, updatesIn } from '../support/acp-schema.ts'
import { fullCapabilities, startAgent } from '../support/acp-agent.ts'

const replies: readonly ScriptedReply[] = [
  'An answer.',
  { text: 'I look.', toolCalls: [{ name: 'Glob', input: { pattern: '*' } }] },
  {
    toolCalls: [
      { name: 'Write', input: { file_path: 'a.txt', content: 'a' } },
      { name: 'Read', input: { file_path: 'a.txt' } },
    ],
  },
  {
    toolCalls: [
      { name: 'TodoWrite', input: { todos: [{ content: 'All of it', status: 'pending' }] } },
      { name: 'Nothing' },
    ],
  },
  {
    toolCalls: [{ name: 'AskUserQuestion', input: { questions: [{ question: 'Which?', options: [{ label: 'A' }] }] } }],
  },
  { hang: true, text: 'I wait' },
  { error: { kind: 'server_error', message: 'oops', status: 500 } },
  { text: 'No.', stopReason: 'refusal' },
]

const outcomes: readonly RequestPermissionOutcome[] = [
  { outcome: 'cancelled' },
  { outcome: 'selected', optionId: 'allow_once' },
  { outcome: 'selected', optionId: 'allow_always:0' },
  { outcome: 'selected', optionId: 'reject_always' },
  { outcome: 'selected', optionId: 'choice:0' },
  { outcome: 'selected', optionId: 'never offered' },
]

/** HALTING_DEEP=all runs all of them, which takes long. */
const isDeep = ['1', 'all'].includes(process.env['HALTING_DEEP'] ?? '')

const session = fc.nat(2)
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('new' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('prompt' as const),
      session,
      text: fc.constantFrom('go', '', '/continue', '/compact'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), session }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), session }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('mode' as const),
      session,
      modeId: fc.constantFrom('plan', 'acceptEdits', 'none'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('option' as const),
      session,
      configId: fc.constantFrom(
        '_halting.max_turns',
        '_halting.budget_usd',
        '_halting.max_tokens',
        '_halting.max_duration',
        'thinking',
        'model',
        'nothing',
      ),
      value: fc.constantFrom('5', 'none', '0', 'adaptive', 'scripted'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), turns: fc.integer({ min: 0, max: 30 }) }) },
)

const sequence = fc.record({
  steps: fc.array(step, { minLength: 3, maxLength: 14 }),
  script: fc.array(fc.nat(replies.length - 1), { minLength: 1, maxLength: 6 }),
  answers: fc.array(fc.nat(outcomes.length - 1), { minLength: 1, maxLength: 4 }),
  capabilities: fc.constantFrom(fullCapabilities, {}),
})

test('answers every request once, matches the schema, and leaves no call open', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(sequence, async ({ steps, script, answers, capabilities }) => {
      let asked = 0
      const { agent, wire, newSession, close } = await startAgent({
        model: () => scriptedModel((_request, index) => replies[script[index % script.length] ?? 0] ?? 'Done.'),
        options: { maxRetries: 0, maxTurns: 6 },
        capabilities,
        permission: () => ({ outcome: outcomes[answers[asked++ % answers.length] ?? 0] ?? { outcome: 'cancelled' } }),
      })
      const ids: string[] = [(await newSession()).sessionId]
      const idOf = (index: number): string => ids[index % ids.length] ?? 'none'
      const settled: Promise<unknown>[] = []
      const ask = (request: Promise<unknown>): void =>
        void settled.push(
          request.then(
            () => undefined,
            () => undefined,
          ),
        )
      for (const one of steps) {
        switch (one.kind) {
          case 'new':
            ask(newSession().then(({ sessionId }) => ids.push(sessionId)))
            break
          case 'prompt': {
            const prompt = one.text === '' ? [] : [{ type: 'text' as const, text: one.text }]
            ask(agent.request(methods.agent.session.prompt, { sessionId: idOf(one.session), prompt }))
            break
          }
          case 'cancel':
            ask(agent.notify(methods.agent.session.cancel, { sessionId: idOf(one.session) }))
            break
          case 'close':
            ask(agent.request(methods.agent.session.close, { sessionId: idOf(one.session) }))
            break
          case 'mode':
            ask(agent.request(methods.agent.session.setMode, { sessionId: idOf(one.session), modeId: one.modeId }))
            break
          case 'option': {
            const { configId, value } = one
            ask(agent.request(methods.agent.session.setConfigOption, { sessionId: idOf(one.session), configId, value }))
            break
          }
          case 'wait':
            for (let turn = 0; turn < one.turns; turn++) await new Promise((resolve) => setImmediate(resolve))
        }
      }
      // What hangs is cancelled at the end, once for each queued prompt that may still run.
      const all = Promise.all(settled)
      let isDone = false
      void all.then(() => (isDone = true))
      // oxlint-disable-next-line no-unmodified-loop-condition -- the promise above does
      while (!isDone) {
        for (const sessionId of ids) await agent.notify(methods.agent.session.cancel, { sessionId })
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      await close()
      expect(wire.problems).toEqual([])
      expect(wire.unanswered).toEqual([])
      for (const sessionId of ids) expect(callProblems(updatesIn(wire, sessionId))).toEqual([])
    }),
    { numRuns: isDeep ? 200 : 40 },
  )
})
