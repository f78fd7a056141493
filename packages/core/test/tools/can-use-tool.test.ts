// Tests R-ASK-1 to R-ASK-6.
import { expect, test } from 'vitest'
import {
  agentTool,
  createMemorySteps,
  replay,
  resume,
  type RunOptions,
  type PermissionDecision,
  type PermissionRequest,
  type Permissions,
  type StepRecord,
} from '../../src/index.ts'
import type { CanUseTool, PermissionUpdate } from '../../src/entries/adapters.ts'
import { foldSession } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { ask, engineOf, resultOf } from '../support/engine.ts'
import { begin, calls, hook, resultTexts, run, tick, tool, until } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const rule = (toolName: string, destination: PermissionUpdate['destination'] = 'session'): PermissionUpdate => ({
  type: 'addRules',
  rules: [{ toolName }],
  behavior: 'allow',
  destination,
})

/** Asks about everything except what was learned, and records the rules that it should store. */
function rules(more: Partial<Permissions> = {}) {
  const storedUpdates: PermissionUpdate[][] = []
  const seen: PermissionRequest[] = []
  const permissions: Permissions = {
    modes: ['default', 'acceptEdits'],
    denies: ({ call }) => ((call.input as { evil?: true }).evil === true ? 'evil is denied' : undefined),
    decide(request) {
      seen.push(request)
      const isLearned = (request.learned ?? []).some(
        (update) => 'rules' in update && update.rules.some(({ toolName }) => toolName === request.call.name),
      )
      return isLearned || request.mode === 'acceptEdits'
        ? { behavior: 'allow' }
        : { behavior: 'ask', message: `Allow ${request.call.name}?` }
    },
    suggest: ({ call }) => [rule(call.name, 'localSettings')],
    keep: (updates) => void storedUpdates.push([...updates]),
    ...more,
  }
  return { permissions, storedUpdates, seen }
}

const echo = tool('Echo', (input) => JSON.stringify(input))
const tools = [echo, tool('Other', 'other')]
const twice = [calls({ name: 'Echo', input: { a: 1 } }), calls({ name: 'Echo', input: { a: 2 } }), 'done']

test('the callback receives the call, the reason, suggested rules and the signal, and its approval runs the call', async () => {
  const asked: unknown[] = []
  const canUseTool: CanUseTool = (name, input, { signal, ...rest }) => {
    asked.push([name, input, rest, signal.aborted])
    return { behavior: 'allow' }
  }
  const result = await run([twice[0] ?? '', 'done'], { tools, permissions: rules().permissions, canUseTool })
  expect([result.terminal.reason, resultTexts(result), asked]).toEqual([
    'completed',
    ['{"a":1}'],
    [
      [
        'Echo',
        { a: 1 },
        { toolUseID: 'call_0_0', decisionReason: 'Allow Echo?', suggestions: [rule('Echo', 'localSettings')] },
        false,
      ],
    ],
  ])
})

test('passes the cause that the rules report (R-ASK-7)', async () => {
  const causes: unknown[] = []
  const canUseTool: CanUseTool = (_name, _input, { decisionReasonType, blockedPath }) => {
    causes.push([decisionReasonType, blockedPath])
    return { behavior: 'allow' }
  }
  const { permissions } = rules({ cause: () => ({ type: 'workingDir', blockedPath: '/etc' }) })
  await run([twice[0] ?? '', 'done'], { tools, permissions, canUseTool })
  expect(causes).toEqual([['workingDir', '/etc']])
})

test('is not called when rules, mode or a hook decide, but is called when a hook asks', async () => {
  const asked: string[] = []
  const canUseTool: CanUseTool = (name) => {
    asked.push(name)
    return { behavior: 'allow' }
  }
  const { permissions } = rules({
    decide: ({ call }) => (call.name === 'Other' ? { behavior: 'allow' } : { behavior: 'deny', message: 'no' }),
  })
  const hooks = [hook('beforeToolUse', (context) => context.withPermission('ask'), { tools: ['Other'] })]
  await run([calls('Echo', 'Other'), 'done'], { tools, permissions, canUseTool })
  expect(asked).toEqual([])
  await run([calls('Echo', 'Other'), 'done'], { tools, permissions, canUseTool, hooks })
  expect(asked).toEqual(['Other'])
})

