// Tests R-GOAL-21, R-GOAL-22, R-GOAL-23: a run without text since its prompt is no success, and its text is its answer.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterRun, type Stage } from '../../src/after/index.ts'
import { AgentBuilder } from '../../src/compat/index.ts'
import { lastAnswer, resultForHosts } from '../../src/entries/adapters.ts'
import {
  AgentState,
  endings,
  type AgentTool,
  type EndingReason,
  type OutputSchema,
  type Permissions,
  type RunEvent,
  type SdkMessage,
  type SdkResult,
} from '../../src/index.ts'
import { recordedResult } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { ask, engineOf, resultOf as resultIn } from '../support/engine.ts'
import { calls, hook, reader, results, run } from '../support/harness.ts'

const tools = [reader('Look')]
async function resultOf(stream: AsyncIterable<SdkMessage>): Promise<SdkResult> {
  const messages: SdkMessage[] = []
  for await (const message of stream) messages.push(message)
  return resultIn(messages)
}
const look = calls('Look')
/** An empty reply is requested once more. */
const nothing = ['', ''] as const

describe('a run without any text', () => {
  test.each([
    ['one empty reply', [...nothing], 'its reply contains no text', 1],
    ['white space', [' \n', ' \n'], 'its reply contains no text', 1],
    ['calls and an empty reply', [look, look, ...nothing], 'none of its 3 replies contains text', 3],
  ] as const)('(%s) ends as no_answer', async (_what, script, label, replies) => {
    const { terminal } = await run(script, { tools })
    expect([terminal.reason, terminal.signal.reason, terminal.signal.source]).toEqual(['no_answer', 'error', 'answer'])
    expect([terminal.signal.message, terminal.signal.context]).toEqual([
      `The model gave no answer: ${label}`,
      { replies },
    ])
  })

  test('is an error result without an answer', async () => {
    const { result } = await ask([look, ...nothing], { tools })
    expect(result).toMatchObject({ subtype: 'error_during_execution', is_error: true, terminal_reason: 'no_answer' })
    expect(result).not.toHaveProperty('result')
    expect(result).not.toHaveProperty('last_answer')
  })

  test('is neither a failure of the model for hooks nor a completed run for the tasks after it', async () => {
    const failures: unknown[] = []
    const started: string[] = []
    const onError = hook('onError', (context) => void failures.push(context.error))
    await run(nothing, {
      hooks: [onError],
      postRun: [{ name: 'after', start: async () => void started.push('after') }],
    })
    expect(failures).toEqual([{ source: 'run', name: 'no_answer', message: expect.any(String) }])
    expect(started).toEqual([])
  })

  test('may be continued by a hook, like a run that gave its answer', async () => {
    const asks = hook('onStop', (context) =>
      context.state().lastAnswer() === ''
        ? context.withState(context.state().withExecutionContinued('Say what you found.'))
        : undefined,
    )
    const { terminal, transitions } = await run([look, ...nothing, 'found it'], { tools, hooks: [asks] })
    expect([transitions, terminal.reason]).toEqual([['next_turn', 'continuation_requested'], 'completed'])
    expect(terminal.signals.size).toBe(1)
  })

  test('that fits a schema has its output, and no older text in its place', async () => {
    const output: OutputSchema<number> = {
      check: (text) => (text === '' ? { fits: true, value: 0 } : { fits: false, message: 'no' }),
    }
    const { result } = await ask([{ text: 'I look.', ...look }, ...nothing], { tools, output })
    expect(result).toMatchObject({ terminal_reason: 'completed', result: '', structured_output: 0 })
  })
})

