// Spec R-LIM-50 to R-LIM-51: every hook receives the usage, and what is left of limits.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions } from '@halting/policy'
import {
  ModelError,
  QueryEngine,
  type HookFigures,
  type JsonObject,
  type Prices,
  type RunEvent,
  tool,
  AgentState,
} from '@halting/core'
import { contextLayers, noFigures } from '@halting/core/adapters'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { codingAgent } from '../../src/index.ts'
import { hookEvents, readCallbackHooks, readHooks, ShellHooks, type HookEvent } from '../../src/hooks/index.ts'
import { SessionTotals } from '../../src/hooks/session-totals.ts'
import { joinedHooks } from '../../src/hooks/settings.ts'
import { readPluginHooks } from '../../src/hooks/settings-hooks.ts'

const call = (name: string, id: string, input: object = {}): ScriptedReply => ({ toolCalls: [{ name, id, input }] })

/** A dollar per million tokens of any kind. */
const prices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + usage.output_tokens) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1e6,
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'halting-figures-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

type HookInput = JsonObject & { readonly hook_event_name: HookEvent; readonly figures: HookFigures }

interface Session {
  readonly given: readonly HookInput[]
  readonly engine: QueryEngine
  readonly shell: ShellHooks
}

/** A session in which every event occurs, with a hook of a program for each. */
async function sessionWith(hooks = everywhere()): Promise<Session> {
  const inputs: HookInput[] = []
  const cwd = folder()
  const totals = new SessionTotals({ spending: () => ({ maxBudgetUsd: 5, costUsd: 0 }) })
  const { hooks: table } = readCallbackHooks(hooks, async (_id, input) => {
    inputs.push(input as HookInput)
    return {}
  })
  const replies: (ScriptedReply | Error)[] = [
    call('Bash', 'c1'),
    call('Fail', 'c2'),
    call('Asked', 'c3'),
    call('Agent', 'c4'),
    // Enough that there is something to compact.
    ...['c5', 'c6', 'c7', 'c8'].map((id) => call('Bash', id, { text: 'words '.repeat(4_000) })),
    'the answer',
    'what was said',
    new ModelError({ kind: 'billing_error', message: 'no credit' }),
  ]
  const model = scriptedModel(({ messages }) => {
    if (messages[0]?.content === 'sub') return 'sub answer'
    const reply = replies.shift() ?? 'end'
    if (reply instanceof Error) throw reply
    return reply
  })
  const shell = new ShellHooks({
    hooks: table,
    sessionId: 's1',
    transcriptPath: join(cwd, 's1.jsonl'),
    cwd,
    env: process.env,
    permissionMode: () => 'default',
    model: model.id,
    source: 'startup',
    sessionFigures: (run) => totals.figures(run),
  })
  const skillCommand = (invokedBy: 'user' | 'claude') =>
    shell.refusesCommand({ command: 'true', commandName: 'notes', invokedBy, signal: new AbortController().signal })
  const engine = new QueryEngine({
    model,
    tools: [
      tool({ name: 'Bash', description: '', execute: () => 'done' }),
      tool({ name: 'Asked', description: '', execute: () => 'done' }),
      tool({
        name: 'Fail',
        description: '',
        async execute() {
          await skillCommand('claude')
          throw new Error('broken')
        },
      }),
      {
        name: 'Agent',
        description: '',
        inputSchema: { type: 'object' },
        readOnly: true,
        spawn: () => ({ prompt: 'sub', agentType: 'helper' }),
      },
    ],
    permissions: shell.permissions(createPermissions({ cwd, allow: ['Bash', 'Fail', 'Agent'] }), 'deny'),
    hooks: shell.hooks,
    stopHooks: shell.stopHooks,
    context: contextLayers(),
    maxTurns: 20,
    maxToolCalls: 10,
    maxTotalTokens: 1_000_000,
    maxBudgetUsd: 5,
    prices,
    onEvent(event: RunEvent) {
      totals.onEvent(event)
      if (event.type === 'approval_needed') shell.notify('permission_prompt', 'needed')
    },
  })
  for await (const _ of engine.submit('go'));
  shell.notify('idle', 'nothing goes on')
  await skillCommand('user')
  for await (const _ of engine.submit('/compact'));
  for await (const _ of engine.submit('again'));
  await shell.end('other')
  return { given: inputs, engine, shell }
}

