// Tests R-HOOK-3 to R-HOOK-5, R-PERM-2.
import { describe, expect, test } from 'vitest'
import { AgentStopException, StopSignal, type HookContext, type Permissions } from '../../src/index.ts'
import { calls, hook, reader, resultTexts, run, toolEnds, tool } from '../support/harness.ts'

const echo = (parts = {}) => tool('Echo', (input) => JSON.stringify(input), parts)
const before = (handle: (context: HookContext) => HookContext | void, id = 'before', priority = 0) =>
  hook('beforeToolUse', handle, { id, priority })
const after = (handle: (context: HookContext) => HookContext | void, id = 'after', priority = 0) =>
  hook('afterToolUse', handle, { id, priority })
const script = [calls({ name: 'Echo', id: 'c1', input: { a: 1 } }), 'answer']

describe('before a tool', () => {
  test('blocked: the call is denied, the reason goes to the model, later hooks are not called', async () => {
    const asked: string[] = []
    const result = await run(script, {
      tools: [echo()],
      hooks: [
        before((context) => context.withBlocked('not today')),
        before(() => void asked.push('second'), 'second', -1),
      ],
    })
    expect([resultTexts(result), toolEnds(result), asked]).toEqual([['not today'], { c1: 'denied' }, []])
    expect(result.events.filter(({ type }) => type === 'permission_denied')).toEqual([
      { type: 'permission_denied', callId: 'c1', name: 'Echo', input: { a: 1 }, message: 'not today' },
    ])
  })

  test('changed input: an input that was read may be passed on, although its type is unknown', async () => {
    const result = await run(script, {
      tools: [echo()],
      hooks: [before((context) => context.withToolInput(context.toolCall?.input))],
    })
    expect(resultTexts(result)).toEqual(['{"a":1}'])
  })

  test('changed input: replaces the whole input, and the next hook sees it', async () => {
    const seen: unknown[] = []
    const result = await run(script, {
      tools: [echo()],
      hooks: [
        before((context) => context.withToolInput({ b: 2 })),
        before(({ toolCall }) => void seen.push(toolCall?.input), 'second', -1),
      ],
    })
    expect([resultTexts(result), seen]).toEqual([['{"b":2}'], [{ b: 2 }]])
  })

  test('changed input: the last one counts', async () => {
    const change = (value: number) => before((context) => context.withToolInput({ value }), `change ${value}`)
    const result = await run(script, { tools: [echo()], hooks: [change(1), change(2), change(3)] })
    expect(resultTexts(result)).toEqual(['{"value":3}'])
  })

  test('a request for a person overrides a hook that allows, in either order', async () => {
    const says = (permission: 'allow' | 'ask') => before((context) => context.withPermission(permission), permission)
    for (const hooks of [
      [says('allow'), says('ask')],
      [says('ask'), says('allow')],
    ]) {
      const { terminal } = await run(script, { tools: [echo()], hooks })
      expect([terminal.reason, terminal.signal.context['pending']]).toEqual([
        'needs_approval',
        [{ id: 'c1', name: 'Echo', message: 'A hook requires approval of this call.' }],
      ])
    }
  })

  test('changed input is checked like any other', async () => {
    const schema = { type: 'object', required: ['a'] }
    const result = await run(script, {
      tools: [echo({ schema })],
      hooks: [before((context) => context.withToolInput({}))],
    })
    expect(resultTexts(result)).toEqual([
      'A hook changed the input and made it invalid. Invalid input for Echo: a is missing. Nothing was run.',
    ])
  })

  test('a signal: the call is not run, and the run stops with it', async () => {
    const ran: unknown[] = []
    const result = await run([calls('Echo', 'Other')], {
      tools: [tool('Echo', () => (ran.push(1), 'x')), tool('Other', () => (ran.push(2), 'x'))],
      hooks: [before(() => { throw new AgentStopException({ message: 'enough' }) })], // prettier-ignore
    })
    expect([result.terminal.reason, resultTexts(result), ran]).toEqual([
      'stop_requested',
      ['Not run: a hook stopped the run before this call', 'Not run: the run stopped before this call'],
      [],
    ])
  })

  test('requests a person: the run ends as needs_approval, even when everything is allowed', async () => {
    const result = await run(script, { tools: [echo()], hooks: [before((context) => context.withPermission('ask'))] })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['needs_approval', []])
  })

  test('across hooks ask overrides allow', async () => {
    const decisions: unknown[] = []
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ hookDecision }) => (decisions.push(hookDecision), { behavior: 'allow' }),
    }
    await run(script, {
      tools: [echo()],
      permissions,
      hooks: [
        before((context) => context.withPermission('ask'), 'a'),
        before((context) => context.withPermission('allow'), 'b'),
      ],
    })
    await run(script, { tools: [echo()], permissions, hooks: [before((context) => context.withPermission('allow'))] })
    expect(decisions).toEqual(['ask', 'allow'])
  })

  test('deny rules come before the hooks, and again for changed input; ask rules after them', async () => {
    const seen: string[] = []
    const permissions: Permissions = {
      denies: ({ call }) => (
        seen.push(`deny ${JSON.stringify(call.input)}`),
        (call.input as { a?: number }).a === 3 ? 'three is denied' : undefined
      ),
      decide: ({ call }) => (seen.push(`decide ${JSON.stringify(call.input)}`), { behavior: 'allow' }),
    }
    const changed = await run(script, {
      tools: [echo()],
      permissions,
      hooks: [before((context) => (seen.push('hook'), context.withToolInput({ a: 2 })))],
    })
    expect([seen, resultTexts(changed)]).toEqual([
      ['deny {"a":1}', 'hook', 'deny {"a":2}', 'decide {"a":2}'],
      ['{"a":2}'],
    ])
    const denied = await run(script, {
      tools: [echo()],
      permissions,
      hooks: [before((context) => context.withToolInput({ a: 3 }).withPermission('allow'))],
    })
    expect(resultTexts(denied)).toEqual(['three is denied'])
  })

  test('rules that throw deny the call', async () => {
    const permissions: Permissions = { denies: () => { throw new Error('rule bug') }, decide: () => ({ behavior: 'allow' }) } // prettier-ignore
    expect(resultTexts(await run(script, { tools: [echo()], permissions }))).toEqual([
      'Denied: the permission rules failed: rule bug',
    ])
  })
})