test('a hook that leaves a call open defers it, and does not call the callback', async () => {
  const hooks = [hook('beforeToolUse', (context) => context.withPermission('defer'))]
  const canUseTool: CanUseTool = () => ({ behavior: 'allow' })
  const result = await run([twice[0] ?? '', 'done'], { tools, permissions: rules().permissions, canUseTool, hooks })
  expect(result.terminal.reason).toBe('needs_approval')
})

test.each([
  ['denies with its message', () => ({ behavior: 'deny', message: 'not now' }), 'not now'],
  ['throws', () => Promise.reject(new Error('boom')), 'Denied: nobody could be asked for permission: boom'],
  [
    'returns invalid updates',
    () => ({ behavior: 'allow', updatedPermissions: [{ type: 'x' }] }),
    'updatedPermissions: [0].destination is one of session',
  ],
  [
    'sets an unknown mode',
    () => ({
      behavior: 'allow',
      updatedPermissions: [{ type: 'setMode', mode: 'bypassPermissions', destination: 'session' }],
    }),
    'there is no mode bypassPermissions',
  ],
  [
    'replaces the input with a denied one',
    () => ({ behavior: 'allow', updatedInput: { evil: true } }),
    'evil is denied',
  ],
])('a callback that %s', async (_what, callback, text) => {
  // Plain JavaScript code can return any value.
  const canUseTool = callback as unknown as CanUseTool
  const result = await run([twice[0] ?? '', 'done'], { tools, permissions: rules().permissions, canUseTool })
  expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', [expect.stringContaining(text)]])
})

test('another input replaces the whole input', async () => {
  const canUseTool: CanUseTool = () => ({ behavior: 'allow', updatedInput: { b: 1 } })
  const result = await run([twice[0] ?? '', 'done'], { tools, permissions: rules().permissions, canUseTool })
  expect(resultTexts(result)).toEqual(['{"b":1}'])
})

test('a slow answer is awaited without the time limit, and given up at its own limit', async () => {
  const clock = createFakeClock()
  const runOptions = {
    tools,
    permissions: rules().permissions,
    clock,
    maxDurationMs: 1_000,
    canUseToolTimeoutMs: 60_000,
  }
  const going = begin([twice[0] ?? '', 'done'], { ...runOptions, canUseTool: () => new Promise(() => {}) })
  await until(() => going.events.some(({ type }) => type === 'approval_needed'))
  await tick()
  await clock.advance(59_000)
  await tick()
  expect(going.events.some(({ type }) => type === 'run_end')).toBe(false)
  await clock.advance(1_000)
  const result = await going.end()
  expect([result.terminal.reason, resultTexts(result)]).toEqual([
    'completed',
    ['Denied: nobody answered the permission request within 60 s. Continue without this call.'],
  ])
})

test('a question without an answer in time is withdrawn by its signal, without aborting the run', async () => {
  const clock = createFakeClock()
  const signals: AbortSignal[] = []
  const canUseTool: CanUseTool = (_name, _input, { signal }) => {
    signals.push(signal)
    return new Promise(() => {})
  }
  const runOptions = { tools, permissions: rules().permissions, clock, canUseToolTimeoutMs: 60_000, canUseTool }
  const going = begin([twice[0] ?? '', 'done'], runOptions)
  await until(() => signals.length > 0)
  expect(signals[0]?.aborted).toBe(false)
  await clock.advance(60_000)
  const result = await going.end()
  expect([result.terminal.reason, signals[0]?.aborted]).toEqual(['completed', true])
})

test('an abort withdraws the question by its signal, and a late answer does not count', async () => {
  let say: (answer: { behavior: 'allow' }) => void = () => {}
  const signals: AbortSignal[] = []
  const canUseTool: CanUseTool = (_name, _input, { signal }) => {
    signals.push(signal)
    return new Promise((resolve) => {
      say = resolve
    })
  }
  const { permissions, storedUpdates } = rules()
  const going = begin([twice[0] ?? '', 'done'], { tools, permissions, canUseTool })
  await until(() => signals.length > 0)
  going.loop.abort('user')
  const result = await going.end()
  say({ behavior: 'allow' })
  await tick()
  expect([result.terminal.reason, signals[0]?.aborted, storedUpdates]).toEqual(['aborted_tools', true, []])
})

