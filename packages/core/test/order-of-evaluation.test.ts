// Tests R-ORD-1 to R-ORD-6.
import { describe, expect, test } from 'vitest'
import { AgentStopException, StopSignal, type Permissions, type Prices } from '../src/index.ts'
import { FinishReasonHook, InMemoryCancellationSource, StepsLimitHook } from '../src/compat/index.ts'
import { plainContext } from '../src/entries/adapters.ts'
import { scriptedModel, type ScriptedReply } from '../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hook,
  reader,
  resultTexts,
  run,
  loopMessages,
  tool,
} from './support/harness.ts'

const aborted = (): AbortSignal => AbortSignal.abort()
const cancelled = (): InMemoryCancellationSource => {
  const source = new InMemoryCancellationSource()
  source.cancel('stop')
  return source
}
const short = (script: ScriptedReply[] = ['answer']) =>
  scriptedModel(script, { contextWindow: 3_001, maxOutputTokens: 10 })
const raise = (reason: 'error' | 'steps_limit' | 'token_limit') =>
  hook('beforeExecution', (context) => context.withState(context.state().withStopSignal(new StopSignal({ reason }))))

describe('before a turn', () => {
  test('an abort comes before existing signals', async () => {
    const { terminal } = await run(['answer'], {
      signal: aborted(),
      cancellation: [cancelled()],
      hooks: [raise('error')],
    })
    expect([terminal.reason, terminal.signals.size]).toEqual(['aborted_streaming', 1])
  })

  test('the signal with the highest priority at a cancellation point wins, and all signals are recorded', async () => {
    const { terminal } = await run(['answer'], { cancellation: [cancelled()], hooks: [raise('steps_limit')] })
    expect([terminal.reason, [...terminal.signals].map(({ reason }) => reason)]).toEqual([
      'user_requested',
      ['user_requested', 'steps_limit'],
    ])
    expect((await run(['answer'], { cancellation: [cancelled()], hooks: [raise('error')] })).terminal.reason).toBe(
      'error',
    )
  })

  test('existing signals come before the inbox, which keeps its messages', async () => {
    const going = begin(['answer'], { cancellation: [cancelled()] })
    going.loop.steer('one more thing')
    const { terminal, state } = await going.end()
    expect([terminal.reason, loopMessages({ state })]).toEqual(['user_requested', []])
  })

  test('the inbox comes before the context', async () => {
    const going = begin([], { model: scriptedModel([], { contextWindow: 3_010 }) })
    going.loop.steer('x'.repeat(400))
    const { terminal, state } = await going.end()
    expect([terminal.reason, loopMessages({ state }).length]).toEqual(['blocking_limit', 1])
  })

  test('compaction comes before the blocking limit', async () => {
    const compaction = {
      trigger: 'auto' as const,
      run: () =>
        Promise.resolve({
          kind: 'compacted' as const,
          messages: [{ role: 'user' as const, content: 'x' }],
          preTokens: 9,
          postTokens: 1,
        }),
    }
    const due = { ...plainContext, beforeRequest: () => compaction }
    expect((await run([], { model: short(), context: due })).terminal.reason).toBe('completed')
  })

  test('thrash comes before the blocking limit', async () => {
    expect(
      (await run([], { model: short(), context: { ...plainContext, beforeRequest: () => 'thrash' } })).terminal.reason,
    ).toBe('compaction_thrash')
  })

  test('the blocking limit applies only when auto-compact is off', async () => {
    expect((await run([], { model: short(), context: { ...plainContext, autoCompact: true } })).terminal.reason).toBe(
      'completed',
    )
  })

  test('the blocking limit comes before the reservation', async () => {
    const runOptions = { prices: dollarATokenPrices, maxBudgetUsd: 1 }
    expect((await run([], { model: short(), ...runOptions })).terminal.reason).toBe('blocking_limit')
    expect((await run(['answer'], runOptions)).terminal.reason).toBe('max_budget_usd')
  })

  test('in the reservation dollars come before tokens', async () => {
    expect(
      (await run(['answer'], { prices: dollarATokenPrices, maxBudgetUsd: 1, maxTotalTokens: 1 })).terminal.reason,
    ).toBe('max_budget_usd')
    expect((await run(['answer'], { maxTotalTokens: 1 })).terminal.reason).toBe('token_limit')
  })
})

