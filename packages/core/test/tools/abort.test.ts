// Tests R-ABORT-1 to R-ABORT-6, R-LOOP-4, R-LOOP-5, R-LOOP-7, R-TOOL-7.
import { describe, expect, test } from 'vitest'
import {
  createMemorySteps,
  HaltingError,
  streamRun,
  startRun,
  RunAbort,
  type AbortCause,
  type Permissions,
  type RunResult,
} from '../../src/index.ts'
import type { ModelUpdate } from '../../src/entries/adapters.ts'
import { AbortScope, abortCauseOf } from '../../src/values/abort.ts'
import { settleWithin } from '../../src/values/settle.ts'
import { createFakeClock, scriptedModel, type ScriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  hanging,
  hook,
  reader,
  resultTexts,
  loopMessages,
  tick,
  tool,
  toolEnds,
  until,
} from '../support/harness.ts'

const deafResult =
  'Interrupted by user. The tool did not stop and may still be running. Check the state of what it changes before you rely on it.'
const causes: readonly (readonly [AbortCause, string, string, string, boolean])[] = [
  // cause, ending while streaming, ending in tools, message, whether an interruption is added
  ['user', 'aborted_streaming', 'aborted_tools', 'Interrupted by the user', true],
  ['interrupt', 'aborted_streaming', 'aborted_tools', 'Interrupted by a new message', false],
  ['time', 'time_limit', 'time_limit', 'Time limit reached: Infinity/Infinity s', false],
  ['budget', 'max_budget_usd', 'max_budget_usd', 'Reached maximum budget ($Infinity)', false],
  ['terminated', 'aborted_streaming', 'aborted_tools', 'Terminated (SIGTERM)', true],
  ['parent', 'aborted_streaming', 'aborted_tools', 'The parent run was aborted', true],
]

describe('an abort at either point', () => {
  test.each(causes)(
    'with the cause %s, while streaming, ends as %s',
    async (cause, streaming, _tools, message, speaks) => {
      const going = begin([{ hang: true, text: 'half' }])
      await until(() => going.model.requests.length === 1)
      going.loop.abort(cause)
      const { terminal, state } = await going.end()
      expect([terminal.reason, terminal.signal.message]).toEqual([streaming, message])
      expect(loopMessages({ state })).toEqual(speaks ? [['interruption', '[Request interrupted by user]']] : [])
    },
  )

  test.each(causes)(
    'with the cause %s, in the tools, does not end as %s but as %s',
    async (cause, _streaming, tools, message, speaks) => {
      const going = begin([calls('Hang', 'Write')], { tools: [hanging('Hang'), tool('Write')] })
      await until(() => going.events.some(({ type }) => type === 'tool_start'))
      await tick()
      going.loop.abort(cause)
      const { terminal, state } = await going.end()
      expect([terminal.reason, terminal.signal.message, resultTexts({ state })]).toEqual([
        tools,
        message,
        ['Interrupted by user', 'Interrupted by user'],
      ])
      expect(loopMessages({ state })).toEqual(
        speaks ? [['interruption', '[Request interrupted by user for tool use]']] : [],
      )
    },
  )

  test('keeps the first cause', async () => {
    const going = begin([{ hang: true }])
    await until(() => going.model.requests.length === 1)
    going.loop.abort('interrupt')
    going.loop.abort('user')
    expect((await going.end()).terminal.signal.context).toEqual({ cause: 'interrupt', turn: 1 })
  })

  test('starts no tool after the abort', async () => {
    const ran: string[] = []
    const going = begin([calls('Hang', 'Read', 'Write')], {
      tools: [
        hanging('Hang'),
        reader('Read', () => (ran.push('Read'), 'x')),
        tool('Write', () => (ran.push('Write'), 'x')),
      ],
    })
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    going.loop.abort()
    await going.end()
    expect(ran).toEqual([])
  })

  test('inspects no call after the abort, whether the abort interrupted a tool or a hook', async () => {
    const decided: string[] = []
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ call }) => (decided.push(call.name), { behavior: 'allow' }),
    }
    const inHook = hook('afterToolUse', () => new Promise<void>(() => {}), { tools: ['Write'] })
    const texts = []
    for (const [name, ...hooks] of [['Hang'], ['Write', inHook]] as const) {
      const tools = [hanging('Hang'), tool('Write', 'written'), tool('Next')]
      const going = begin([calls(name, 'Next')], { tools, hooks, permissions })
      await until(() => going.events.some(({ type }) => type === (name === 'Hang' ? 'tool_start' : 'hook_start')))
      await tick()
      going.loop.abort()
      texts.push(resultTexts(await going.end()))
    }
    expect(texts).toEqual([
      ['Interrupted by user', 'Interrupted by user'],
      [expect.stringContaining('The call ended, but its result is withheld'), 'Interrupted by user'],
    ])
    expect(decided).toEqual(['Hang', 'Write'])
  })

  test('ends the wait before a retry at once', async () => {
    const clock = createFakeClock()
    const going = begin(() => ({ error: { kind: 'overloaded', message: 'x', status: 529 } }), { clock })
    await until(() => going.events.some(({ type }) => type === 'retry'))
    going.loop.abort()
    const { terminal, model } = await going.end()
    expect([terminal.reason, model.requests.length, terminal.durationMs, clock.pending]).toEqual([
      'aborted_streaming',
      1,
      0,
      0,
    ])
  })
})

