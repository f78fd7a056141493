import { describe, expect, test } from 'vitest'
import {
  AgentState,
  AgentStopException,
  CallableHook,
  ConfigurationError,
  StopCategory,
  StopSignal,
  type AgentTool,
  type CancellationSource,
  type HookContext,
  type RunEvent,
  type RunOptions,
  type ModelRequest,
  type Tool,
} from '../../src/index.ts'
import {
  Agent,
  AgentBuilder,
  InMemoryCancellationSource,
  StepsLimitHook,
  UseCooperativeCancellation,
  UseGuards,
  UseHook,
  UseModel,
  UseTools,
} from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, hanging, reader, tool } from '../support/harness.ts'

const asked = (text = 'go') => AgentState.empty({ agentId: 'agent', sessionId: 's' }).withUserMessage(text)
const base = (script: Parameters<typeof scriptedModel>[0], more = {}) =>
  AgentBuilder.base({ model: scriptedModel(script), clock: createFakeClock({ autoAdvance: true }), ...more })

/** A tool that submits an answer (spec R-STOP-7). */
class SubmitAnswerTool implements Tool<{ readonly answer: string }> {
  readonly name = 'submit_answer'
  readonly description = 'Hands in the answer.'
  readonly inputSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }
  readonly readOnly = false
  execute({ answer }: { readonly answer: string }): never {
    throw new AgentStopException({
      signal: new StopSignal({ reason: 'stop_requested', message: `Answer submitted: ${answer}` }),
    })
  }
}

class TaskCompleteTool implements Tool<{ readonly summary: string }> {
  readonly name = 'task_complete'
  readonly description = 'Says that the task is done.'
  readonly inputSchema = { type: 'object' }
  readonly readOnly = false
  execute({ summary }: { readonly summary: string }): never {
    const signal = new StopSignal({
      reason: 'stop_requested',
      message: `Task completed: ${summary}`,
      context: { summary },
    })
    throw new AgentStopException({ signal, context: { tasksCompleted: 5 }, source: 'TaskCompleteTool' })
  }
}

class CriticalOperationTool implements Tool {
  readonly name = 'critical'
  readonly description = 'Fails for good.'
  readonly inputSchema = { type: 'object' }
  readonly readOnly = false
  execute(): never {
    throw new AgentStopException({
      signal: new StopSignal({ reason: StopCategory.ErrorForbade, message: 'Critical failure: disk' }),
      cause: new Error('disk'),
    })
  }
}

describe('UseGuards', () => {
  const bounds = (guards: UseGuards) => guards.guards.map(({ name, bounds: own }) => [name, own])

  test('without arguments: 20 steps, 32,768 tokens, 300 seconds', () => {
    expect(bounds(new UseGuards())).toEqual([
      ['StepsLimitHook', { turns: 20 }],
      ['TokenUsageLimitHook', { tokens: 32_768 }],
      ['ExecutionTimeLimitHook', { ms: 300_000 }],
    ])
  })

  test('null switches one off', () => {
    expect(bounds(new UseGuards({ maxSteps: null, maxTokens: null, maxExecutionTime: null }))).toEqual([])
    expect(bounds(new UseGuards({ maxTokens: null, maxCostUsd: 2, finishReasons: ['end_turn'] }))).toEqual([
      ['StepsLimitHook', { turns: 20 }],
      ['ExecutionTimeLimitHook', { ms: 300_000 }],
      ['CostLimitHook', { usd: 2 }],
      ['FinishReasonHook', undefined],
    ])
  })

  test.each([{ maxSteps: 0 }, { maxTokens: -1 }, { maxExecutionTime: 0 }, { maxCostUsd: Number.NaN }])(
    '%o is a configuration error',
    (limits) => {
      expect(() => new UseGuards(limits)).toThrow(ConfigurationError)
    },
  )

  test('stops at the step count, at the time, and at the tokens', async () => {
    const look = new UseTools(reader('Look'))
    const steps = await base(() => calls('Look'), { clock: createFakeClock() })
      .withCapability(new UseGuards())
      .withCapability(look)
      .build()
      .execute(asked())
    expect([steps.stopReason(), steps.stopSignals().toString()]).toEqual([
      'steps_limit',
      'steps_limit: Step limit reached: 20/20',
    ])
    const time = await base([calls('Hang')])
      .withCapability(new UseGuards({ maxExecutionTime: 60 }))
      .withCapability(new UseTools(hanging('Hang')))
      .build()
      .execute(asked())
    expect([time.stopReason(), time.stopSignals().toString()]).toEqual([
      'time_limit',
      'time_limit: Time limit reached: 60/60 s',
    ])
    const tokens = await base(() => ({ ...calls('Look'), usage: { input_tokens: 8_000 } }), {
      clock: createFakeClock(),
    })
      .withCapability(new UseGuards({ maxTokens: 16_000 }))
      .withCapability(look)
      .build()
      .execute(asked())
    expect(tokens.stopReason()).toBe('token_limit')
  })
})