describe('the answer of a run whose last reply has no text', () => {
  test('is its earlier text, in every output', async () => {
    const { terminal, result, engine } = await ask([{ text: 'Fixed it.', ...look }, look, ...nothing], { tools })
    expect([terminal.reason, result.subtype, result.result]).toEqual(['completed', 'success', 'Fixed it.'])
    expect(lastAnswer({ transcript: engine.transcript, startLength: 0 })).toBe('Fixed it.')
    const model = scriptedModel([{ text: 'Fixed it.', ...look }, ...nothing])
    const agent = AgentBuilder.base({ model, tools, clock: createFakeClock({ autoAdvance: true }) }).build()
    const state = await agent.execute(AgentState.empty({ sessionId: 's' }).withUserMessage('go'))
    expect([state.stopReason(), state.lastAnswer()]).toEqual(['completed', 'Fixed it.'])
  })

  test('is the same from its record', async () => {
    const { steps, terminal } = await run([{ text: 'Fixed it.', ...look }, ...nothing], { tools })
    expect(terminal.reason).toBe('completed')
    expect(recordedResult('session', [steps.records])?.result).toBe('Fixed it.')
  })

  test('is not text from before its prompt', async () => {
    const { engine } = engineOf(['The first answer.', look, ...nothing], { tools })
    expect((await resultOf(engine.submit('go'))).result).toBe('The first answer.')
    expect((await resultOf(engine.submit('and now?'))).terminal_reason).toBe('no_answer')
  })

  test('is the text of the run that it continues: the prompt is the same', async () => {
    const { engine } = engineOf([{ text: 'Half of it.', ...look }, ...nothing], { tools, maxTurns: 1 })
    expect((await resultOf(engine.submit('go'))).terminal_reason).toBe('max_turns')
    engine.setLimits({ maxTurns: 5 })
    expect(await resultOf(engine.resume())).toMatchObject({ terminal_reason: 'completed', result: 'Half of it.' })
  })

  test('is not text for an older prompt, also in a run that continues another', async () => {
    const { engine } = engineOf(['An older answer.', look, ...nothing], { tools, maxTurns: 1 })
    expect((await resultOf(engine.submit('go'))).result).toBe('An older answer.')
    expect((await resultOf(engine.submit('and now?'))).terminal_reason).toBe('max_turns')
    engine.setLimits({ maxTurns: 5 })
    expect((await resultOf(engine.resume())).terminal_reason).toBe('no_answer')
  })

  test('is the text before a call that waited', async () => {
    const asks: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) }
    const { engine } = engineOf([{ text: 'I pay Ann.', ...calls({ name: 'Look', id: 'a' }) }, ...nothing], {
      tools,
      permissions: asks,
    })
    expect((await resultOf(engine.submit('go'))).terminal_reason).toBe('needs_approval')
    const result = await resultOf(engine.approve({ a: { behavior: 'allow' } }))
    expect(result).toMatchObject({ terminal_reason: 'completed', result: 'I pay Ann.' })
  })

  test('is in an error result, too', async () => {
    const runOptions = { tools, maxTurns: 1, wrapUp: true }
    const { result } = await ask([{ text: 'So far: nothing.', ...look }, ...nothing], runOptions)
    expect(result).toMatchObject({ terminal_reason: 'max_turns', last_answer: 'So far: nothing.' })
  })
})

describe('a run with goals', () => {
  const until = (met: boolean) => [{ name: 'npm test', check: () => ({ met, exitCode: met ? 0 : 1 }) }]

  test('is completed without text when they hold', async () => {
    const { result } = await ask([look, ...nothing], { tools, until: until(true) })
    expect(result).toMatchObject({ subtype: 'success', terminal_reason: 'completed', result: '' })
  })

  test('is not completed when they do not hold, and a goal that holds does not override a stop hook', async () => {
    const unmet = await run(() => '', { tools, until: until(false), maxGoalTries: 1 })
    expect(unmet.terminal.reason).toBe('goal_unmet')
    const stopHooks = [{ id: 'gate', handle: () => ({ block: 'no' }) }]
    const blocked = await run(() => 'answer', { tools, until: until(true), stopHooks })
    expect(blocked.terminal.reason).toBe('stop_hook_unmet')
  })
})

describe('runs that are not for an answer', () => {
  test('a compaction without text is completed', async () => {
    const { engine } = engineOf(['The first answer.', 'A summary.'])
    await resultOf(engine.submit('go'))
    expect((await resultOf(engine.compact())).terminal_reason).toBe('completed')
  })

  test('a run for a last answer without text is completed too', async () => {
    const { engine } = engineOf([look, ...nothing], { tools, maxTurns: 1 })
    await resultOf(engine.submit('go'))
    expect((await resultOf(engine.lastAnswer())).terminal_reason).toBe('completed')
  })
})