function everywhere(): object {
  return Object.fromEntries(hookEvents.map((event) => [event, [{ hookCallbackIds: ['all'] }]]))
}

const isFigures = {
  turns: expect.any(Number),
  toolCalls: expect.any(Number),
  tokens: expect.any(Number),
  usd: expect.any(Number),
  elapsedMs: expect.any(Number),
  left: expect.any(Object),
}

test('every event has figures: this test fails for a new event without figures', async () => {
  const { given: inputs } = await sessionWith()
  const seen = new Map(inputs.map((input) => [input.hook_event_name, input.figures]))
  // Each of them occurred.
  expect(hookEvents.filter((event) => !seen.has(event))).toEqual([])
  for (const event of hookEvents) expect([event, seen.get(event)]).toEqual([event, isFigures])
})

test('those of the run are its usage so far, with what is left of each limit', async () => {
  const { given: inputs } = await sessionWith()
  const of = (event: HookEvent, at = 0): HookFigures | undefined =>
    inputs.filter((input) => input.hook_event_name === event)[at]?.figures
  expect(of('UserPromptSubmit')).toMatchObject({
    ...noFigures,
    elapsedMs: expect.any(Number),
    left: { turns: 20, toolCalls: 10, tokens: 1_000_000, usd: 5 },
  })
  // The call itself counts once the results of its reply have arrived.
  expect(of('PostToolUse')).toMatchObject({ turns: 0, toolCalls: 0 })
  const first = of('PreToolUse', 1)
  expect(first).toMatchObject({ turns: 1, toolCalls: 1, left: { turns: 19, toolCalls: 9 } })
  expect(first?.tokens).toBeGreaterThan(0)
  expect(first?.usd).toBeGreaterThan(0)
  expect(first?.left).toMatchObject({ tokens: 1_000_000 - first!.tokens, usd: 5 - first!.usd })
  expect(of('PermissionRequest')).toMatchObject({ turns: 2, left: { turns: 18 } })
  const stop = of('Stop')
  expect(stop).toMatchObject({ turns: 8, toolCalls: 8, left: { turns: 12, toolCalls: 2 } })
  expect(stop?.usd).toBeGreaterThan(of('PreToolUse', 3)!.usd)
  // An agent has its own turns; cost and time are those of the run.
  expect(of('SubagentStop')).toMatchObject({ turns: 0 })
})

test('SessionStart, SessionEnd, Notification and PreSkillShellCommand have the usage of the session so far', async () => {
  const { given: inputs, engine } = await sessionWith()
  const of = (event: HookEvent): readonly HookFigures[] =>
    inputs.filter((input) => input.hook_event_name === event).map(({ figures }) => figures)
  const [begin, afterCompaction] = of('SessionStart')
  expect(begin).toEqual({ ...noFigures, elapsedMs: expect.any(Number), left: { usd: 5 } })
  expect(afterCompaction).toMatchObject({ turns: expect.any(Number) })
  expect(afterCompaction!.turns).toBeGreaterThanOrEqual(9)
  const [idle] = of('Notification')
  expect(idle).toMatchObject({ turns: 9, toolCalls: 8 })
  // A command of a skill: one while a run continues, one between two runs.
  const [during, between] = of('PreSkillShellCommand')
  expect(during).toMatchObject({ turns: 1, left: { usd: expect.closeTo(5 - during!.usd, 10) } })
  expect(between).toEqual({ ...idle, elapsedMs: expect.any(Number) })
  for (const figures of [during, between]) expect(Object.keys(figures!.left)).toEqual(['usd'])
  const [end] = of('SessionEnd')
  // The cost of the failed request was not reported.
  const { committedUsd, costUsd } = engine.lastTerminal!
  expect(end!.usd).toBeCloseTo(engine.totalCostUsd + committedUsd - costUsd, 10)
  expect(end!.left.usd).toBeCloseTo(5 - end!.usd, 10)
  expect(end!.turns).toBeGreaterThan(idle!.turns)
  expect(end!.tokens).toBeGreaterThan(idle!.tokens)
  expect(Object.keys(end!.left)).toEqual(['usd'])
})