describe('during the request', () => {
  test('an abort comes before the error that it, or the service, caused', async () => {
    const controller = new AbortController()
    const script = (): ScriptedReply => {
      controller.abort()
      return { error: { kind: 'image', message: 'too large', status: 400 } }
    }
    expect((await run(script, { signal: controller.signal })).terminal.reason).toBe('aborted_streaming')
  })

  test('the cause of the abort decides', async () => {
    for (const [cause, reason] of [
      ['time', 'time_limit'],
      ['budget', 'max_budget_usd'],
      ['terminated', 'aborted_streaming'],
      ['parent', 'aborted_streaming'],
    ] as const) {
      const controller = new AbortController()
      const script = (): ScriptedReply => {
        queueMicrotask(() => controller.abort(cause))
        return { hang: true }
      }
      expect((await run(script, { signal: controller.signal })).terminal.reason).toBe(reason)
    }
  })
})

describe('after the reply', () => {
  test('an API error runs failure hooks and never stop hooks', async () => {
    const called: string[] = []
    const { terminal } = await run([{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }], {
      stopHooks: [{ id: 'gate', handle: () => void called.push('stop hook') }],
      hooks: [hook('onError', ({ error }) => void called.push(`${error?.source} ${error?.name}: ${error?.message}`))],
    })
    expect([terminal.reason, called]).toEqual(['model_error', ['model model_error: bad']])
  })

  const underestimating: Prices = { ...dollarATokenPrices, worstCase: () => 1 }

  test('the cost is checked after the message, before its calls run', async () => {
    const ran: string[] = []
    const { terminal } = await run([calls('Write')], {
      tools: [tool('Write', () => (ran.push('Write'), 'ok'))],
      prices: underestimating,
      maxBudgetUsd: 15,
    })
    expect([terminal.reason, ran, terminal.costUsd]).toEqual(['max_budget_usd', [], 15])
  })

  test('the cost comes before stop hooks and completion', async () => {
    const called: string[] = []
    const { terminal } = await run(['answer'], {
      stopHooks: [{ id: 'gate', handle: () => void called.push('gate') }],
      prices: underestimating,
      maxBudgetUsd: 15,
    })
    expect([terminal.reason, called]).toEqual(['max_budget_usd', []])
  })

  test("calls that are not run get a reason, before a hook's message about the reply", async () => {
    const stopping = hook('afterInference', (context) =>
      context.withState(
        context
          .state()
          .withUserMessage('a note')
          .withStopSignal(new StopSignal({ reason: 'token_limit', message: 'enough' })),
      ),
    )
    const result = await run([calls('Look')], { tools: [tool('Look')], hooks: [stopping] })
    expect([result.terminal.reason, resultTexts(result)]).toEqual([
      'token_limit',
      [expect.stringContaining('Not run: the run stopped (')],
    ])
    const origins = [...result.state.transcript].flatMap((entry) => (entry.kind === 'user' ? [entry.origin] : []))
    expect(origins).toEqual(['prompt', 'tool_results', 'hook'])
  })
})

