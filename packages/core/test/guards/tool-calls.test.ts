// Tests R-GUARD-8a, R-GUARD-8b: guards see the calls of the turn, and end a run after one of them.
import { describe, expect, test } from 'vitest'
import {
  any,
  certificate,
  ConfigurationError,
  createMemorySteps,
  hasToolCall,
  replay,
  type Guard,
  type GuardCall,
  type ModelMessage,
} from '../../src/index.ts'
import { lastCallsOf } from '../../src/limits/last-calls.ts'
import { ToolCallHook } from '../../src/compat/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { reader, run } from '../support/harness.ts'

const tools = [
  reader('Look', () => 'seen'),
  reader('submit', () => 'taken'),
  reader('Fails', () => {
    throw new Error('no')
  }),
]
const callsOf = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ id: `${name}-1`, name, input: { of: name } })),
})

const called = (names: readonly string[], statuses: readonly GuardCall['status'][]) =>
  names.map((name, index) => ({ id: `${name}-1`, name, input: { of: name }, status: statuses[index] }))

describe('lastCalls', () => {
  test('are the calls of the last reply with their outcome', async () => {
    const seen: unknown[] = []
    const watching: Guard = {
      name: 'watching',
      evaluate({ checkpoint, lastCalls }) {
        seen.push([checkpoint, lastCalls])
        return undefined
      },
    }
    await run([callsOf('Look', 'Fails', 'Gone'), 'answer'], { tools, stopWhen: watching })
    const ended = called(['Look', 'Fails', 'Gone'], ['ok', 'error', 'error'])
    expect(seen).toEqual([
      ['before_turn', []],
      ['after_tools', ended],
      ['before_turn', ended],
    ])
  })

  test('are pending without a result, and none after a reply without calls', () => {
    const calls = ['Look', 'submit'].map((name) => ({
      type: 'tool_use' as const,
      id: `${name}-1`,
      name,
      input: { of: name },
    }))
    const asked: ModelMessage[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: calls },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'Look-1', content: 'seen' }] },
    ]
    expect(lastCallsOf(asked, String)).toEqual(called(['Look', 'submit'], ['ok', 'pending']))
    expect(lastCallsOf([...asked, { role: 'assistant', content: [{ type: 'text', text: 'done' }] }], String)).toEqual(
      [],
    )
    expect(lastCallsOf([], String)).toEqual([])
  })
})

describe('hasToolCall', () => {
  test('ends the run as a success after the call and the others of its turn', async () => {
    const steps = createMemorySteps()
    const script = [callsOf('Look'), callsOf('submit', 'Look'), 'never']
    const { terminal, model, state } = await run(script, { tools, stopWhen: hasToolCall('submit'), steps })
    expect([terminal.reason, model.requests.length, state.spent.toolResults]).toEqual(['finish_reason', 2, 3])
    expect(terminal.signal.toJSON()).toEqual({
      reason: 'finish_reason',
      message: 'The tool submit was called',
      context: { tool: 'submit', callId: 'submit-1' },
      source: 'ToolCallHook',
    })
    const again = await replay(steps.records, { model: scriptedModel([]), tools, stopWhen: hasToolCall('submit') })
    expect(again.terminal.reason).toBe('finish_reason')
  })

  test.each<[string, readonly ScriptedReply[], number]>([
    ['another tool', [callsOf('Look'), 'answer'], 2],
    ['a call that failed', [callsOf('Fails'), 'answer'], 2],
    ['no call', ['answer'], 1],
  ])('continues after %s', async (_what, script, requests) => {
    const { terminal, model } = await run(script, { tools, stopWhen: hasToolCall('submit', 'Fails') })
    expect([terminal.reason, model.requests.length]).toEqual(['completed', requests])
  })

  test('stops after a call by another name of the tool', async () => {
    const runOptions = { tools, stopWhen: hasToolCall('submit'), toolAliases: { Deliver: 'submit' } }
    const { terminal, model } = await run([callsOf('Deliver'), 'never'], runOptions)
    expect([terminal.reason, terminal.signal.context, model.requests.length]).toEqual([
      'finish_reason',
      { tool: 'submit', callId: 'Deliver-1' },
      1,
    ])
  })

  test('can be combined, is named in compat, and bounds nothing by itself', async () => {
    expect(hasToolCall('submit')).toBeInstanceOf(ToolCallHook)
    const { terminal } = await run([callsOf('submit'), 'never'], { tools, stopWhen: any(hasToolCall('submit')) })
    expect(terminal.reason).toBe('finish_reason')
    const model = scriptedModel([])
    expect(certificate({ model, tools, stopWhen: hasToolCall('submit') })).toEqual(certificate({ model, tools }))
  })

  test.each([[[]], [['']], [[4]]])('rejects %j', (names) => {
    expect(() => Reflect.apply(hasToolCall, undefined, names)).toThrow(ConfigurationError)
  })
})