describe('after a tool', () => {
  test('replaced output: the model gets it instead, and the next hook sees it', async () => {
    const seen: unknown[] = []
    const result = await run(script, {
      tools: [echo()],
      hooks: [
        after((context) => context.withToolOutput('redacted')),
        after(({ toolOutput }) => void seen.push(toolOutput), 'second', -1),
      ],
    })
    expect([resultTexts(result), seen]).toEqual([['redacted'], [{ text: 'redacted', isError: false, durationMs: 0 }]])
  })

  test('receives the output of the tool, failed or not, with the input that it ran with', async () => {
    const seen: unknown[] = []
    await run([calls('Echo', 'Break'), 'answer'], {
      tools: [echo(), tool('Break', () => ({ content: 'no such file', isError: true }))],
      hooks: [
        before((context) => (context.toolCall?.name === 'Echo' ? context.withToolInput({ b: 2 }) : context)),
        after(({ toolCall, toolOutput }) => void seen.push([toolCall?.input, toolOutput])),
      ],
    })
    expect(seen).toEqual([
      [{ b: 2 }, { text: '{"b":2}', isError: false, durationMs: 0 }],
      [{}, { text: 'no such file', isError: true, durationMs: 0 }],
    ])
  })

  test('receives the input that the tool ran with, also when the tool or a rule completed it', async () => {
    const seen: unknown[] = []
    const filling = {
      ...echo(),
      validate: (input: unknown) => ({ valid: true as const, input: { ...(input as object), filled: true } as never }),
    }
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ call }) => (call.id === 'c2' ? { behavior: 'allow', updatedInput: { by: 'rule' } } : { behavior: 'allow' }), // prettier-ignore
    }
    const result = await run(
      [calls({ name: 'Echo', id: 'c1', input: { a: 1 } }, { name: 'Echo', id: 'c2' }), 'answer'],
      {
        tools: [filling],
        permissions,
        hooks: [after(({ toolCall }) => void seen.push(toolCall?.input))],
      },
    )
    expect([seen, resultTexts(result)]).toEqual([
      [
        { a: 1, filled: true },
        { by: 'rule', filled: true },
      ],
      ['{"a":1,"filled":true}', '{"by":"rule","filled":true}'],
    ])
  })

  test('uses the last of several replaced outputs', async () => {
    const result = await run(script, {
      tools: [echo()],
      hooks: ['one', 'two', 'three'].map((text) => after((context) => context.withToolOutput(text), text)),
    })
    expect(resultTexts(result)).toEqual(['three'])
  })

  test('is not called for a call that did not run', async () => {
    const seen: string[] = []
    await run([calls('Unknown', 'Echo'), 'answer'], {
      tools: [echo()],
      hooks: [before((context) => context.withBlocked('no')), after(() => void seen.push('after'))],
    })
    expect(seen).toEqual([])
  })

  test('prevented: the run ends as hook_stopped after the whole turn, with the reason', async () => {
    const result = await run([calls('Echo', 'Look')], {
      tools: [echo(), reader('Look')],
      hooks: [after((context) => context.withContinuationPrevented(''), 'watch')],
    })
    expect([result.terminal.reason, result.terminal.signal.message, resultTexts(result)]).toEqual([
      'hook_stopped',
      'Stopped by watch',
      ['{}', 'Not run: the run stopped before this call'],
    ])
  })

  test('runs the hooks of a batch in call order, before all side effects and after all', async () => {
    const seen: string[] = []
    const log = (what: string) => (context: HookContext) => void seen.push(`${what} ${context.toolCall?.name}`)
    const slow = reader('Slow', async () => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
      seen.push('run Slow')
      return 'x'
    })
    await run([calls('Slow', 'Fast'), 'answer'], {
      tools: [slow, reader('Fast', () => (seen.push('run Fast'), 'x'))],
      hooks: [before(log('before')), after(log('after'))],
    })
    expect(seen).toEqual(['before Slow', 'before Fast', 'run Fast', 'run Slow', 'after Slow', 'after Fast'])
  })
})

