// Tests R-ASK-8, R-ASK-8a, R-PERM-7b: an invalid answer is an error of the program, and runs nothing.
import { describe, expect, test } from 'vitest'
import {
  AgentState,
  ConfigurationError,
  createMemorySteps,
  replay,
  startRun,
  type RunOptions,
  type PermissionDecision,
  type Permissions,
} from '../../src/index.ts'
import { AgentBuilder } from '../../src/compat/index.ts'
import type { CanUseTool } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import { begin, calls, run, tool, until } from '../support/harness.ts'

const permissions: Permissions = {
  denies: () => undefined,
  decide: ({ call }) => ({ behavior: 'ask', message: `Allow ${call.name}?` }),
}
const script = [calls({ name: 'Pay', id: 'a' }), 'done']

function world(): { readonly done: string[]; readonly options: Pick<RunOptions, 'tools' | 'permissions'> } {
  const done: string[] = []
  return { done, options: { tools: [tool('Pay', () => (done.push('paid'), 'paid'))], permissions } }
}

/** Values that programs return in place of an answer, and the error for each. */
const wrong: readonly (readonly [name: string, given: unknown, expectedError: string])[] = [
  ['true', true, 'but it was true'],
  ["'allow'", 'allow', 'but it was'],
  ['nothing', null, 'but it was null'],
  ['a list', [{ behavior: 'allow' }], 'but it was'],
  ['{ approved: true }', { approved: true }, 'but its behavior was undefined'],
  ["{ behavior: 'approve' }", { behavior: 'approve' }, 'but its behavior was "approve"'],
  ["{ behavior: 'allow', input }", { behavior: 'allow', input: { to: 'Bob' } }, 'another input is updatedInput'],
  [
    'what cannot be read',
    {
      get behavior(): string {
        throw new Error('no')
      },
    },
    'could not be read',
  ],
]
// Plain JavaScript code can return any value.
const asAnswer = (answer: unknown): PermissionDecision => answer as PermissionDecision
describe.each(wrong)('%s', (_name, answer, expectedError) => {
  test('of canUseTool ends the run with that error, and a replay in the same way', async () => {
    const { done, options } = world()
    const canUseTool: CanUseTool = () => asAnswer(answer) as ReturnType<CanUseTool>
    const steps = createMemorySteps({ clock: createFakeClock() })
    const ended = await run(script, { ...options, canUseTool, steps })
    expect([ended.terminal.reason, ended.terminal.error?.code, ended.terminal.error?.message, done]).toEqual([
      'error',
      'callback',
      expect.stringContaining(expectedError),
      [],
    ])
    expect(ended.terminal.error?.message).toMatch(/^An answer is \{ behavior: 'allow'/)
    const again = await replay(steps.records, { ...options, canUseTool, model: scriptedModel([]) })
    expect([again.terminal.reason, again.terminal.error?.message]).toEqual(['error', ended.terminal.error?.message])
  })

  test('of approvals is an error, and the call stays pending', async () => {
    const { done, options } = world()
    const { engine } = engineOf(script, options)
    for await (const _ of engine.submit('go'));
    const approving = async (): Promise<void> => {
      for await (const _ of engine.approve({ a: asAnswer(answer) }));
    }
    await expect(approving()).rejects.toThrow(ConfigurationError)
    await expect(approving()).rejects.toThrow(expectedError)
    expect(done).toEqual([])
    const messages = []
    for await (const message of engine.approve({ a: { behavior: 'allow' } })) messages.push(message)
    expect([resultOf(messages).result, done]).toEqual(['done', ['paid']])
  })

  test('of RunStream.answer is an error, and the run keeps waiting', async () => {
    const { done, options } = world()
    const going = begin(script, { ...options, onAsk: 'wait' })
    const keyOf = (): string | undefined =>
      going.events.flatMap((event) => (event.type === 'approval_needed' && event.key !== null ? [event.key] : []))[0]
    await until(() => keyOf() !== undefined)
    const key = keyOf() ?? ''
    expect(() => going.loop.answer(key, asAnswer(answer))).toThrow(expectedError)
    expect(done).toEqual([])
    going.loop.answer(key, { behavior: 'allow' })
    expect([(await going.end()).terminal.reason, done]).toEqual(['completed', ['paid']])
  })

  test('of onApproval ends the run with that error', async () => {
    const { done, options } = world()
    const clock = createFakeClock({ autoAdvance: true })
    const agent = AgentBuilder.base({ model: scriptedModel(script), clock, ...options, onAsk: 'wait' }).build()
    const state = AgentState.empty().withUserMessage('go')
    const ended = await agent.execute(state, { onApproval: () => asAnswer(answer) })
    expect([ended.stopReason(), JSON.stringify(ended.stopSignals().highest()), done]).toEqual([
      'error',
      expect.stringContaining('An answer is'),
      [],
    ])
  })
})

test('an answer to a call that is not pending is an error that names the pending ones', async () => {
  const { done, options } = world()
  const waiting = await run(script, options)
  const { transcript } = waiting.state
  const approvals = { b: { behavior: 'allow' } } as const
  expect(() => startRun({ transcript, approvals })).toThrow('No call "b" waits for an answer. These wait: a.')
  expect(done).toEqual([])
})

test('extra fields of an approval, and any field of a denial, are no error', async () => {
  for (const answer of [
    { behavior: 'allow', updatedInput: { to: 'Ann' }, toolUseID: 'a', decisionClassification: 'user_temporary' },
    { behavior: 'allow', updatedInput: undefined, input: undefined },
    { behavior: 'deny', message: 'no', input: {} },
  ]) {
    const { done, options } = world()
    const ended = await run(script, { ...options, canUseTool: () => asAnswer(answer) as ReturnType<CanUseTool> })
    expect([ended.terminal.reason, done.length]).toEqual(['completed', answer.behavior === 'allow' ? 1 : 0])
  }
})