describe('code that ignores the abort', () => {
  test('a hanging tool is left behind after the grace time, and named', async () => {
    const clock = createFakeClock()
    const going = begin([calls('Deaf')], { clock, tools: [hanging('Deaf', { deaf: true })], graceMs: 250 })
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    await clock.advance(1_000)
    going.loop.abort()
    await clock.advance(249)
    expect(going.events.at(-1)?.type).not.toBe('run_end')
    await clock.advance(1)
    const result = await going.end()
    expect([result.terminal.reason, result.terminal.stillRunning, result.terminal.durationMs]).toEqual([
      'aborted_tools',
      ['call_0_0'],
      1_250,
    ])
    expect([resultTexts(result), toolEnds(result)]).toEqual([[deafResult], { call_0_0: 'interrupted' }])
  })

  test('is not awaited at all with graceMs 0', async () => {
    const clock = createFakeClock()
    for (const script of [[calls('Deaf')], [{ hang: true as const, deaf: true, text: 'half' }]]) {
      const going = begin(script, { clock, tools: [hanging('Deaf', { deaf: true })], graceMs: 0 })
      await until(() => going.model.requests.length === 1)
      await tick()
      going.loop.abort()
      const { terminal } = await going.end()
      expect([terminal.signal.reason, terminal.durationMs, clock.pending]).toEqual(['user_requested', 0, 0])
    }
  })

  test('a hanging model is ignored: nothing more of its stream is emitted, and none of its calls begins', async () => {
    const began: string[] = []
    let say = (_update: ModelUpdate): void => {}
    const model: ScriptedModel = {
      ...scriptedModel([]),
      call: (_request, options) => {
        say = (update) => options.emit(update)
        say({ type: 'text_delta', index: 0, text: 'half' })
        return new Promise(() => {})
      },
    }
    const late = { type: 'tool_use', id: 'late', name: 'Read', input: {} } as const
    const talks = hook('afterExecution', () => {
      say({ type: 'text_delta', index: 0, text: ' and more' })
      say({ type: 'block', index: 1, block: late, messageId: 'm' })
    })
    const going = begin([], {
      model,
      tools: [reader('Read', () => (began.push('Read'), 'x'))],
      hooks: [talks],
      graceMs: 0,
    })
    await until(() => going.events.some(({ type }) => type === 'model_update'))
    going.loop.abort()
    const { terminal, events, messages } = await going.end()
    expect([terminal.reason, began, messages.at(1)?.content]).toEqual([
      'aborted_streaming',
      [],
      [{ type: 'text', text: 'half' }],
    ])
    expect(events.filter(({ type }) => type === 'model_update')).toHaveLength(1)
  })

  test('a tool that finishes within the grace time keeps its result', async () => {
    const slow = tool('Slow', async (_input, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await tick()
      return 'finished'
    })
    const going = begin([calls('Slow')], { clock: createFakeClock(), tools: [slow] })
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    await tick()
    going.loop.abort()
    const result = await going.end()
    expect([resultTexts(result), result.terminal.stillRunning]).toEqual([['finished'], []])
  })
})

describe('a consumer that leaves', () => {
  test.each(['run_start', 'model_start', 'message', 'tool_start', 'tool_end', 'lap', 'run_end'] as const)(
    'at %s: one run result, every call has a result, no tool starts after',
    async (where) => {
      const runResults: RunResult[] = []
      const started: string[] = []
      let left = false
      const tools = [reader('Look', () => (expect(left).toBe(false), started.push('Look'), 'x'))]
      const running = streamRun(startRun({ prompt: 'go' }), {
        model: scriptedModel([calls('Look'), 'done']),
        tools,
        clock: createFakeClock(),
        onResult: (terminal) => runResults.push(terminal),
      })
      for await (const event of running) {
        if (event.type !== where) continue
        break
      }
      left = true
      const { terminal } = await running.ended
      expect([runResults, ['abandoned', 'completed'].includes(terminal.reason)]).toEqual([[terminal], true])
    },
  )

  test('a slow consumer never slows the loop', async () => {
    const running = streamRun(startRun({ prompt: 'go' }), {
      model: scriptedModel([calls('Look'), 'done']),
      tools: [reader('Look')],
      clock: createFakeClock(),
    })
    const iterator = running[Symbol.asyncIterator]()
    await iterator.next()
    expect((await running.result).reason).toBe('completed')
    let last: unknown
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) last = step.value
    expect(last).toMatchObject({ type: 'run_end' })
  })

  test('a listener that throws changes nothing', async () => {
    const running = streamRun(startRun({ prompt: 'go' }), { model: scriptedModel(['done']), clock: createFakeClock(), onResult: () => { throw new Error('listener bug') } }) // prettier-ignore
    expect((await running.result).reason).toBe('completed')
  })
})

