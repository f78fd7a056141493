// Tests R-ORD-7, R-GUARD-1, R-SUB-5: guards and cancellation sources, in a run and in its subagents.
import { describe, expect, test } from 'vitest'
import { any, noProgress, type AgentTool, type Guard, type ModelRequest } from '../../src/index.ts'
import { FinishReasonHook, InMemoryCancellationSource, StepsLimitHook } from '../../src/compat/index.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import { calls, reader, resultTexts, type RunTestOptions, type Run } from '../support/harness.ts'
import { runChecked, beginChecked } from '../support/checked-run.ts'

describe('guards and cancellation sources', () => {
  test('treat null as nothing', async () => {
    const guard: Guard = { name: 'null', checkpoints: ['before_turn', 'after_reply', 'after_tools'], evaluate: () => null } // prettier-ignore
    const result = await runChecked([calls('Read'), 'done'], {
      stopWhen: [guard, any(guard)],
      cancellation: [{ cancellationSignal: () => null }, { cancellationSignal: async () => null }],
      tools: [reader('Read')],
    })
    expect([result.terminal.reason, String(result.terminal.signals)]).toEqual([
      'completed',
      'completed: The model gave its answer',
    ])
  })

  test('are not called after an abort: a hanging source costs one grace time, however many sources follow', async () => {
    let callCount = 0
    const deaf = {
      cancellationSignal() {
        callCount++
        return new Promise<undefined>(() => {})
      },
    }
    const { terminal } = await runChecked(['never'], {
      cancellation: [deaf, deaf, deaf],
      maxDurationMs: 60_000,
      graceMs: 500,
    })
    expect([terminal.reason, callCount]).toEqual(['time_limit', 1])
  })

  test('are evaluated in a combination where each would be by itself', async () => {
    const runOptions: RunTestOptions = {
      stopWhen: any(new FinishReasonHook(['stop_sequence']), new StepsLimitHook(2)),
      tools: [reader('Read')],
    }
    const answered = await runChecked([calls('Read'), 'done'], runOptions)
    const called = await runChecked([calls('Read'), calls('Read'), 'never'], runOptions)
    const finished = await runChecked([{ text: 'x', stopReason: 'stop_sequence' }], runOptions)
    expect([answered, called, finished].map(({ terminal }) => terminal.reason)).toEqual([
      'completed',
      'max_turns',
      'finish_reason',
    ])
  })
})

test('preserve an external stop, next to a source with or without a stop', async () => {
  const source = new InMemoryCancellationSource()
  const signals = []
  for (const cancels of [false, true]) {
    if (cancels) source.cancel('cancelled')
    const going = beginChecked(['never'], { cancellation: [source] })
    going.loop.stop('stopped')
    const { terminal, model } = await going.end()
    signals.push([terminal.reason, model.requests.length, [...terminal.signals].map(({ message }) => message)])
  }
  expect(signals).toEqual([
    ['user_requested', 0, ['stopped']],
    ['user_requested', 0, ['stopped', 'cancelled']],
  ])
})

describe('a subagent', () => {
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  }
  /** The main loop calls the agent, which calls Read forever. */
  const script = ({ messages }: ModelRequest): ScriptedReply => {
    if (messages[0]?.content === 'sub') return calls('Read')
    return messages.length === 1 ? calls('Agent') : 'done'
  }
  const ofChild = ({ model }: Run) => model.requests.filter(({ messages }) => messages[0]?.content === 'sub').length

  test('keeps a guard that is combined with a limit of steps', async () => {
    const result = await runChecked(script, {
      stopWhen: any(noProgress(), new StepsLimitHook(50)),
      tools: [agent, reader('Read')],
    })
    expect([result.terminal.reason, resultTexts(result), ofChild(result) < 20]).toEqual([
      'completed',
      [expect.stringContaining('The agent was stopped before it was done (no_progress: No progress')],
      true,
    ])
  })

  test('is stopped by the cancellation of the run that started it, and not by that of another', async () => {
    const reasons = []
    for (const executionId of ['session/run1', 'session/run', 'session/run1/agent', 'other/run1']) {
      const source = new InMemoryCancellationSource({ executionId })
      const result = await runChecked(script, {
        cancellation: [source],
        tools: [agent, reader('Read', () => (source.cancel('enough'), 'x'))],
        maxTurns: 3,
      })
      reasons.push([result.terminal.reason, ofChild(result)])
    }
    expect(reasons).toEqual([
      ['user_requested', 1],
      ['completed', 3],
      ['completed', 3],
      ['completed', 3],
    ])
  })
})