describe('tools that stop the agent (spec R-STOP-7)', () => {
  const build = (script: Parameters<typeof scriptedModel>[0]) =>
    base(script)
      .withCapability(new UseGuards({ maxSteps: 20, maxTokens: 16_000, maxExecutionTime: 60 }))
      .withCapability(new UseTools(new SubmitAnswerTool(), new TaskCompleteTool(), new CriticalOperationTool()))
      .build()

  test('a submitted answer stops the agent', async () => {
    const state = await build([calls({ name: 'submit_answer', input: { answer: '42' } })]).execute(asked())
    expect(state.execution()?.continuation().explain()).toBe(
      'Stop Signals: stop_requested: Answer submitted: 42; Continuation Requested: No',
    )
    expect(state.stopReason()).toBe('stop_requested')
  })

  test('a completed task carries its context and source', async () => {
    const state = await build([calls({ name: 'task_complete', input: { summary: 'all green' } })]).execute(asked())
    expect(state.stopSignals().highest()?.toJSON()).toEqual({
      reason: 'stop_requested',
      message: 'Task completed: all green',
      context: { summary: 'all green', tasksCompleted: 5 },
      source: 'TaskCompleteTool',
    })
  })

  test('an error can forbid to continue', async () => {
    const state = await build([calls('critical')]).execute(asked())
    expect([state.stopReason(), state.stopSignals().highest()?.wasForceStopped()]).toEqual(['error', true])
  })

  test('an answer without tool calls is the natural end', async () => {
    const state = await build(['42']).execute(asked())
    expect([state.stopReason(), state.lastAnswer(), state.stopSignals().highest()?.wasForceStopped()]).toEqual([
      'completed',
      '42',
      false,
    ])
  })
})

describe('UseHook', () => {
  test('registers a hook, such as a summarizing one that continues after the step limit', async () => {
    let left = 1
    const summarize = new CallableHook(
      (context: HookContext) => {
        const state = context.state()
        const signals = state.execution()?.continuation().stopSignals()
        if (!signals?.hasAny() || left-- <= 0) return context
        return context.withState(state.withExecutionContinued())
      },
      { triggers: ['onStop'] },
    )
    const agent = base([calls('Look'), 'answer'])
      .withCapability(new UseTools(reader('Look')))
      .withCapability(new UseHook(new StepsLimitHook(1)))
      .withCapability(new UseHook(summarize))
      .build()
    const state = await agent.execute(asked())
    expect([state.stopReason(), state.lastAnswer()]).toEqual(['completed', 'answer'])
  })
})

describe('UseCooperativeCancellation', () => {
  const build = (source: CancellationSource, during: () => void = () => {}) =>
    base([calls('Look'), 'answer'])
      .withCapability(new UseCooperativeCancellation(source))
      .withCapability(new UseTools(tool('Look', () => (during(), 'looked'))))
      .build()

  test('stops at the next cancellation point; what is in flight is finished', async () => {
    const source = new InMemoryCancellationSource()
    const state = await build(source, () => source.cancel('user pressed stop')).execute(asked())
    expect([state.stopReason(), state.stopSignals().toString(), state.messages().length]).toEqual([
      'user_requested',
      'user_requested: user pressed stop',
      3,
    ])
  })

  test('requested before the run, stops before the first request', async () => {
    const source = new InMemoryCancellationSource()
    source.cancel()
    expect(source.isCancellationRequested()).toBe(true)
    const state = await build(source).execute(asked())
    expect([state.stopReason(), state.messages().length]).toEqual(['user_requested', 1])
  })

  test('stays requested until it is reset', async () => {
    const source = new InMemoryCancellationSource()
    source.cancel()
    source.reset()
    expect(source.isCancellationRequested()).toBe(false)
    expect((await build(source).execute(asked())).stopReason()).toBe('completed')
  })

  test('scoped to a run, stops only that run', async () => {
    const source = new InMemoryCancellationSource({ executionId: 's/second' })
    source.cancel()
    expect((await build(source).execute(asked(), { runId: 'first' })).stopReason()).toBe('completed')
    const state = await build(source).execute(asked(), { runId: 'second' })
    expect([state.stopReason(), state.executionId]).toEqual(['user_requested', 's/second'])
  })

  test('calls a custom source with the state', async () => {
    const seen: string[] = []
    const redis: CancellationSource = {
      cancellationSignal: (state) => {
        seen.push(`${state.sessionId} ${state.messages().length}`)
        return Promise.resolve(
          seen.length === 2 ? StopSignal.userRequested('cancelled via redis', { source: 'Redis' }) : undefined,
        )
      },
    }
    const state = await build(redis).execute(asked())
    expect([state.stopReason(), seen]).toEqual(['user_requested', ['s 1', 's 2']])
  })
})