test('has exactly one run result also when the step engine fails, at whichever record', async () => {
  for (let fails = 0; fails < 12; fails++) {
    const clock = createFakeClock()
    let records = 0
    const steps = createMemorySteps({ clock, onRecord: () => { if (records++ === fails) throw new HaltingError('driver', 'disk full') } }) // prettier-ignore
    const running = streamRun(startRun({ prompt: 'go' }), {
      model: scriptedModel([calls('Look'), 'done']),
      tools: [reader('Look')],
      clock,
      steps,
    })
    const terminal = await running.result
    expect(terminal.error?.code).toBe(terminal.reason === 'completed' ? undefined : 'driver')
  }
})

function following(signal: AbortSignal) {
  const scope = new AbortScope()
  scope.follow(signal)
  return scope
}

describe('the scope of an abort', () => {
  test('reads the cause from the reason of a signal', () => {
    expect([new RunAbort('time'), 'interrupt', 'nonsense', undefined, new Error('x')].map(abortCauseOf)).toEqual([
      'time',
      'interrupt',
      'user',
      'user',
      'user',
    ])
  })

  test('calls each listener once, also a late one, and unsubscribes from the outer signal', () => {
    const controller = new AbortController()
    const scope = following(controller.signal)
    const notified: string[] = []
    const listener = (name: string) => ({ onAbort: (cause: string) => void notified.push(`${name} ${cause}`) })
    const left = listener('b')
    scope.listen(listener('a'))
    scope.listen(left)
    scope.unlisten(left)
    controller.abort('terminated')
    scope.abort('user')
    scope.listen(listener('c'))
    expect([notified, scope.cause, scope.signal.aborted]).toEqual([
      ['a terminated', 'c terminated'],
      'terminated',
      true,
    ])
    const other = following(new AbortController().signal)
    other.dispose()
    expect(other.cause).toBeUndefined()
  })

  test('is aborted at once when the outer signal already is', () => {
    expect(following(AbortSignal.abort('interrupt')).cause).toBe('interrupt')
  })
})

describe('settleWithin', () => {
  const never = () => new Promise<string>(() => {})

  test('returns the value, throws the error, or leaves', async () => {
    const clock = createFakeClock()
    const scope = new AbortScope()
    const error = new Error('x')
    expect(
      await settleWithin(
        () => 'now',
        { abort: scope, graceMs: 250, timers: clock },
        (settled) => settled,
      ),
    ).toEqual({ kind: 'value', value: 'now' })
    expect(
      await settleWithin(
        () => Promise.resolve('soon'),
        { abort: scope, graceMs: 250, timers: clock },
        (settled) => settled,
      ),
    ).toEqual({
      kind: 'value',
      value: 'soon',
    })
    expect(
      await settleWithin(
        () => Promise.reject(error),
        { abort: scope, graceMs: 250, timers: clock },
        (settled) => settled,
      ),
    ).toEqual({ kind: 'threw', error })
    expect(await settleWithin(() => { throw error }, { abort: scope, graceMs: 250, timers: clock }, (settled) => settled)).toEqual({ kind: 'threw', error }) // prettier-ignore
    const left = settleWithin(never, { abort: scope, graceMs: 250, timers: clock }, (settled) => settled)
    scope.abort('time')
    await clock.advance(250)
    expect([await left, clock.pending]).toEqual([{ kind: 'left', cause: 'time' }, 0])
  })

  test('handles a rejection that arrives after it left', async () => {
    const clock = createFakeClock()
    const scope = new AbortScope()
    let fail: (error: Error) => void = () => {}
    const left = settleWithin(
      () => new Promise((_resolve, reject) => (fail = reject)),
      { abort: scope, graceMs: 0, timers: clock },
      (settled) => settled,
    )
    scope.abort('user')
    expect(await left).toEqual({ kind: 'left', cause: 'user' })
    fail(new Error('too late'))
    await tick()
  })
})

test('async rules get the signal of the run when their call is due, and none while the message streams', async () => {
  const seen: (AbortSignal | undefined)[] = []
  let ended: unknown
  const permissions: Permissions = {
    denies: () => undefined,
    decide({ call, signal }) {
      seen.push(signal)
      if (call.name === 'Read' || signal === undefined) return { behavior: 'allow' }
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          ended = signal.reason
          resolve({ behavior: 'ask', message: 'not decided' })
        }),
      )
    },
  }
  const going = begin([calls('Read', 'Slow')], { permissions, tools: [reader('Read'), tool('Slow')] })
  await until(() => seen.length === 2)
  going.loop.abort('user')
  const { terminal } = await going.end()
  expect([terminal.reason, ended]).toEqual(['aborted_tools', new RunAbort('user')])
  expect(seen.map((signal) => signal?.aborted)).toEqual([undefined, true])
})
