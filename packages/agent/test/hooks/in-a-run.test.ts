// Spec R-SETHOOK-10 to R-SETHOOK-16: hooks of settings in runs of core.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions } from '@halting/policy'
import { openJournal } from '@halting/journal'
import {
  ModelError,
  QueryEngine,
  tool,
  type AgentTool,
  type AnyTool,
  type RunEvent,
  type ModelRequest,
  type QueryOptions,
  type SdkMessage,
} from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { readHooks, ShellHooks, type HookLine } from '../../src/hooks/index.ts'

const home = mkdtempSync(join(tmpdir(), 'halting-hooks-run-'))
let cwd = home
beforeEach(() => {
  cwd = mkdtempSync(join(home, 'run-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

type Script = readonly ScriptedReply[] | ((request: ModelRequest) => ScriptedReply)
const command = (text: string, more: object = {}) => ({ type: 'command', command: text, ...more })
const on = (text: string, matcher = '') => [{ matcher, hooks: [command(text)] }]
const json = (value: unknown) => `echo '${JSON.stringify(value)}'`
const specific = (hookEventName: string, fields: object) => json({ hookSpecificOutput: { hookEventName, ...fields } })
const file = (name: string) => readFileSync(join(cwd, name), 'utf8')
const written = (name: string) => (existsSync(join(cwd, name)) ? JSON.parse(file(name)) : undefined)
const callOf = (name: string, input: object = {}, id = 'c1'): ScriptedReply => ({ toolCalls: [{ name, id, input }] })

const ran: unknown[] = []
const tools: readonly AnyTool[] = [
  tool({ name: 'Bash', description: '', execute: (input: unknown) => (ran.push(input), 'tool output') }),
  tool({ name: 'Fail', description: '', execute: () => { throw new Error('broken') } }),
] // prettier-ignore
const agent: AgentTool = {
  name: 'Agent',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub', agentType: 'helper' }),
}

interface Ran {
  readonly engine: QueryEngine
  readonly requests: readonly ModelRequest[]
  readonly messages: readonly SdkMessage[]
  readonly events: readonly RunEvent[]
  readonly lines: readonly HookLine[]
  readonly reason: string | undefined
  /** The last request to the model, as text. */
  readonly shown: string
}

async function run(
  hooks: object,
  script: Script,
  more: Partial<QueryOptions> & { readonly prompt?: string; readonly rules?: object } = {},
): Promise<Ran> {
  const { prompt = 'go', rules, ...options } = more
  ran.length = 0
  const lines: HookLine[] = []
  const events: RunEvent[] = []
  const requests: ModelRequest[] = []
  const replies = [...(typeof script === 'function' ? [] : script)]
  const model = scriptedModel((request) => {
    requests.push({ ...request, messages: [...request.messages] })
    return typeof script === 'function' ? script(request) : (replies.shift() ?? 'end')
  })
  const shell = new ShellHooks({
    hooks: readHooks(hooks).hooks,
    sessionId: 's1',
    transcriptPath: join(cwd, 's1.jsonl'),
    cwd,
    env: process.env,
    permissionMode: () => 'default',
    model: model.id,
    source: 'startup',
    emit: (line) => void lines.push(line),
  })
  const permissions = shell.permissions(createPermissions({ cwd, allow: ['Bash', 'Fail', 'Agent'], ...rules }), 'deny')
  const engine = new QueryEngine({
    model,
    tools: [...tools, agent],
    permissions,
    hooks: shell.hooks,
    stopHooks: shell.stopHooks,
    signal: shell.signal,
    onEvent: (event) => void events.push(event),
    ...options,
  })
  const messages: SdkMessage[] = []
  for await (const message of engine.submit(prompt)) messages.push(message)
  await shell.end('other')
  const shown = JSON.stringify(requests.at(-1)?.messages)
  return { engine, requests, messages, events, lines, reason: engine.lastTerminal?.reason, shown }
}

test('passes the documented input to each event', async () => {
  const events = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Stop', 'SubagentStart', 'SubagentStop', 'SessionEnd'] // prettier-ignore
  const hooks = Object.fromEntries(events.map((event) => [event, on(`cat > ${event}.json`)]))
  let turn = 0
  const { reason } = await run(hooks, ({ messages }) => {
    if (messages[0]?.content === 'sub') return 'sub answer'
    turn++
    if (turn === 1) return callOf('Bash', { command: 'ls' })
    if (turn === 2) return callOf('Fail', {}, 'c2')
    return turn === 3 ? callOf('Agent', {}, 'c3') : 'the answer'
  })
  expect(reason).toBe('completed')
  const common = {
    session_id: 's1',
    transcript_path: join(cwd, 's1.jsonl'),
    cwd,
    permission_mode: 'default',
    figures: expect.any(Object),
  }
  const bash = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'c1' }
  const helper = { agent_id: expect.any(String), agent_type: 'helper' }
  const given = Object.fromEntries(events.map((event) => [event, written(`${event}.json`)]))
  expect(given).toEqual({
    SessionStart: { ...common, hook_event_name: 'SessionStart', source: 'startup', model: 'scripted' },
    UserPromptSubmit: { ...common, hook_event_name: 'UserPromptSubmit', prompt: 'go' },
    PreToolUse: { ...common, hook_event_name: 'PreToolUse', tool_name: 'Agent', tool_input: {}, tool_use_id: 'c3' },
    PostToolUse: expect.objectContaining({ ...common, tool_name: 'Agent', tool_response: 'sub answer', duration_ms: expect.any(Number) }),
    PostToolUseFailure: { ...common, hook_event_name: 'PostToolUseFailure', tool_name: 'Fail', tool_input: {}, tool_use_id: 'c2', error: expect.stringContaining('broken'), is_interrupt: false },
    PostToolBatch: expect.objectContaining({ tool_calls: [{ tool_name: 'Agent', tool_input: {}, tool_use_id: 'c3', tool_response: 'sub answer' }] }),
    Stop: { ...common, hook_event_name: 'Stop', stop_hook_active: false, last_assistant_message: 'the answer' },
    SubagentStart: { ...common, hook_event_name: 'SubagentStart', ...helper },
    SubagentStop: { ...common, hook_event_name: 'SubagentStop', stop_hook_active: false, last_assistant_message: 'sub answer', ...helper },
    SessionEnd: { ...common, hook_event_name: 'SessionEnd', reason: 'other' },
  }) // prettier-ignore
  expect(bash.tool_name).toBe('Bash')
})

describe('before a tool', () => {
  test('exit 2 denies, and the model gets the reason', async () => {
    const { shown } = await run({ PreToolUse: on('echo not that >&2; exit 2', 'Bash') }, [callOf('Bash'), 'end'])
    expect([ran, shown.includes('not that')]).toEqual([[], true])
  })

  test('a changed input replaces the whole input', async () => {
    const hook = specific('PreToolUse', { permissionDecision: 'allow', updatedInput: { command: 'safe' } })
    await run({ PreToolUse: on(hook) }, [callOf('Bash', { command: 'rm', other: 1 }), 'end'])
    expect(ran).toEqual([{ command: 'safe' }])
  })

  test.each([
    ['what no rule allows is allowed by a hook', {}, 1],
    ['a deny rule stands', { deny: ['Bash'] }, 0],
    ['an ask rule stands', { ask: ['Bash'] }, 0],
  ])('%s', async (_rule, rules, times) => {
    const hook = specific('PreToolUse', { permissionDecision: 'allow' })
    await run({ PreToolUse: on(hook) }, [callOf('Bash'), 'end'], { rules: { allow: [], ...rules } })
    expect(ran).toHaveLength(times)
  })

  test('defer leaves the call open, and the run ends until a user decides', async () => {
    const { reason } = await run({ PreToolUse: on(specific('PreToolUse', { permissionDecision: 'defer' })) }, [
      callOf('Bash'),
    ])
    expect([reason, ran]).toEqual(['needs_approval', []])
  })

  test('a crash, a timeout and half a JSON decide nothing, and are reported', async () => {
    const hooks = [command('exit 1'), command('sleep 9', { timeout: 0.3 }), command(`printf '{"decision":"block"'`)]
    const { messages } = await run({ PreToolUse: [{ hooks }] }, [callOf('Bash'), 'end'])
    const notes = messages.flatMap((message) =>
      'subtype' in message && message.subtype === 'informational' ? [message.message] : [],
    )
    expect([ran.length, notes]).toEqual([
      1,
      [
        'A PreToolUse hook failed (exit 1): exit code 1.',
        'A PreToolUse hook failed (sleep 9): it timed out.',
        `A PreToolUse hook failed (printf '{"decision":"block"'): its output starts like JSON but is not valid JSON.`,
      ],
    ])
  })

  test('hooks run in parallel, and a background hook blocks nothing', async () => {
    const hooks = [
      command('touch a; for i in $(seq 200); do [ -e b ] && exit 0; sleep 0.05; done; echo alone >&2; exit 2'),
      command('touch b; for i in $(seq 200); do [ -e a ] && exit 0; sleep 0.05; done; echo alone >&2; exit 2'),
      command('sleep 60', { async: true }),
    ]
    const { lines } = await run({ PreToolUse: [{ hooks }] }, [callOf('Bash'), 'end'])
    expect(ran).toHaveLength(1)
    expect(lines.filter(({ subtype }) => subtype === 'hook_started')).toHaveLength(3)
  })
})

describe('a permission request', () => {
  const asked = { rules: { allow: [] } }
  test('is allowed by a hook, with another input', async () => {
    const decision = { behavior: 'allow', updatedInput: { command: 'other' } }
    await run({ PermissionRequest: on(specific('PermissionRequest', { decision })) }, [callOf('Bash'), 'end'], asked)
    expect(ran).toEqual([{ command: 'other' }])
  })

  test('is denied by a hook; with interrupt the run ends', async () => {
    const deny = (interrupt: boolean) => on(specific('PermissionRequest', { decision: { behavior: 'deny', message: 'never', interrupt } })) // prettier-ignore
    const { shown } = await run({ PermissionRequest: deny(false) }, [callOf('Bash'), 'end'], asked)
    expect(shown).toContain('never')
    expect((await run({ PermissionRequest: deny(true) }, [callOf('Bash'), 'end'], asked)).reason).toBe('aborted_tools')
  })

  test('is denied if no hook decides and nobody is there', async () => {
    const { shown } = await run({ PermissionRequest: on('cat > asked.json') }, [callOf('Bash'), 'end'], asked)
    expect([ran, shown.includes('Not allowed:'), written('asked.json')?.tool_name]).toEqual([[], true, 'Bash'])
  })
})

describe('after a tool', () => {
  test('exit 2 shows stderr to the model, after the result', async () => {
    const { requests } = await run({ PostToolUse: on('echo lint: line 3 >&2; exit 2') }, [callOf('Bash'), 'end'])
    expect(
      requests
        .at(-1)
        ?.messages.slice(-2)
        .map(({ content }) => content),
    ).toEqual([
      [expect.objectContaining({ type: 'tool_result', content: 'tool output' })],
      'PostToolUse hook: lint: line 3',
    ])
  })

  test('a hook replaces the result', async () => {
    const { shown } = await run({ PostToolUse: on(specific('PostToolUse', { updatedToolOutput: 'redacted' })) }, [
      callOf('Bash'),
      'end',
    ])
    expect([shown.includes('redacted'), shown.includes('tool output')]).toEqual([true, false])
  })

  describe('with onError: withhold (R-SETHOOK-25)', () => {
    const redacts = (text: string, more: object = {}) => [{ hooks: [command(text, { onError: 'withhold', ...more })] }]
    /** Everything that a reader of the run, or of its record, receives. */
    const everything = ({ shown, messages, events, lines }: Ran): string =>
      JSON.stringify([shown, messages, events.filter(({ type }) => type !== 'model_update'), lines])

    test.each<[how: string, text: string, more?: object]>([
      ['fails', 'cat >&2; exit 1'],
      ['is not there', '/no/such/program'],
      ['refuses', 'cat >&2; exit 2'],
      ['prints half a JSON', `echo '{"half`],
      [
        'prints a warning before its answer',
        `echo deprecated; ${specific('PostToolUse', { updatedToolOutput: '***' })}`,
      ],
      ['prints text in place of an answer', 'echo redacted'],
      ['takes too long', 'cat; sleep 60', { timeout: 0.2 }],
    ])('a hook that %s causes the result to be withheld', async (_how, text, more) => {
      const ended = await run({ PostToolUse: redacts(text, more) }, [callOf('Bash'), 'end'])
      expect(ended.reason).toBe('completed')
      expect(ended.shown).toContain('its result is withheld: a hook that redacts results failed')
      expect(everything(ended)).not.toContain('tool output')
    })

    test('a failure is redacted too, and a hook that changes nothing lets it pass', async () => {
      const redacted = specific('PostToolUseFailure', { updatedToolOutput: 'it b***' })
      const { shown } = await run({ PostToolUseFailure: redacts(redacted) }, [callOf('Fail'), 'end'])
      expect([shown.includes('it b***'), shown.includes('broken')]).toEqual([true, false])
      const passed = await run({ PostToolUseFailure: redacts('true') }, [callOf('Fail'), 'end'])
      expect(passed.shown).toContain('broken')
    })

    test('its output takes precedence over that of another hook', async () => {
      const other = specific('PostToolUse', { updatedToolOutput: 'tool output, and more' })
      const hooks = [...redacts(specific('PostToolUse', { updatedToolOutput: '***' })), ...on(other)]
      const ended = await run({ PostToolUse: hooks }, [callOf('Bash'), 'end'])
      expect([ended.shown.includes('***'), ended.shown.includes('tool output')]).toEqual([true, false])
      const failed = await run({ PostToolUse: [...redacts('exit 1'), ...on(other)] }, [callOf('Bash'), 'end'])
      expect(failed.shown).not.toContain('tool output')
    })

    test('is rejected where no result can be withheld', () => {
      const warned = (event: string, more: object) =>
        readHooks({ [event]: [{ hooks: [command('true', { onError: 'withhold', ...more })] }] }).warnings.join()
      expect(warned('PostToolUse', {})).toBe('')
      expect(warned('PreToolUse', {})).toMatch(
        /^hooks: PreToolUse\[0\]\.hooks\[0\]: onError .*PostToolUse and PostToolUseFailure/,
      )
      for (const more of [{ async: true }, { once: true }])
        expect(warned('PostToolUse', more)).toMatch(/onError .*async or once/)
      expect(warned('PostToolUse', { onError: 'hide' })).toContain('"withhold"')
    })
  })

  test('a stop at PostToolUse skips calls that have not begun, and says so in their results', async () => {
    const begun: unknown[] = []
    const look = tool({ name: 'Look', description: '', readOnly: true, execute: (input: unknown) => (begun.push(input), 'seen') })
    const calls = (name: string): ScriptedReply => ({ toolCalls: [1, 2, 3].map((n) => ({ name, id: `c${n}`, input: { n } })) })
    const stops = { PostToolUse: on(json({ continue: false, stopReason: 'enough' })) }
    const writes = await run(stops, [calls('Bash'), 'end'])
    expect([writes.reason, ran]).toEqual(['hook_stopped', [{ n: 1 }]])
    const results = JSON.stringify(writes.engine.transcript.messages().at(-1))
    expect(results.match(/the run stopped before this call/g)).toHaveLength(2)
    const reads = await run(stops, [calls('Look'), 'end'], { tools: [look] })
    expect([reads.reason, begun]).toEqual(['hook_stopped', [{ n: 1 }, { n: 2 }, { n: 3 }]])
  }) // prettier-ignore

  test.each([['PostToolUse', 'hook_stopped'], ['PreToolUse', 'stop_requested'], ['PostToolBatch', 'stop_requested']])(
    'continue false of %s ends the run as %s', async (event, reason) => {
      const ended = await run({ [event]: on(json({ continue: false, stopReason: 'enough' })) }, [callOf('Bash'), 'end'])
      expect([ended.reason, ended.engine.lastTerminal?.signal.message, ended.requests.length]).toEqual([reason, 'enough', 1])
    }) // prettier-ignore
})

describe('a prompt', () => {
  test('gets plain output and context next to it', async () => {
    const { shown } = await run({ UserPromptSubmit: on('echo on branch main'), SessionStart: on('echo be brief') }, [
      'end',
    ])
    expect(shown).toContain('SessionStart hook: be brief')
    expect(shown).toContain('UserPromptSubmit hook: on branch main')
  })

  test('is erased by exit 2: the model never sees it, even later', async () => {
    const first = await run({ UserPromptSubmit: on('grep -q "hunter2" && { echo a secret >&2; exit 2; }; exit 0') }, ['end'], { prompt: 'my password is hunter2' })
    expect([first.reason, first.engine.lastTerminal?.signal.message, first.requests.length]).toEqual(['stop_requested', 'A hook blocked the prompt: a secret', 0])
    for await (const _ of first.engine.submit('and now'));
    expect(JSON.stringify(first.requests.at(-1)?.messages)).toContain('and now')
    expect(JSON.stringify(first.requests.at(-1)?.messages)).not.toContain('hunter2')
  }) // prettier-ignore
})

describe('the end of an answer', () => {
  test('a block sends the model back with the reason, until stop_hook_active is set', async () => {
    const hook =
      'cat > stop.json; grep -q \'"stop_hook_active":true\' stop.json && exit 0; echo run the tests >&2; exit 2'
    const { requests, shown, reason } = await run({ Stop: on(hook) }, ['one', 'two'])
    expect([requests.length, shown.includes('run the tests'), reason]).toEqual([2, true, 'completed'])
  })

  test('a hook that always blocks ends the run: after eight blocks, or after three for the same reason', async () => {
    const counts = 'echo x >> asked; echo again "$(wc -l < asked)" >&2; exit 2'
    const often = await run({ Stop: on(counts) }, () => 'done')
    expect([often.requests.length, often.reason]).toEqual([9, 'stop_hook_unmet'])
    expect(often.engine.lastTerminal?.signal.message).toMatch(/, which was sent back 8 times in a row: again +9$/)
    const same = await run({ Stop: on('echo again >&2; exit 2') }, () => 'done')
    expect([same.requests.length, same.reason]).toEqual([3, 'stop_hook_unmet'])
    expect(same.engine.lastTerminal?.signal.message).toBe(
      'The stop hook settings:Stop blocked the answer 3 times for the same reason, and nothing changed in between: again',
    )
  })

  test('an empty reason does not block', async () => {
    expect((await run({ Stop: on('exit 2') }, ['one'])).requests).toHaveLength(1)
  })

  test('continue false takes precedence over a block', async () => {
    const hook = json({ continue: false, stopReason: 'enough', decision: 'block', reason: 'more' })
    expect((await run({ Stop: on(hook) }, ['one'])).reason).toBe('stop_hook_prevented')
  })

  test('after an API failure StopFailure runs, and Stop does not', async () => {
    const refuse = () => { throw new ModelError({ kind: 'billing_error', message: 'no credit' }) } // prettier-ignore
    const { reason } = await run({ StopFailure: on('cat > failure.json'), Stop: on('touch stop') }, refuse)
    expect([reason, written('failure.json')?.error, existsSync(join(cwd, 'stop'))]).toEqual([
      'model_error',
      'billing_error',
      false,
    ])
  })
})

test('a compaction can be skipped, and hooks after one are called', async () => {
  const hooks = { PreCompact: on('cat > pre.json; exit 0'), PostCompact: on('cat > post.json'), SessionStart: on('echo remember the rules', 'compact') }
  const { engine, requests } = await run(hooks, ({ messages }) => (messages.length > 9 || messages.at(-1)?.content === 'go on' ? 'an answer' : callOf('Bash', { text: 'words '.repeat(4_000) }, `c${messages.length}`)))
  for await (const _ of engine.submit('/compact keep names'));
  expect([written('pre.json'), written('post.json')]).toEqual([
    expect.objectContaining({ trigger: 'manual', custom_instructions: 'keep names' }),
    expect.objectContaining({ trigger: 'manual', compact_summary: expect.any(String) }),
  ])
  for await (const _ of engine.submit('go on'));
  expect(JSON.stringify(requests.at(-1)?.messages)).toContain('SessionStart hook: remember the rules')
}) // prettier-ignore

test('a resumed run does not repeat a finished hook', async () => {
  const path = join(cwd, 's1.jsonl')
  const place = { path, sessionId: 's1', cwd, version: '0' }
  writeFileSync(join(cwd, 'count'), '')
  const hooks = { PreToolUse: on('echo x >> count'), SessionStart: on('echo s >> count') }
  const journal = await openJournal(place)
  // The process is killed during the tool.
  let reached: () => void = () => undefined
  const inTool = new Promise<void>((resolve) => (reached = resolve))
  const hanging = tool({ name: 'Bash', description: '', readOnly: true, execute: () => (reached(), new Promise<string>(() => undefined)) })
  void run(hooks, [callOf('Bash')], { session: journal, sessionId: 's1', tools: [hanging] }).catch(() => undefined)
  await inTool
  await journal.log.flush()
  const copy = join(cwd, 'after-crash.jsonl')
  writeFileSync(copy, readFileSync(path))
  const again = await openJournal({ ...place, path: copy })
  expect(again.open).toBeDefined()
  const shell = new ShellHooks({ hooks: readHooks(hooks).hooks, sessionId: 's1', transcriptPath: copy, cwd, env: process.env, permissionMode: () => 'default', model: 'scripted', source: 'resume' })
  const quick = tool({ name: 'Bash', description: '', readOnly: true, execute: () => 'fine' })
  const engine = new QueryEngine({ model: scriptedModel(['end']), tools: [quick], hooks: shell.hooks, session: again, sessionId: 's1' })
  for await (const _ of engine.resume());
  expect([engine.lastTerminal?.reason, file('count')]).toEqual(['completed', 's\nx\n'])
  await again.close()
}) // prettier-ignore