describe('the id of an agent', () => {
  const agentTool: AgentTool = {
    name: 'Agent',
    description: 'sub',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  }

  test('is passed to hooks, tools, stop hooks and cancellation sources; a subagent has its own', async () => {
    const seen: [string, string | null][] = []
    const see = (who: string) => (state: { readonly agentId: string }) => {
      seen.push([who, state.agentId])
      return undefined
    }
    const script = ({ messages }: ModelRequest) => {
      if (messages[0]?.content === 'sub') return messages.length === 1 ? calls({ name: 'Look', id: 'b' }) : 'found'
      return messages.length === 1 ? calls({ name: 'Agent', id: 'a' }) : 'answer'
    }
    const agent = base(script, {
      stopHooks: [
        { id: 'gate', handle: ({ toolUseContext }) => void seen.push(['stop hook', toolUseContext.agentId]) },
      ],
    } satisfies Partial<RunOptions>)
      .withCapability(
        new UseTools(
          agentTool,
          reader('Look', (_input, { state }) => (see('tool')(state), 'x')),
        ),
      )
      .withCapability(new UseHook(new CallableHook((c) => see('hook')(c.state()), { triggers: ['afterStep'] })))
      .withCapability(new UseCooperativeCancellation({ cancellationSignal: see('source') }))
      .build()
    const state = await agent.execute(AgentState.empty({ agentId: 'writer' }).withUserMessage('go'), { runId: 'r' })
    const sub = 'r/agent:1:0:a'
    expect([state.agentId, seen.filter(([who]) => who !== 'source')]).toEqual([
      'writer',
      [
        ['tool', sub],
        ['hook', sub],
        ['hook', 'writer'],
        ['stop hook', 'writer'],
      ],
    ])
    expect([...new Set(seen.flatMap(([who, id]) => (who === 'source' ? [id] : [])))]).toEqual(['writer', sub])
  })

  test('scopes a cancellation to one agent of several', async () => {
    const cancelled = new Set(['agent:cancel:writer'])
    class KeyedSource implements CancellationSource {
      cancellationSignal(state: AgentState) {
        return cancelled.has(`agent:cancel:${state.agentId}`)
          ? StopSignal.userRequested('cancelled by key', { source: 'KeyedSource' })
          : null
      }
    }
    const agent = base(() => 'answer')
      .withCapability(new UseCooperativeCancellation(new KeyedSource()))
      .build()
    const run = (agentId: string) => agent.execute(AgentState.empty({ agentId }).withUserMessage('go'))
    expect([(await run('writer')).stopReason(), (await run('critic')).stopReason()]).toEqual([
      'user_requested',
      'completed',
    ])
  })

  test('does not make it a subagent: its token target applies', async () => {
    const reply = { text: 'x', usage: { output_tokens: 600 } }
    const state = await base(() => reply, { tokenBudget: 1_000 })
      .build()
      .execute(AgentState.empty({ agentId: 'writer' }).withUserMessage('go'))
    expect(state.execution()?.figures.steps).toBe(2)
  })
})