const agent: AgentTool = {
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub' }),
}

describe('consumers of a run without text', () => {
  const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply => {
    if (messages[0]?.content === 'sub') return ''
    return messages.length === 1 ? calls('Agent') : 'done'
  }

  test('a parent is notified that its agent ended without text, which is no error; the record of the agent has no_answer', async () => {
    const outcome = await run(script, { tools: [agent] })
    expect(results(outcome)).toEqual([
      { type: 'tool_result', tool_use_id: 'call_0_0', content: '(The agent ended without an answer.)' },
    ])
    expect(outcome.state.transcript.at(2)).toMatchObject({ details: { call_0_0: { reason: 'no_answer' } } })
    const inner = outcome.events.flatMap((event): RunEvent[] => (event.type === 'agent' ? [event.event] : []))
    expect(inner.at(-1)).toMatchObject({ type: 'run_end', terminal: { reason: 'no_answer' } })
    expect(outcome.terminal.reason).toBe('completed')
  })

  test('hosts read that an agent completed', async () => {
    const { messages } = await ask(script, { tools: [agent] })
    const ended = messages.find((message) => message.type === 'system' && message.subtype === 'task_notification')
    expect(ended).toMatchObject({ status: 'completed' })
  })

  test('a stage has an empty answer, and decides what that means', async () => {
    const stage: Stage = {
      name: 'asks',
      run: async (context) => ({ kind: 'done', message: `[${(await context.ask({ prompt: 'And?' })).text}]` }),
    }
    const { engine } = engineOf(['done', ...nothing])
    await resultOf(engine.submit('go'))
    const running = afterRun(engine, [stage])
    for await (const _ of running);
    expect(await running.ended).toMatchObject([{ reason: 'completed', message: '[]' }])
  })

  test.each(['no_answer', 'stop_hook_unmet'] as const)(
    'a host reads %s as a success with its reason',
    async (reason) => {
      const runOptions = { stopHooks: [{ id: 'gate', handle: () => ({ block: 'no' }) }], stopHookBlockCap: 0 }
      const { result } = reason === 'no_answer' ? await ask(nothing) : await ask(['the answer'], runOptions)
      expect(result).toMatchObject({ is_error: true, terminal_reason: reason })
      const { errors: _errors, last_answer: answer, ...common } = result
      expect(resultForHosts(result)).toEqual({ ...common, subtype: 'success', is_error: false, result: answer ?? '' })
    },
  )

  test('a host reads every other result unchanged', async () => {
    const one = (await ask(['answer'])).result
    const others = Object.keys(endings).filter((reason) => !endings[reason as EndingReason].hostsReadResult)
    for (const reason of [...others, 'an ending of a later version']) {
      const result: SdkResult = { ...one, subtype: 'error_during_execution', stop: { ...one.stop, reason } }
      expect(resultForHosts(result)).toBe(result)
    }
  })
})

test('a run is completed when it wrote any text, and the last text is its answer', async () => {
  const reply = fc.record({ text: fc.constantFrom('', ' ', 'one', 'two\n'), isCall: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(reply, { maxLength: 4 }), async (drawnReplies) => {
      // The run ends at the first reply without a call; an empty one is requested again.
      const script = drawnReplies.flatMap(({ text, isCall }): ScriptedReply[] =>
        isCall ? [{ text, ...look }] : text.trim() === '' ? [text, text] : [text],
      )
      const end = drawnReplies.findIndex(({ isCall }) => !isCall)
      const texts = (end === -1 ? drawnReplies : drawnReplies.slice(0, end + 1)).map(({ text }) => text)
      const lastText = texts.findLast((text) => text.trim() !== '')
      const { result, terminal } = await ask([...script, ...(end === -1 ? nothing : [])], { tools })
      expect([terminal.reason, result.result]).toEqual(
        lastText === undefined ? ['no_answer', undefined] : ['completed', lastText],
      )
    }),
    { numRuns: 60 },
  )
})