test('raises a signal of a tool hook once, and only after all tools are done', async () => {
  const standing: unknown[] = []
  const raise = (trigger: 'beforeToolUse' | 'afterToolUse', tools: readonly string[]) =>
    hook(trigger, (context) => context.withState(context.state().withStopSignal(new StopSignal({ reason: 'token_limit', message: trigger }))), { id: trigger, tools }) // prettier-ignore
  const note = (context: HookContext): void => {
    const signals = [...context.state().stopSignals()].map(({ message }) => message)
    standing.push([context.trigger, context.toolCall?.name, signals])
  }
  const watch = hook(['beforeToolUse', 'afterToolUse', 'afterStep'], note, { priority: 1 })
  const { terminal } = await run([calls('Look', 'Other')], {
    tools: [reader('Look'), reader('Other')],
    hooks: [raise('afterToolUse', ['Look']), raise('beforeToolUse', ['Other']), watch],
  })
  expect(standing).toEqual([
    ['beforeToolUse', 'Look', []],
    ['beforeToolUse', 'Other', []],
    ['afterToolUse', 'Look', []],
    ['afterStep', undefined, ['afterToolUse', 'beforeToolUse']],
  ])
  expect([terminal.reason, [...terminal.signals].map(({ message }) => message)]).toEqual([
    'token_limit',
    ['afterToolUse', 'beforeToolUse'],
  ])
})