describe('building', () => {
  test('a builder is immutable', async () => {
    const model = scriptedModel(['a', 'b'])
    const plain = AgentBuilder.base()
    const withModel = plain.withCapability(new UseModel(model))
    expect(() => plain.build()).toThrow(ConfigurationError)
    expect(withModel.build()).toBeInstanceOf(Agent)
    expect((await withModel.build().execute(asked())).lastAnswer()).toBe('a')
  })

  test('rejects what cannot be run: two tools of one name, a budget without a price', () => {
    expect(() => base(['x'], { maxBudgetUsd: 1 }).build()).toThrow('There is no price for scripted')
    expect(() =>
      base(['x'])
        .withCapability(new UseTools(reader('A'), reader('A')))
        .build(),
    ).toThrow('Two tools are named A')
  })
})

describe('an agent', () => {
  test('executes a state and returns a new one; the old one is unchanged', async () => {
    const before = asked()
    const state = await base([calls('Look'), 'answer'])
      .withCapability(new UseTools(reader('Look')))
      .build()
      .execute(before)
    expect([before.messages().length, before.execution(), state.messages().length]).toEqual([1, null, 4])
    expect(state.execution()?.figures).toMatchObject({
      steps: 2,
      totalTokens: 30,
      usage: { input_tokens: 20, output_tokens: 10 },
    })
    expect([state.agentId, state.sessionId]).toEqual(['agent', 's'])
  })

  test('continues from where a state ended, without its old signals', async () => {
    const agent = base(['one', 'two']).build()
    const first = await agent.execute(asked())
    const second = await agent.execute(first.withUserMessage('more'))
    expect([second.stopReason(), second.stopSignals().size, second.lastAnswer(), second.messages().length]).toEqual([
      'completed',
      1,
      'two',
      4,
    ])
    expect(second.executionId).not.toBe(first.executionId)
  })

  test('iterates: the state after every iteration, then the last', async () => {
    const agent = base([calls('Look'), calls('Look'), 'answer'])
      .withCapability(new UseTools(reader('Look')))
      .build()
    const seen: [number, string | null][] = []
    for await (const state of agent.iterate(asked())) seen.push([state.messages().length, state.stopReason()])
    expect(seen).toEqual([[3, null], [5, null], [6, 'completed']]) // prettier-ignore
  })

  test('iterates over states that contain every message once', async () => {
    const agent = base([calls('Look'), 'answer'])
      .withCapability(new UseTools(reader('Look')))
      .build()
    const seen: unknown[] = []
    for await (const state of agent.iterate(asked('first').withUserMessage('second')))
      seen.push(
        state.messages().map(({ role, content }) => (role === 'user' && typeof content === 'string' ? content : role)),
      )
    expect(seen[0]).toEqual(['first', 'second', 'assistant', 'user'])
  })

  test('aborts the run when the consumer breaks out of the iteration', async () => {
    const reasons: string[] = []
    const runOptions = { onResult: ({ reason }: { readonly reason: string }) => void reasons.push(reason) }
    const agent = base([calls('Look'), calls('Hang')], runOptions)
      .withCapability(new UseTools(reader('Look'), hanging('Hang')))
      .build()
    for await (const state of agent.iterate(asked())) if (state.messages().length > 0) break
    expect(reasons).toEqual(['abandoned'])
  })

  test('obeys the signal of the agent as well as the signal of the call', async () => {
    const model = scriptedModel(['Done.', 'Done.'])
    const agent = AgentBuilder.base({ model, signal: AbortSignal.abort() }).build()
    const state = await agent.execute(asked(), { signal: new AbortController().signal })
    expect([state.stopReason(), model.requests.length]).toEqual(['user_requested', 0])
    await expect(agent.execute(asked(), { signal: 5 as never })).rejects.toThrow('signal must be an AbortSignal')
  })

  test('obeys the signal of the call, and emits its events', async () => {
    const events: RunEvent['type'][] = []
    const state = await base(['x'])
      .build()
      .execute(asked(), { signal: AbortSignal.abort(), onEvent: ({ type }) => events.push(type) })
    expect([state.stopReason(), events.at(0), events.at(-1)]).toEqual(['user_requested', 'run_start', 'run_end'])
  })

  test('may execute many states in parallel', async () => {
    const agent = base(({ messages }) => JSON.stringify(messages[0]?.content)).build()
    const states = await Promise.all(['a', 'b', 'c'].map((text) => agent.execute(asked(text))))
    expect(states.map((state) => state.lastAnswer())).toEqual(['"a"', '"b"', '"c"'])
  })
})