test('a denial with interrupt ends the run, also from a subagent', async () => {
  const canUseTool: CanUseTool = () => ({ behavior: 'deny', message: 'stop it', interrupt: true })
  const { permissions } = rules()
  const result = await run([calls('Echo', 'Other'), 'done'], { tools, permissions, canUseTool })
  expect([result.terminal.reason, resultTexts(result)[0]]).toEqual(['aborted_tools', 'stop it'])
  const helper = agentTool({ name: 'Helper', description: 'helps', spawn: () => ({ prompt: 'help' }) })
  const asks = rules({
    decide: ({ call }) => (call.name === 'Helper' ? { behavior: 'allow' } : { behavior: 'ask', message: '?' }),
  })
  const inAgent = await run([calls('Helper'), calls('Echo'), 'done', 'done'], {
    tools: [...tools, helper],
    permissions: asks.permissions,
    canUseTool,
  })
  expect(inAgent.terminal.reason).toBe('aborted_tools')
})

test('a rule to remember is stored once, and applies to the calls after it', async () => {
  const asked: string[] = []
  const canUseTool: CanUseTool = (name) => {
    asked.push(name)
    return { behavior: 'allow', updatedPermissions: [rule(name, 'localSettings')] }
  }
  const { permissions, storedUpdates } = rules()
  const result = await run(twice, { tools, permissions, canUseTool })
  expect([resultTexts(result), asked, storedUpdates]).toEqual([
    ['{"a":1}', '{"a":2}'],
    ['Echo'],
    [[rule('Echo', 'localSettings')]],
  ])
})

test('a rule that cannot be stored denies the call, with the reason', async () => {
  const canUseTool: CanUseTool = () => ({ behavior: 'allow', updatedPermissions: [rule('Echo', 'userSettings')] })
  const { permissions } = rules({ keep: () => Promise.reject(new Error('the disk is full')) })
  const result = await run([twice[0] ?? '', 'done'], { tools, permissions, canUseTool })
  expect(resultTexts(result)).toEqual(['Denied: the permissions could not be changed: the disk is full'])
})

test('a rule allowed in a subagent applies to the run, and one of the run to its subagents', async () => {
  const helper = agentTool({ name: 'Helper', description: 'helps', spawn: () => ({ prompt: 'help' }) })
  const asked: string[] = []
  const canUseTool: CanUseTool = (name, _input, { agentID }) => {
    asked.push(`${name} ${agentID ?? 'main'}`)
    return { behavior: 'allow', updatedPermissions: [rule(name)] }
  }
  const { permissions } = rules()
  const script = [calls('Other'), calls('Helper'), calls('Other', 'Echo'), 'helped', calls('Echo'), 'done']
  const result = await run(script, { tools: [...tools, helper], permissions, canUseTool })
  expect([result.terminal.reason, asked.map((line) => line.replace(/run1\/.*/, 'agent'))]).toEqual([
    'completed',
    ['Other main', 'Helper main', 'Echo agent'],
  ])
})

test('a mode for the session is the mode of the run from then on', async () => {
  let count = 0
  const canUseTool: CanUseTool = () => {
    count++
    return { behavior: 'allow', updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }] }
  }
  const { permissions, seen } = rules()
  await run(twice, { tools, permissions, canUseTool })
  expect([count, seen.map(({ mode }) => mode)]).toEqual([1, [undefined, 'acceptEdits']])
})