describe('no tool calls', () => {
  const misfit = { check: () => ({ fits: false as const, message: 'no' }) }
  const called: string[] = []
  const gate = { id: 'gate', handle: () => void called.push('gate') }
  const followed = (overrides: Parameters<typeof begin>[1]) => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index === 0 ? { text: 'answer', before: () => going.loop.followUp('and then?') } : 'end'
    const going = begin(script, overrides)
    return going.end()
  }

  test('the finish-reason guard comes before follow-ups', async () => {
    const { terminal, transitions } = await followed({ stopWhen: new FinishReasonHook(['end_turn']) })
    expect([terminal.reason, transitions]).toEqual(['finish_reason', []])
  })

  test('follow-ups come before structured output', async () => {
    const { transitions } = await followed({ output: misfit })
    expect(transitions.slice(0, 2)).toEqual(['user_input', 'structured_output_retry'])
  })

  test('submitted messages are taken in order: steering before the next request, the rest at the end', async () => {
    const script = (_request: unknown, index: number): ScriptedReply => {
      if (index === 0) return { ...calls('Look'), before: () => hand(['steer', 'a'], ['followUp', 'b'], ['steer', 'c'], ['followUp', 'd']) } // prettier-ignore
      if (index === 1) return { text: 'answer', before: () => hand(['followUp', 'e'], ['steer', 'f'], ['followUp', 'g']) } // prettier-ignore
      return 'end'
    }
    const hand = (...messages: readonly (readonly ['steer' | 'followUp', string])[]) => {
      for (const [how, text] of messages) going.loop[how](text)
    }
    const going = begin(script, { tools: [reader('Look')] })
    expect(loopMessages(await going.end())).toEqual([
      ['steer', 'a'],
      ['steer', 'c'],
      ['follow_up', 'b'],
      ['follow_up', 'd'],
      ['follow_up', 'e'],
      ['steer', 'f'],
      ['follow_up', 'g'],
    ])
  })

  test('structured output comes before stop hooks', async () => {
    called.length = 0
    const { terminal } = await run(() => 'answer', { output: misfit, stopHooks: [gate] })
    expect([terminal.reason, called]).toEqual(['structured_output_retry_exhausted', []])
  })

  test('a block comes before a prevention', async () => {
    let blocks = 1
    const stopHooks = [
      { id: 'prevents', handle: () => ({ prevent: 'enough' }) },
      { id: 'blocks', handle: () => (blocks-- > 0 ? { block: 'more' } : {}) },
    ]
    const { terminal, transitions } = await run(['answer', 'answer'], { stopHooks })
    expect([transitions, terminal.reason]).toEqual([['stop_hook_blocking'], 'stop_hook_prevented'])
  })

  test('the first stop hook that prevents wins, and all are called', async () => {
    const asked: string[] = []
    const prevent = (id: string) => ({ id, handle: () => (asked.push(id), { prevent: `says ${id}` }) })
    const { terminal } = await run(['answer'], { stopHooks: [prevent('one'), prevent('two'), prevent('three')] })
    expect([terminal.reason, terminal.signal.toJSON(), asked]).toEqual([
      'stop_hook_prevented',
      { reason: 'stop_requested', message: 'says one', context: { hook: 'one' }, source: 'one' },
      ['one', 'two', 'three'],
    ])
  })

  test('stop hooks come before the token target', async () => {
    let blocks = 1
    const { transitions } = await run(() => 'answer', {
      tokenBudget: 1_000,
      stopHooks: [{ id: 'gate', handle: () => (blocks-- > 0 ? { block: 'more' } : {}) }],
    })
    expect(transitions.slice(0, 2)).toEqual(['stop_hook_blocking', 'token_budget_continuation'])
    const prevented = await run(() => 'answer', {
      tokenBudget: 1_000,
      stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'no' }) }],
    })
    expect([prevented.transitions, prevented.terminal.reason]).toEqual([[], 'stop_hook_prevented'])
  })

  test('the token target comes before completed', async () => {
    expect(
      (await run([{ text: 'answer' }, { text: 'more', usage: { output_tokens: 900 } }], { tokenBudget: 1_000 }))
        .transitions,
    ).toEqual(['token_budget_continuation'])
  })
})

