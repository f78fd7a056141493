// Tests R-HOOK-1 to R-HOOK-3, R-HOOK-6 to R-HOOK-8.
import { describe, expect, test } from 'vitest'
import { agentStateOf } from '../../src/run/run.ts'
import {
  AgentStopException,
  StopSignal,
  StopSignals,
  type Hook,
  type HookContext,
  type HookTrigger,
} from '../../src/index.ts'
import { begin, calls, hanging, hook, reader, resultTexts, run, loopMessages, tool, until } from '../support/harness.ts'

const tools = [reader('Look'), tool('Break', () => { throw new Error('disk full') })] // prettier-ignore
const all: readonly HookTrigger[] = [
  'beforeExecution',
  'afterExecution',
  'beforeStep',
  'afterStep',
  'beforeInference',
  'afterInference',
  'beforeToolUse',
  'afterToolUse',
  'onStop',
  'onError',
]

const raisesSignal = (reason: 'steps_limit' | 'stop_requested', message: string) => (context: HookContext) =>
  context.withState(context.state().withStopSignal(new StopSignal({ reason, message, source: 'me' })))

describe('triggers', () => {
  test('run in the order of a run', async () => {
    const seen: string[] = []
    await run([calls('Look', 'Break'), 'answer'], {
      tools,
      hooks: [
        hook(
          all,
          ({ trigger, toolCall }) => void seen.push(toolCall === undefined ? trigger : `${trigger} ${toolCall.name}`),
        ),
      ],
    })
    expect(seen).toEqual([
      'beforeExecution',
      'beforeStep',
      'beforeInference',
      'afterInference',
      'beforeToolUse Look',
      'afterToolUse Look',
      'beforeToolUse Break',
      'afterToolUse Break',
      'onError Break',
      'afterStep',
      'beforeStep',
      'beforeInference',
      'afterInference',
      'onStop',
      'afterExecution',
    ])
  })

  test('onError is called when a hook failed, with its name and message', async () => {
    const errors: unknown[] = []
    const failing = hook('beforeStep', () => { throw new Error('hook bug') }, { id: 'failing' }) // prettier-ignore
    const { terminal } = await run(['answer'], {
      hooks: [failing, hook('onError', ({ error }) => void errors.push(error))],
    })
    expect([terminal.reason, errors]).toEqual(['completed', [{ source: 'hook', name: 'failing', message: 'hook bug' }]])
  })

  test('onError and afterExecution are called when the model failed, onStop may not override it', async () => {
    const seen: string[] = []
    await run([{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }], {
      hooks: [hook(['onStop', 'onError', 'afterExecution'], ({ trigger }) => void seen.push(trigger))],
    })
    expect(seen).toEqual(['onError', 'afterExecution'])
  })

  test('afterExecution is called after an abort, onStop is not', async () => {
    const seen: string[] = []
    await run(['answer'], {
      signal: AbortSignal.abort(),
      hooks: [hook(['onStop', 'beforeStep', 'afterExecution'], ({ trigger }) => void seen.push(trigger))],
    })
    expect(seen).toEqual(['afterExecution'])
  })
})

describe('order', () => {
  test('runs higher priority first, then in registration order, by class or by function alike', async () => {
    const seen: string[] = []
    class ByClass implements Hook {
      readonly triggers = ['beforeStep'] as const
      readonly priority = 5
      handle(): void {
        seen.push('class 5')
      }
    }
    const named = (name: string, priority?: number) =>
      hook('beforeStep', () => void seen.push(name), priority === undefined ? {} : { priority })
    await run(['answer'], {
      hooks: [named('first 0'), named('low', -1), named('second 0'), named('ten', 10), new ByClass()],
    })
    expect(seen).toEqual(['ten', 'class 5', 'first 0', 'second 0', 'low'])
  })

  test('passes the changes of each hook to the next one', async () => {
    const seen: unknown[] = []
    const first = hook('beforeStep', (context) => context.withState(context.state().withMetadata('a', 1)), {
      priority: 1,
    })
    const second = hook('beforeStep', (context) => void seen.push(context.state().metadata))
    await run(['answer'], { hooks: [second, first] })
    expect(seen).toEqual([{ a: 1 }])
  })

  test('makes ids unique, whatever the hooks are called', async () => {
    class Same implements Hook {
      readonly triggers = ['beforeStep'] as const
      handle(): void {}
    }
    const { events } = await run(['answer'], {
      hooks: [new Same(), new Same(), hook('beforeStep', () => {}, { id: 'Same' })],
    })
    expect(events.flatMap((event) => (event.type === 'hook_start' ? [event.hook] : []))).toEqual([
      'Same',
      'Same#2',
      'Same#3',
    ])
  })

  test('restricts a tool hook to some tools', async () => {
    const seen: string[] = []
    await run([calls('Look', 'Break'), 'answer'], {
      tools,
      hooks: [hook('beforeToolUse', ({ toolCall }) => void seen.push(toolCall?.name ?? ''), { tools: ['Break'] })],
    })
    expect(seen).toEqual(['Break'])
  })
})