test('a recorded answer is not requested again after a kill at any record, and its rules apply', async () => {
  const optionsOf = (log: string[]): RunOptions => ({
    model: scriptedModel(({ messages }) =>
      messages.length < 3
        ? calls({ name: 'Echo', input: { a: 1 } })
        : messages.length < 5
          ? calls({ name: 'Echo', input: { a: 2 } })
          : 'done',
    ),
    tools,
    clock: createFakeClock({ autoAdvance: true }),
    permissions: rules({ keep: () => void log.push('kept') }).permissions,
    canUseTool: (name) => {
      log.push(`asked ${name}`)
      return { behavior: 'allow', updatedPermissions: [rule('Echo')] }
    },
  })
  for (let count = 1; ; count++) {
    const before: string[] = []
    const records = await killedAfter(count, optionsOf(before))
    const isOver = records.some(({ type }) => type === 'end')
    const isAnswered = records.some((record) => record.type === 'result' && record.key.includes('approval:'))
    if (isOver) break
    const after: string[] = []
    const { result: terminal } = resume(records, {
      ...optionsOf(after),
      steps: createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) }),
    }).loop
    expect([count, (await terminal).reason]).toEqual([count, 'completed'])
    expect([count, after]).toEqual([count, isAnswered ? [] : ['asked Echo', 'kept']])
  }
})

test('a replay asks nobody and stores nothing', async () => {
  const records: StepRecord[] = []
  const log: string[] = []
  const { permissions } = rules({ keep: () => void log.push('kept') })
  const canUseTool: CanUseTool = () => {
    log.push('asked')
    return { behavior: 'allow', updatedPermissions: [rule('Echo')] }
  }
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock, onRecord: (record) => void records.push(record) })
  const { model, terminal } = await run(twice, { tools, permissions, canUseTool, clock, steps })
  expect(log).toEqual(['asked', 'kept'])
  const again = await replay(records, { model, tools, permissions, canUseTool })
  expect([again.terminal.reason, terminal.reason, log]).toEqual(['completed', 'completed', ['asked', 'kept']])
})

test('the runs of an engine share learned rules; a later process has those for the session', async () => {
  const records: StepRecord[][] = []
  let count = 0
  const canUseTool: CanUseTool = (name) => {
    count++
    return { behavior: 'allow', updatedPermissions: [rule(name, name === 'Echo' ? 'session' : 'userSettings')] }
  }
  const script = [calls('Echo', 'Other'), 'done', calls('Echo', 'Other'), 'done']
  const clock = createFakeClock({ autoAdvance: true })
  const { engine } = engineOf(script, {
    tools,
    permissions: rules().permissions,
    canUseTool,
    clock,
    stepsFor: () => {
      const own: StepRecord[] = []
      records.push(own)
      return createMemorySteps({ clock, onRecord: (record) => void own.push(record) })
    },
  })
  for (const prompt of ['one', 'two']) for await (const _ of engine.submit(prompt));
  expect(count).toBe(2)
  const { permissions, seen } = rules()
  const session = { ...foldSession(records), sessionId: 'session', log: { append: () => {}, flush: async () => {} } }
  const { engine: later } = engineOf([calls('Echo'), 'done'], {
    tools,
    permissions,
    canUseTool,
    session: session as never,
  })
  for await (const _ of later.submit('three'));
  // Rules stored in files are read from there by the code that makes the rules.
  expect([count, seen[0]?.learned]).toEqual([2, [rule('Echo')]])
})

test('a mode that an answer set for the session does not apply to a later process', async () => {
  const records: StepRecord[] = []
  const clock = createFakeClock({ autoAdvance: true })
  const mode: PermissionUpdate = { type: 'setMode', mode: 'acceptEdits', destination: 'session' }
  const { engine } = engineOf([calls('Echo'), 'done'], {
    tools,
    permissions: rules().permissions,
    canUseTool: () => ({ behavior: 'allow', updatedPermissions: [rule('Echo'), mode] }),
    clock,
    stepsFor: () => createMemorySteps({ clock, onRecord: (record) => void records.push(record) }),
  })
  for await (const _ of engine.submit('one'));
  expect(engine.inForce?.permissionMode).toBe('acceptEdits')
  const session = { ...foldSession([records]), sessionId: 'session', log: { append: () => {}, flush: async () => {} } }
  const { permissions, seen } = rules()
  const { engine: later } = engineOf([calls('Echo'), 'done'], { tools, permissions, session: session as never })
  for await (const _ of later.submit('two'));
  expect(seen.map(({ mode, learned }) => [mode, learned])).toEqual([[undefined, [rule('Echo')]]])
})