test('commands, functions and hooks of plugins receive the same', async () => {
  const cwd = folder()
  const group = (name: string) => ({ Stop: [{ hooks: [{ type: 'command', command: `cat > ${name}.json` }] }] })
  const inputs: JsonObject[] = []
  const hooks = joinedHooks([
    readHooks(group('settings')).hooks,
    readPluginHooks([{ name: 'p', path: cwd, hooks: [group('plugin')] }]).hooks,
    readCallbackHooks({ Stop: [{ hookCallbackIds: ['x'] }] }, async (_id, input) => void inputs.push(input)).hooks,
  ])
  const shell = new ShellHooks({
    hooks,
    cwd,
    env: process.env,
    permissionMode: () => 'default',
    model: 'scripted',
    source: 'startup',
    sessionId: 's1',
    transcriptPath: join(cwd, 's1.jsonl'),
  })
  const engine = new QueryEngine({ model: scriptedModel(['end']), stopHooks: shell.stopHooks, maxTurns: 3 })
  for await (const _ of engine.submit('go'));
  await shell.end('other')
  const written = ['settings', 'plugin'].map((name) => JSON.parse(readFileSync(join(cwd, `${name}.json`), 'utf8')))
  expect(inputs[0]?.['figures']).toEqual({ ...isFigures, left: { turns: 3 } })
  expect(written).toEqual([inputs[0], inputs[0]])
})

describe('a session of a program', () => {
  const on = (name: string) => ({ hooks: [{ type: 'command', command: `cat > ${name}.json` }] })

  async function agentIn(cwd: string, resume?: string) {
    const home = join(cwd, 'home')
    mkdirSync(join(home, '.halting'), { recursive: true })
    writeFileSync(
      join(home, '.halting', 'settings.json'),
      JSON.stringify({ hooks: { SessionEnd: [on('end')], SessionStart: [on('start')] } }),
    )
    return codingAgent({
      cwd,
      env: { HOME: home, PATH: process.env['PATH'] },
      model: scriptedModel([call('Glob', 'c1', { pattern: '*' }), 'done', 'done again']),
      settingSources: ['user'],
      permissionMode: 'bypassPermissions',
      prices,
      maxBudgetUsd: 3,
      ...(resume !== undefined && { resume }),
    })
  }
  const figuresIn = (cwd: string, name: string): HookFigures =>
    (JSON.parse(readFileSync(join(cwd, `${name}.json`), 'utf8')) as HookInput).figures

  test('SessionEnd has the usage of its runs, including those of the process before', async () => {
    const cwd = folder()
    const first = await agentIn(cwd)
    const engine = await first.engine()
    for await (const _ of engine.submit('one'));
    for await (const _ of engine.submit('two'));
    await first.dispose()
    const end = figuresIn(cwd, 'end')
    expect(end).toMatchObject({ turns: 3, toolCalls: 1 })
    expect(end.usd).toBeCloseTo(engine.totalCostUsd, 10)
    const second = await agentIn(cwd, engine.sessionId)
    const next = await second.engine()
    for await (const _ of next.submit('three'));
    await second.dispose()
    expect(figuresIn(cwd, 'start')).toMatchObject({ turns: 3, toolCalls: 1, tokens: end.tokens, usd: end.usd })
    const total = figuresIn(cwd, 'end')
    expect(total).toMatchObject({ turns: 5, toolCalls: 2 })
    expect(total.usd).toBeCloseTo(next.totalCostUsd, 10)
    expect(total.left.usd).toBeCloseTo(3 - total.usd, 10)
  })

  test('runs of agents are counted', async () => {
    const cwd = folder()
    const builder = await agentIn(cwd)
    await builder.build().execute(AgentState.empty().withUserMessage('one'))
    await builder.dispose()
    expect(figuresIn(cwd, 'end')).toMatchObject({ turns: 2, toolCalls: 1 })
  })
})