describe('changes of state always take effect', () => {
  const running = all.filter((trigger) => trigger !== 'onStop' && trigger !== 'afterExecution' && trigger !== 'onError')

  test.each(running)('a signal raised in %s stops the run', async (trigger) => {
    const { terminal } = await run([calls('Look'), 'answer'], {
      tools,
      hooks: [hook(trigger, raisesSignal('steps_limit', trigger), { id: 'me' })],
    })
    expect([terminal.reason, terminal.signal.toJSON()]).toEqual([
      'max_turns',
      { reason: 'steps_limit', message: trigger, context: {}, source: 'me' },
    ])
  })

  test.each(all)('metadata set in %s is in the state at the end', async (trigger) => {
    const { state } = await run([calls('Break'), 'answer'], {
      tools,
      hooks: [hook(trigger, (context) => context.withState(context.state().withMetadata(trigger, true)))],
    })
    expect(agentStateOf(state).metadata).toEqual({ [trigger]: true })
  })

  test.each(all)(
    'a message added in %s is in the transcript, at a valid place, with the id of its hook',
    async (trigger) => {
      let left = 1
      const speak = hook(
        trigger,
        (context) => (left-- > 0 ? context.withState(context.state().withUserMessage(`from ${trigger}`)) : context),
        { id: 'speaker' },
      )
      const { state, events } = await run([calls('Break'), 'answer'], { tools, hooks: [speak] })
      expect(loopMessages({ state })).toEqual([['hook', `from ${trigger}`]])
      const [entry] = [...state.transcript].filter((each) => each.kind === 'user' && each.origin === 'hook')
      expect(entry).toMatchObject({ hook: 'speaker' })
      const entryIds = events.flatMap((event) => (event.type === 'message' ? [event.entry.id] : []))
      expect(entryIds).toEqual([...state.transcript].map(({ id }) => id))
    },
  )

  test('a signal of a tool hook waits until the siblings are done', async () => {
    const ran: string[] = []
    const log = (name: string) => reader(name, () => (ran.push(name), name))
    const { terminal, state } = await run([calls('A', 'B')], {
      tools: [log('A'), log('B')],
      hooks: [hook('afterToolUse', raisesSignal('stop_requested', 'enough'), { id: 'watch', tools: ['A'] })],
    })
    expect([terminal.reason, ran, state.transcript.length]).toEqual(['hook_stopped', ['A', 'B'], 4])
  })

  test('removing every signal is a request to continue', async () => {
    let left = 1
    const clear = hook('onStop', (context) => {
      const state = context.state()
      return left-- > 0
        ? context.withState(state.withContinuation(state.executionContinuation().withStopSignals(StopSignals.empty())))
        : context
    })
    const { transitions } = await run([calls('Look'), 'answer'], { tools, maxTurns: 1, hooks: [clear] })
    expect(transitions).toEqual(['continuation_requested'])
  })
})

test('a denied request to continue leaves a state that stops', async () => {
  const asks = hook('beforeStep', (context) => context.withState(context.state().withExecutionContinued()))
  const { state, terminal } = await run([calls('Look')], { tools, hooks: [asks], signal: AbortSignal.abort() })
  expect([terminal.reason, agentStateOf(state).executionContinuation().shouldStop()]).toEqual([
    'aborted_streaming',
    true,
  ])
  const failed = await run([{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }], { hooks: [asks] })
  expect([failed.terminal.reason, agentStateOf(failed.state).executionContinuation().shouldStop()]).toEqual([
    'model_error',
    true,
  ])
})