test('denials by the callback are in the result message', async () => {
  const { result } = await ask([twice[0] ?? '', 'done'], {
    tools,
    permissions: rules().permissions,
    canUseTool: () => ({ behavior: 'deny', message: 'no' }),
  })
  expect(resultOf([result]).permission_denials).toEqual([
    { tool_name: 'Echo', tool_use_id: 'call_0_0', tool_input: { a: 1 } },
  ])
})

const alwaysAllow = (destination: PermissionUpdate['destination'] = 'session') =>
  ({ behavior: 'allow', updatedPermissions: [rule('Echo', destination)] }) as const

test('rules of approvals are stored before they apply, once, and apply to the calls after them', async () => {
  const { permissions, storedUpdates } = rules()
  const { state } = await run([twice[0] ?? ''], { tools, permissions })
  const approvals = { call_0_0: alwaysAllow('localSettings') }
  const records: StepRecord[] = []
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock, onRecord: (record) => void records.push(record) })
  const again = { approvals, transcript: state.transcript, runId: 'run2' }
  const result = await run([twice[1] ?? '', 'done'], { tools, permissions, clock, steps }, again)
  expect([result.terminal.reason, resultTexts(result), storedUpdates]).toEqual([
    'completed',
    ['{"a":1}', '{"a":2}'],
    [[rule('Echo', 'localSettings')]],
  ])
  const replayed = await replay(records, { model: result.model, tools, permissions }, state.transcript)
  expect([replayed.terminal.reason, storedUpdates.length]).toEqual(['completed', 1])
})

test.each([
  [
    { keep: () => Promise.reject(new Error('full')) },
    alwaysAllow(),
    'Denied: the permissions could not be changed: full',
  ],
  [
    {},
    { behavior: 'allow', updatedPermissions: [{ type: 'setMode', mode: 'none', destination: 'session' }] },
    'Denied: the answer to the permission request is invalid: updatedPermissions: there is no mode none (default, acceptEdits).',
  ],
  [
    {},
    { behavior: 'allow', updatedPermissions: 'all' },
    'Denied: the answer to the permission request is invalid: updatedPermissions: a list is needed.',
  ],
] as const)('an approval that cannot be stored or read denies: %j %j', async (more, answer, message) => {
  const { permissions } = rules(more)
  const { state } = await run([twice[0] ?? ''], { tools, permissions })
  // @ts-expect-error Plain JavaScript gives anything.
  const approvals: Record<string, PermissionDecision> = { call_0_0: answer }
  const again = { approvals, transcript: state.transcript, runId: 'run2' }
  expect(resultTexts(await run(['done'], { tools, permissions }, again))).toEqual([message])
})

test('rules of RunStream.answer are stored before they apply, and apply to later calls; an interrupt counts too', async () => {
  const { permissions, storedUpdates } = rules()
  const asked: string[] = []
  const running = begin(twice, { tools, permissions, onAsk: 'wait' })
  const { reason } = await answering(running, asked, () => alwaysAllow('userSettings'))
  expect([reason, asked, storedUpdates]).toEqual(['completed', ['Echo'], [[rule('Echo', 'userSettings')]]])
  const denied = begin(twice, { tools, permissions, onAsk: 'wait' })
  const no = () => ({ behavior: 'deny', message: 'no', interrupt: true }) as const
  expect((await answering(denied, [], no)).reason).toBe('aborted_tools')
  const failing = begin(twice, {
    tools,
    permissions: rules({ keep: () => Promise.reject(new Error('full')) }).permissions,
    onAsk: 'wait',
  })
  const both: string[] = []
  await answering(failing, both, () => alwaysAllow())
  expect(both).toEqual(['Echo', 'Echo'])
})

async function answering(running: ReturnType<typeof begin>, asked: string[], answer: () => PermissionDecision) {
  let isOver = false
  void running.loop.result.then(() => (isOver = true))
  const questions = () => running.events.filter((event) => event.type === 'approval_needed')
  for (;;) {
    await until(() => isOver || questions().length > asked.length)
    const next = questions()[asked.length]
    if (next === undefined) return (await running.end()).terminal
    asked.push(next.name)
    running.loop.answer(next.key ?? '', answer())
  }
}