describe('after the tools', () => {
  const thrower = (before: () => void = () => {}) =>
    tool('Throw', () => {
      before()
      throw new AgentStopException({
        signal: new StopSignal({ reason: 'completed', message: 'done', source: 'Throw' }),
      })
    })
  const prevents = hook('afterToolUse', (context) => context.withContinuationPrevented('enough'), {
    id: 'watch',
    tools: ['Look', 'Other'],
  })
  const asks: Permissions = {
    denies: () => undefined,
    decide: ({ call }) => (call.name === 'Ask' ? { behavior: 'ask', message: '?' } : { behavior: 'allow' }),
  }

  test('an abort comes before a thrown stop', async () => {
    const controller = new AbortController()
    expect(
      (await run([calls('Throw')], { tools: [thrower(() => controller.abort())], signal: controller.signal })).terminal
        .reason,
    ).toBe('aborted_tools')
  })

  test('a thrown stop comes before hook_stopped, in any order', async () => {
    const runOptions = { tools: [reader('Look'), { ...thrower(), readOnly: true }], hooks: [prevents] }
    for (const names of [
      ['Look', 'Throw'],
      ['Throw', 'Look'],
    ]) {
      const { terminal } = await run([calls(...names)], runOptions)
      expect([terminal.reason, terminal.signal.message]).toEqual(['completed', 'done'])
    }
  })

  test('among several stops the lowest call index wins', async () => {
    const stop = (name: string, after: number) =>
      reader(name, async () => {
        for (let turn = 0; turn < after; turn++) await Promise.resolve()
        throw new AgentStopException({ message: name })
      })
    const { terminal } = await run([calls('Late', 'Early')], { tools: [stop('Late', 20), stop('Early', 0)] })
    expect([terminal.signal.message, [...terminal.signals].map(({ message }) => message)]).toEqual([
      'Late',
      ['Late', 'Early'],
    ])
  })

  test('a stop after an earlier call wins over one before a later call, although it was raised later', async () => {
    const stops = (id: string, trigger: 'beforeToolUse' | 'afterToolUse', name: string) =>
      hook(trigger, () => { throw new AgentStopException({ message: id }) }, { id, tools: [name] }) // prettier-ignore
    const { terminal } = await run([calls('Look', 'Other')], {
      tools: [reader('Look'), reader('Other')],
      hooks: [stops('ahead of the second', 'beforeToolUse', 'Other'), stops('after the first', 'afterToolUse', 'Look')],
    })
    expect([terminal.reason, terminal.signal.message, [...terminal.signals].map(({ message }) => message)]).toEqual([
      'hook_stopped',
      'after the first',
      ['after the first', 'ahead of the second'],
    ])
  })

  test('of the hooks that prevent after one call the first wins', async () => {
    const prevent = (id: string) =>
      hook('afterToolUse', (context) => context.withContinuationPrevented(`says ${id}`), { id })
    const { terminal } = await run([calls('Look')], {
      tools: [reader('Look')],
      hooks: [prevent('one'), prevent('two')],
    })
    expect([terminal.reason, terminal.signal.message, terminal.signal.source]).toEqual([
      'hook_stopped',
      'says one',
      'one',
    ])
  })

  test('hook_stopped comes before needs_approval', async () => {
    const { terminal } = await run([calls('Look', 'Ask')], {
      tools: [reader('Look'), reader('Ask')],
      hooks: [prevents],
      permissions: asks,
    })
    expect(terminal.reason).toBe('hook_stopped')
  })

  test('needs_approval comes before guards', async () => {
    const { terminal } = await run([calls('Ask')], {
      tools: [tool('Ask')],
      permissions: asks,
      stopWhen: new StepsLimitHook(1),
    })
    expect(terminal.reason).toBe('needs_approval')
  })

  test('guards come before max turns', async () => {
    const tokens = {
      name: 'tokens',
      evaluate: () => new StopSignal({ reason: 'token_limit' }),
      checkpoints: ['after_tools'] as const,
    }
    expect(
      (await run([calls('Look')], { tools: [reader('Look')], maxTurns: 1, stopWhen: tokens })).terminal.reason,
    ).toBe('token_limit')
  })

  test('max turns is checked only here: an answer without tools within the last turn is completed', async () => {
    expect((await run([calls('Look'), 'answer'], { tools: [reader('Look')], maxTurns: 2 })).terminal.reason).toBe(
      'completed',
    )
    expect((await run(['answer'], { maxTurns: 1 })).terminal.reason).toBe('completed')
  })
})