describe('a hook that fails', () => {
  test('decides nothing', async () => {
    const failing = hook(all, () => { throw new Error('hook bug') }, { id: 'failing' }) // prettier-ignore
    const { terminal, events } = await run([calls('Look'), 'answer'], { tools, hooks: [failing] })
    expect(terminal.reason).toBe('completed')
    expect(
      events
        .flatMap((event) => (event.type === 'hook_end' ? [event.outcome] : []))
        .every((outcome) => 'error' in outcome && outcome.error === 'hook bug'),
    ).toBe(true)
  })

  test('ends the run as error when the policy says so', async () => {
    const failing = hook('beforeStep', () => Promise.reject(new Error('hook bug')), { id: 'failing' })
    const { terminal } = await run(['answer'], {
      hooks: [failing],
      errorPolicy: ({ source, name }) => source === 'hook' && name === 'failing',
    })
    expect([terminal.reason, terminal.signal.toJSON()]).toEqual([
      'error',
      {
        reason: 'error',
        message: 'hook failing failed: hook bug',
        context: { source: 'hook', name: 'failing' },
        source: 'failing',
      },
    ])
  })

  test('is reported to the onError hooks, and their messages go to the model', async () => {
    const failing = hook(['beforeStep', 'afterToolUse'], () => { throw new Error('hook bug') }, { id: 'failing' }) // prettier-ignore
    const telling = hook('onError', (context) =>
      context.withState(context.state().withUserMessage(`${context.error?.name}: ${context.error?.message}`)),
    )
    const result = await run([calls('Look'), 'answer'], { tools, hooks: [failing, telling] })
    expect([result.terminal.reason, loopMessages(result)]).toEqual([
      'completed',
      [
        ['hook', 'failing: hook bug'],
        ['hook', 'failing: hook bug'],
        ['hook', 'failing: hook bug'],
      ],
    ])
  })

  test('is reported to the onError hooks, and their signals belong to that call', async () => {
    const ran: string[] = []
    const failing = hook('beforeToolUse', () => { throw new Error('hook bug') }, { id: 'failing', tools: ['Other'] }) // prettier-ignore
    const stopping = hook('onError', () => { throw new AgentStopException({ message: 'no more' }) }, { id: 'stopping' }) // prettier-ignore
    const result = await run([calls('Look', 'Other')], {
      tools: [reader('Look', () => (ran.push('Look'), 'x')), reader('Other', () => (ran.push('Other'), 'x'))],
      hooks: [failing, stopping],
    })
    expect([result.terminal.reason, result.terminal.signal.message, ran, resultTexts(result)]).toEqual([
      'stop_requested',
      'no more',
      ['Look'],
      ['x', 'Not run: a hook stopped the run before this call'],
    ])
  })

  test('raises the signal of an AgentStopException that it throws', async () => {
    const throwing = hook('beforeInference', () => { throw new AgentStopException({ message: 'enough', source: 'hook' }) }) // prettier-ignore
    const { terminal, model } = await run(['answer'], { hooks: [throwing] })
    expect([terminal.reason, terminal.signal.message, model.requests.length]).toEqual(['stop_requested', 'enough', 0])
  })

  test('is left behind after the grace time of an abort when it hangs', async () => {
    const going = begin(['answer'], { hooks: [hook('beforeStep', () => new Promise<void>(() => {}))], graceMs: 100 })
    await until(() => going.events.some(({ type }) => type === 'hook_start'))
    going.loop.abort()
    const { terminal, events } = await going.end()
    expect([terminal.reason, events.flatMap((event) => (event.type === 'hook_end' ? [event.outcome] : []))]).toEqual([
      'aborted_streaming',
      [{ aborted: 'user' }],
    ])
  })
})

test('a hook that reads its signal is notified of an abort', async () => {
  const going = begin([calls('Hang')], {
    tools: [hanging('Hang')],
    hooks: [
      hook(
        'beforeToolUse',
        ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
      ),
    ],
  })
  await until(() => going.events.some((event) => event.type === 'hook_start'))
  going.loop.abort()
  expect((await going.end()).terminal.reason).toBe('aborted_tools')
})

test('after an abort only the hooks that observe the end are called', async () => {
  const called: string[] = []
  const going = begin([calls('Write', 'Write')], {
    tools: [tool('Write', () => (going.loop.abort(), 'written'))],
    hooks: [hook(all, ({ trigger }) => void called.push(trigger))],
  })
  const result = await going.end()
  expect([result.terminal.reason, resultTexts(result)]).toEqual([
    'aborted_tools',
    [expect.stringContaining('The call ended, but its result is withheld'), 'Interrupted by user'],
  ])
  expect(called).toEqual([
    'beforeExecution',
    'beforeStep',
    'beforeInference',
    'afterInference',
    'beforeToolUse',
    'afterExecution',
  ])
})
