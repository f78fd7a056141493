// Holds rules of docs/spec: R-LIB-1 to R-LIB-8, R-LIB-10, R-LIM-4.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import {
  AgentState,
  type JsonObject,
  type QueryEngine,
  type SdkMessage,
  type SdkResult,
  outputSchema,
  tool,
} from '@halting/core'
import { UseGuards, UseHook, StepsLimitHook, UseTools } from '@halting/core/compat'
import { scriptedModel, type ScriptedModel } from '@halting/core/testing'
import { codingAgent, type CodingAgentOptions } from '@halting/agent'
import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

let base = ''
let cwd = ''
let home = ''
let env: Record<string, string | undefined> = {}
const opened: { dispose(): Promise<void> }[] = []

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-library-')))
  ;[cwd, home] = [join(base, 'project'), join(base, 'home')]
  mkdirSync(cwd)
  mkdirSync(home)
  env = { HOME: home, PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'sk-secret' }
})
afterEach(async () => {
  for (const builder of opened.splice(0)) await builder.dispose()
  rmSync(base, { recursive: true, force: true })
})

type Script = Parameters<typeof scriptedModel>[0]

async function open(script: Script, options: Partial<CodingAgentOptions> = {}) {
  const model = scriptedModel(script)
  const builder = await codingAgent({ cwd, env, model, ...options })
  opened.push(builder)
  return { model, builder }
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(cwd, path)), { recursive: true })
  writeFileSync(join(cwd, path), text)
}
const bash = (command: string) => ({ toolCalls: [{ name: 'Bash', input: { command } }] })
const edit = { toolCalls: [{ name: 'Write', input: { file_path: 'new.txt', content: 'made' } }] }
const shown = (model: ScriptedModel): string => JSON.stringify(model.requests.at(-1)?.messages)

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve }
}

async function ask(engine: QueryEngine, prompt: string): Promise<SdkResult> {
  let result: SdkResult | undefined
  for await (const message of engine.submit(prompt)) if (message.type === 'result') result = message
  if (result === undefined) throw new Error('There is no result.')
  return result
}
const sessions = (): readonly string[] =>
  existsSync(join(home, '.halting'))
    ? readdirSync(join(home, '.halting'), { recursive: true })
        .filter((name) => /[^/]{36}\.jsonl$/.test(String(name)))
        .map(String)
    : []

test('has the tools, the prompt and the instructions of the program (R-LIB-1)', async () => {
  write('AGENTS.md', 'Use tabs.')
  const { model, builder } = await open(['Done.'])
  const engine = await builder.engine()
  const messages: SdkMessage[] = []
  for await (const message of engine.submit('go')) messages.push(message)
  expect(model.requests[0]?.system).toMatch(/^You are halting, a coding agent[\s\S]+Use tabs\./)
  expect(messages[0]).toMatchObject({
    subtype: 'init',
    cwd,
    permissionMode: 'default',
    instructions: [join(cwd, 'AGENTS.md')],
    tools: expect.arrayContaining(['Read', 'Edit', 'Bash', 'Grep', 'TaskCreate', 'TaskUpdate']),
    session_id: builder.sessionId,
  })
  expect(messages.at(-1)).toMatchObject({ type: 'result', result: 'Done.' })
})

test('a tool profile changes the offered tools (R-PROF-2, R-PROF-3)', async () => {
  write('a', 'one\n')
  const input = '*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Add File: b\n+new\n*** End Patch'
  const patching = { toolCalls: [{ name: 'apply_patch', input: { patch: input } }] }
  const { model, builder } = await open([patching, 'Done.'], { toolProfile: 'codex', allowedTools: ['Edit'] })
  await ask(await builder.engine(), 'go')
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['apply_patch', 'Read']))
  expect([readFileSync(join(cwd, 'a'), 'utf8'), readFileSync(join(cwd, 'b'), 'utf8')]).toEqual(['two\n', 'new\n'])
  const small = await open(['Done.'], { toolProfile: 'small' })
  await ask(await small.builder.engine(), 'go')
  const names = small.model.requests[0]?.tools.map(({ name }) => name)
  expect(names?.toSorted()).toEqual(['Bash', 'Edit', 'Glob', 'Grep', 'Read', 'Write'])
})

describe('an untrusted folder (R-LIB-2)', () => {
  const settings = {
    permissions: { allow: ['Write'], deny: ['Bash(ls:*)'], defaultMode: 'acceptEdits' },
    hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'touch ran' }] }] },
    env: { NODE_OPTIONS: '--require ./evil.js' },
  }
  const script = [edit, bash('ls'), 'Done.']

  test('adds nothing that runs or loosens, and its deny rules apply', async () => {
    write('.claude/settings.json', JSON.stringify(settings))
    const { model, builder } = await open(script)
    expect(builder.notes.join('\n')).toMatch(/^Ignored settings \(.* is not trusted, .*permissions\.allow/)
    const result = await ask(await builder.engine(), 'go')
    expect(result.permission_denials.map(({ tool_name }) => tool_name)).toEqual(['Write', 'Bash'])
    expect([existsSync(join(cwd, 'ran')), existsSync(join(cwd, 'new.txt'))]).toEqual([false, false])
    expect(shown(model)).toContain('Bash(ls:*)')
  })

  test('applies completely with `trust: true`, except what needs an explicit name', async () => {
    write('.claude/settings.json', JSON.stringify(settings))
    const { builder } = await open(script, { trust: true })
    const result = await ask(await builder.engine(), 'go')
    expect(result.permission_denials.map(({ tool_name }) => tool_name)).toEqual(['Bash'])
    expect([existsSync(join(cwd, 'ran')), existsSync(join(cwd, 'new.txt'))]).toEqual([true, true])
    expect(builder.notes.join('\n')).toMatch(/^Ignored settings \(added after .* was trusted\): env/m)
  })

  test('is untrusted with `trust: false`, regardless of environment and records', async () => {
    write('.claude/settings.json', JSON.stringify(settings))
    write(
      '.claude/agents/bold.md',
      '---\nname: bold\ndescription: Is bold\npermissionMode: bypassPermissions\n---\nGo.',
    )
    mkdirSync(join(home, '.claude'))
    writeFileSync(join(home, '.claude.json'), JSON.stringify({ projects: { [cwd]: { hasTrustDialogAccepted: true } } }))
    const trusted = await open([])
    expect(trusted.builder.permissions.mode).toBe('acceptEdits')
    const { builder } = await open(script, { trust: false, env: { ...env, HALTING_TRUST_FOLDER: '1' } })
    const result = await ask(await builder.engine(), 'go')
    expect(result.permission_denials.map(({ tool_name }) => tool_name)).toEqual(['Write', 'Bash'])
    expect([builder.permissions.mode, existsSync(join(cwd, 'ran'))]).toEqual(['default', false])
    expect(builder.notes.join()).toContain('trust: false')
  })

  test('is not read without sources', async () => {
    write('.claude/settings.json', JSON.stringify(settings))
    write('AGENTS.md', 'Use tabs.')
    const { model, builder } = await open([bash('ls'), 'Done.'], { settingSources: [] })
    expect((await ask(await builder.engine(), 'go')).permission_denials).toEqual([])
    expect([builder.notes, model.requests[0]?.system?.includes('Use tabs.')]).toEqual([[], false])
  })
})

describe('a call that no rule allows (R-LIB-3)', () => {
  test('is denied if nobody can be asked', async () => {
    const { builder } = await open([edit, 'Done.'])
    expect((await ask(await builder.engine(), 'go')).permission_denials).toHaveLength(1)
    expect(existsSync(join(cwd, 'new.txt'))).toBe(false)
  })

  test('is passed to `canUseTool`, and allowed by options', async () => {
    const asked: string[] = []
    const { builder } = await open([edit, 'Done.'], {
      canUseTool: async (name) => {
        asked.push(name)
        return { behavior: 'allow' }
      },
    })
    await ask(await builder.engine(), 'go')
    const other = await open([edit, 'Done.'], { allowedTools: ['Write'], disallowedTools: ['Bash'] })
    expect((await ask(await other.builder.engine(), 'go')).permission_denials).toEqual([])
    expect([asked, other.model.requests[0]?.tools.some(({ name }) => name === 'Bash')]).toEqual([['Write'], false])
  })

  test('stays denied in a mode that an administrator forbids: it is refused at once', async () => {
    const settings = { permissions: { disableBypassPermissionsMode: 'disable' } }
    await expect(open([], { settings, permissionMode: 'bypassPermissions' })).rejects.toThrow(
      'bypassPermissions is disabled',
    )
  })
})

test('commands get no API keys, and the environment of this process is unchanged (R-LIB-4)', async () => {
  const settings = { env: { HALTING_LIBRARY_TEST: 'set' } }
  const script = [bash('echo "[$ANTHROPIC_API_KEY$HALTING_LIBRARY_TEST]"'), 'Done.']
  const { model, builder } = await open(script, { settings, permissionMode: 'bypassPermissions' })
  await ask(await builder.engine(), 'go')
  expect([shown(model).includes('[set]'), process.env['HALTING_LIBRARY_TEST']]).toEqual([true, undefined])
})

/** Not JSON. */
const endless: JsonObject = {}
Object.assign(endless, { endless })

describe('the session (R-LIB-5)', () => {
  test('is on disk, and resumes in another process of the same folder', async () => {
    const first = await open(['Seven.'])
    await ask(await first.builder.engine(), 'Remember 7.')
    await first.builder.dispose()
    expect(sessions()).toHaveLength(1)
    for (const resume of [first.builder.sessionId, { newest: true } as const]) {
      const { model, builder } = await open(['It was 7.'], { resume })
      expect(builder.sessionId).toBe(first.builder.sessionId)
      await ask(await builder.engine(), 'What was it?')
      expect(shown(model)).toContain('Remember 7.')
      await builder.dispose()
    }
  })

  test('leaves no file if no run started or if sessions are not stored', async () => {
    const { builder } = await open([])
    await builder.engine()
    await builder.dispose()
    const unkept = await open([edit, 'Done.'], { persistSession: false, allowedTools: ['Write'] })
    await ask(await unkept.builder.engine(), 'go')
    await unkept.builder.dispose()
    expect([sessions(), existsSync(join(cwd, 'new.txt'))]).toEqual([[], true])
  })

  test('that is not stored leaves no large tool result either, and removes nothing of others', async () => {
    const options = { permissionMode: 'bypassPermissions' } as const
    const many = bash('seq 1 100000')
    const kept = await open([many, 'Done.'], options)
    await ask(await kept.builder.engine(), 'go')
    await kept.builder.dispose()
    const files = (): readonly unknown[] => readdirSync(join(home, '.halting'), { recursive: true })
    const before = files()
    const unkept = async (named: Partial<CodingAgentOptions>): Promise<void> => {
      const { builder, model } = await open([many, 'Done.'], { ...options, ...named, persistSession: false })
      await ask(await builder.engine(), 'go')
      expect(shown(model)).toContain('tool-results')
      await builder.dispose()
    }
    await unkept({})
    expect(files()).toEqual(before)
    await unkept({ sessionId: kept.builder.sessionId })
    expect(files()).toEqual(expect.arrayContaining([...before]))
  })

  test('is written by one engine, and by one process', async () => {
    const { builder } = await open(['Hello.'])
    const engine = await builder.engine()
    await expect(builder.withCapability(new UseTools()).engine()).rejects.toThrow('This session already has an engine')
    await ask(engine, 'hi')
    const { builder: second } = await open([], { resume: builder.sessionId })
    await expect(second.engine()).rejects.toMatchObject({ code: 'driver' })
    await builder.dispose()
    expect((await second.engine()).transcript.length).toBe(2)
  })

  test.each<[Partial<CodingAgentOptions>, string]>([
    [{ resume: '11111111-1111-4111-8111-111111111111' }, 'found with session ID: 11111111'],
    [{ resume: { newest: true } }, 'There is no stored session'],
    [{ resume: 'a', sessionId: '11111111-1111-4111-8111-111111111111' }, 'Use sessionId or resume'],
    [{ resume: { newest: true }, persistSession: false }, 'A continued session is always stored'],
    [{ sessionId: '../../other' }, 'sessionId of codingAgent must be a UUID'],
    [{ cwd: '/nowhere/at/all' }, 'cwd must be an existing folder'],
    [{ cwd: 'no\0path' }, 'cwd must be an existing folder'],
    [{ tools: [null] as never }, 'tools of codingAgent must be a list of tools'],
    [{ model: {} as never }, 'model.id must be a text'],
    [{ apiKey: 'x' } as never, 'codingAgent has no option apiKey. Pass a model that has its key'],
    [{ stepsFor: () => undefined } as never, 'codingAgent has no option stepsFor'],
    [{ additionalDirectories: ['none'] }, 'additionalDirectories takes existing folders, not "none"'],
    [{ permissionMode: 'yolo' as never }, 'permissionMode of codingAgent must be one of default, '],
    [{ disallowedTools: 'Bash' as never }, 'disallowedTools of codingAgent must be a list of strings'],
    [{ settingSources: ['users'] as never }, 'settingSources of codingAgent must be a list of user, project, local'],
    [{ mcpServers: { a: 1 } as never }, 'mcpServers of codingAgent must be servers by name'],
    [{ mcpServers: { a: { type: 'stdio' } as never } }, 'each with a command, a url or an instance'],
    [{ mcpServers: { a: { url: 'localhost' } } }, 'each with a command, a url or an instance'],
    [{ mcpServers: { a: { command: 'sh', args: '-c' as never } } }, 'each with a command, a url or an instance'],
    [{ outputSchema: 1 as never }, 'outputSchema of codingAgent must be a Standard Schema or a JSON Schema'],
    [{ stopWhen: [] } as never, 'codingAgent has no option stopWhen. Register each guard'],
    [{ permissions: {} } as never, 'codingAgent has no option permissions. Use allowedTools'],
    [{ maxTurn: 3 } as never, 'Unknown option maxTurn'],
    [{ settings: endless }, 'settings of codingAgent must be a JSON-serializable object'],
    [{ codingTools: ['Reed'] }, 'unknown tool Reed'],
    [{ toolProfile: 'tiny' as never }, 'toolProfile of codingAgent must be one of default, codex, small'],
    [{ outputSchema: { type: 'whatever' } }, 'The JSON Schema cannot be used'],
    [{ settings: { permissions: { deny: [1] } } }, 'deny'],
    [{ mcpServers: { x: { type: 'stdio', command: '' } } }, 'each with a command, a url or an instance'],
    [{ cwd: '' }, 'cwd must be an existing folder'],
  ])('that cannot be opened reports the reason: %j', async (options, words) => {
    await expect(open([], options)).rejects.toThrow(
      expect.objectContaining({ code: 'configuration', message: expect.stringContaining(words) }),
    )
    expect(sessions()).toEqual([])
  })
})

test('a run that a process left open resumes from its record (R-LIB-5)', async () => {
  const asked = deferred()
  const never = new Promise<never>(() => undefined)
  const { builder } = await open([edit, { text: '', before: () => (asked.resolve(), never) }], {
    allowedTools: ['Write'],
  })
  const messages = (await builder.engine()).submit('go')
  const reading = (async () => {
    for await (const _ of messages);
  })()
  await asked.promise
  // What a process killed here would have left.
  const after = join(base, 'after')
  cpSync(join(home, '.halting'), join(after, '.halting'), {
    recursive: true,
    filter: (path) => !path.endsWith('.lock'),
  })
  const { model, builder: next } = await open(['Done.'], { env: { ...env, HOME: after }, resume: builder.sessionId })
  const results: unknown[] = []
  for await (const message of (await next.engine()).resume())
    if (message.type === 'result') results.push(message.result)
  expect([results, model.requests.length, readFileSync(join(cwd, 'new.txt'), 'utf8')]).toEqual([['Done.'], 1, 'made'])
  await builder.dispose()
  await reading
})

test('starts subagents of files and options, with the rules of the session', async () => {
  write('.claude/agents/reader.md', '---\nname: reader\ndescription: Reads\ntools: Read\n---\nYou read.')
  const start = (subagent_type: string) => ({
    toolCalls: [{ name: 'Agent', input: { description: 'x', prompt: 'go', subagent_type } }],
  })
  const agents = { poet: { description: 'Rhymes', prompt: 'You rhyme.' } }
  const { model, builder } = await open([start('reader'), 'Read.', start('poet'), edit, 'Denied.', 'Done.'], { agents })
  const result = await ask(await builder.engine(), 'go')
  expect([result.result, result.permission_denials.length, existsSync(join(cwd, 'new.txt'))]).toEqual([
    'Done.',
    1,
    false,
  ])
  expect([model.requests[1], model.requests[3]].map((request) => request?.system?.split('\n')[0])).toEqual([
    'You read.',
    'You rhyme.',
  ])
  const none = await open(['Done.'], { disallowedTools: ['Agent'] })
  await ask(await none.builder.engine(), 'go')
  expect(none.model.requests[0]?.tools.some(({ name }) => name === 'Agent')).toBe(false)
})

test('reports a session store of the settings in a note, and rejects one of the environment', async () => {
  mkdirSync(join(home, '.halting'))
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify({ sessionStore: 'sqlite:~/halting.db' }))
  expect((await open(['done'])).builder.notes).toEqual([
    expect.stringContaining('sessionStore in the settings applies'),
  ])
  expect((await open(['done'], { persistSession: false })).builder.notes).toEqual([])
  const { builder } = await open(['done'], { env: { ...env, HALTING_SESSION_STORE: 'sqlite:/x.db' } })
  await expect(builder.engine()).rejects.toThrow('belong to a session store')
})

test('ignores errors of a note listener', async () => {
  write('.claude/settings.json', '{"permissions":{"allow":["Write"]}}')
  const { builder } = await open([], {
    onNote() {
      throw new Error('no note')
    },
  })
  expect(builder.notes).toHaveLength(1)
})

test('delivers collected notes even if the agent cannot be opened', async () => {
  write('.claude/settings.json', '{"permissions":{"allow":["Write"]}}')
  const notes: string[] = []
  const opening = codingAgent({ cwd, env: { HOME: home }, onNote: (note) => void notes.push(note) })
  await expect(opening).rejects.toThrow(/^No key for /)
  expect(notes).toEqual([expect.stringContaining('permissions.allow')])
})

test('does not run a key helper of the settings, and says so if there is no key', async () => {
  const settings = { apiKeyHelper: `touch '${base}/helped'` }
  const opening = codingAgent({ cwd, env: { HOME: home }, settings })
  await expect(opening).rejects.toThrow(/^No key for .*apiKeyHelper of the settings is not run from code: give a model/)
  expect(existsSync(join(base, 'helped'))).toBe(false)
})

describe('servers', () => {
  test('in this process offer their tools in engines and agents, and are reported in init', async () => {
    const instance = new McpServer({ name: 'own', version: '1.0.0' })
    instance.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
      content: [{ type: 'text', text: `sum ${a + b}` }],
    }))
    const add = { toolCalls: [{ name: 'mcp__own__add', input: { a: 20, b: 22 } }] }
    const options = { mcpServers: { own: { type: 'sdk', instance } }, allowedTools: ['mcp__own'] } as const
    const { model, builder } = await open([add, 'Done.', add, 'Done.'], options)
    const state = await builder.build().execute(AgentState.empty().withUserMessage('go'))
    expect([state.lastAnswer(), shown(model).includes('sum 42')]).toEqual(['Done.', true])
    const messages: SdkMessage[] = []
    for await (const message of (await builder.engine()).submit('go')) messages.push(message)
    expect(messages[0]).toMatchObject({
      mcp_servers: [{ name: 'own', status: 'connected' }],
      tools: expect.arrayContaining(['mcp__own__add']),
    })
    expect(shown(model)).toContain('sum 42')
  })

  test('may be written as in .mcp.json, without optional fields', async () => {
    const { builder } = await open([], {
      mcpServers: { gone: { command: 'false' }, far: { url: 'http://127.0.0.1:1/' } },
    })
    expect(builder.notes.join('\n')).toMatch(/MCP server gone is not available: .*\n.*far is not available: /)
    expect(builder.notes.join('\n')).not.toContain('Invalid URL')
  })

  test('that are missing are reported, and connected ones are released if opening fails', async () => {
    const gone = { type: 'stdio', command: 'sh', args: ['-c', 'exit 3'], env: {} } as const
    const instance = new McpServer({ name: 'own', version: '1.0.0' })
    const { builder } = await open([], { mcpServers: { gone, own: { type: 'sdk', instance } } })
    expect(builder.notes.join()).toContain('MCP server gone is not available: ')
    expect(instance.isConnected()).toBe(true)
    await builder.dispose()
    expect(instance.isConnected()).toBe(false)
    const opening = open([], { mcpServers: { own: { type: 'sdk', instance } }, codingTools: ['Reed'] })
    await expect(opening).rejects.toThrow('unknown tool Reed')
    expect(instance.isConnected()).toBe(false)
  })
})

test('calls hooks of the settings, which may end a run, and reports the end of the session to them', async () => {
  const noting = (event: string, more = '') => [
    { hooks: [{ type: 'command', command: `echo ${event} >> '${cwd}/events'${more}` }] },
  ]
  const settings = {
    hooks: {
      SessionStart: noting('SessionStart'),
      PreToolUse: noting('PreToolUse', `; echo '{"continue":false,"stopReason":"enough"}'`),
      SessionEnd: noting('SessionEnd'),
    },
  }
  const { builder } = await open([edit, 'Done.'], { settings, allowedTools: ['Write'] })
  const result = await ask(await builder.engine(), 'go')
  await builder.dispose()
  expect(result.stop.message).toContain('enough')
  expect(readFileSync(join(cwd, 'events'), 'utf8').trim().split('\n')).toEqual([
    'SessionStart',
    'PreToolUse',
    'SessionEnd',
  ])
})

test('a hook that interrupts a call ends that run, but not later ones', async () => {
  const decision = { behavior: 'deny', message: 'no', interrupt: true }
  const answer = JSON.stringify({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } })
  write('answer.json', answer)
  const settings = {
    hooks: { PermissionRequest: [{ hooks: [{ type: 'command', command: `cat '${cwd}/answer.json'` }] }] },
  }
  const { builder } = await open([edit, 'Done.'], { settings })
  const engine = await builder.engine()
  expect((await ask(engine, 'go')).stop.reason).toBe('aborted_tools')
  expect((await ask(engine, 'and now?')).stop.reason).toBe('completed')
})

test('has a session object: questions, a rewind, and an end that is that of the builder (R-LIB-10)', async () => {
  const { builder } = await open([edit, 'Done.', 'Again.'], { onAsk: 'wait' })
  const session = await builder.session()
  await expect(builder.engine()).rejects.toThrow('This session already has an engine')
  session.listen((event) => {
    if (event.type === 'question') session.answer(event.question.id, { behavior: 'allow' })
  })
  session.prompt('make it', { id: 'first' })
  await session.settled()
  expect(readFileSync(join(cwd, 'new.txt'), 'utf8')).toBe('made')
  expect(session.snapshot).toMatchObject({
    last: { reason: 'completed' },
    cwd,
    file: expect.stringContaining('.jsonl'),
  })
  expect((await session.rewind({ before: 'first' })).content).toBe('make it')
  session.prompt('once more')
  await session.settled()
  expect(session.snapshot.last?.reason).toBe('completed')
  await session.close()
  await expect(builder.engine()).rejects.toThrow(/over|disposed|ended/)
})

test('a file read before a rewind has to be read again (R-HAND-7b)', async () => {
  write('a.txt', 'one')
  const read = { toolCalls: [{ name: 'Read', input: { file_path: 'a.txt' } }] }
  const change = { toolCalls: [{ name: 'Write', input: { file_path: 'a.txt', content: 'two' } }] }
  const { model, builder } = await open([read, 'Seen.', change, 'I see.'], { allowedTools: ['Write'] })
  const session = await builder.session()
  session.prompt('look', { id: 'first' })
  await session.settled()
  await session.rewind({ before: 'first' })
  session.prompt('change it')
  await session.settled()
  expect(shown(model)).toContain('has not been read yet')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one')
})

describe('the end (R-LIB-6)', () => {
  test('ends a run during a command, and everything is on disk', async () => {
    const { builder } = await open([bash('echo $$ > pid; exec sleep 1000'), 'Done.'], {
      permissionMode: 'bypassPermissions',
    })
    const engine = await builder.engine()
    const messages = engine.submit('go')
    const all: SdkMessage[] = []
    const reading = (async () => {
      for await (const message of messages) all.push(message)
    })()
    while (!existsSync(join(cwd, 'pid')) || readFileSync(join(cwd, 'pid'), 'utf8') === '')
      await new Promise((resolve) => setTimeout(resolve, 10))
    const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
    await builder.dispose()
    await reading
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(all.at(-1)).toMatchObject({ type: 'result', terminal_reason: 'aborted_tools' })
    const { builder: next } = await open(['Hello.'], { resume: builder.sessionId })
    expect((await ask(await next.engine(), 'hi')).result).toBe('Hello.')
  })

  test('waits for commands that a run left, and reports them to the model', async () => {
    const behind = {
      name: 'Bash',
      input: { command: 'until [ -e go ]; do sleep 0.01; done; touch ended', run_in_background: true },
    }
    const release = () => write('go', '')
    const script = [{ toolCalls: [behind] }, { text: 'Done.', before: release }, 'It has ended.']
    const { model, builder } = await open(script, { permissionMode: 'bypassPermissions' })
    const result = await ask(await builder.engine(), 'go')
    expect([result.result, existsSync(join(cwd, 'ended'))]).toEqual(['It has ended.', true])
    expect(shown(model)).toContain('touch ended')
  })

  test('of many sessions at once leaves no listener, and no warning of Node', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    const before = process.listenerCount('exit')
    const script = [bash('sleep 0.05'), 'Done.']
    const all = await Promise.all(
      Array.from({ length: 12 }, () => open(script, { permissionMode: 'bypassPermissions', persistSession: false })),
    )
    await Promise.all(all.map(async ({ builder }) => ask(await builder.engine(), 'go')))
    await Promise.all(all.map(({ builder }) => builder.dispose()))
    process.off('warning', hear)
    expect([warnings, process.listenerCount('exit')]).toEqual([[], before])
  })

  const untilPid = async (): Promise<number> => {
    const path = join(cwd, 'pid')
    while (!existsSync(path) || readFileSync(path, 'utf8') === '')
      await new Promise((resolve) => setTimeout(resolve, 10))
    return Number(readFileSync(path, 'utf8'))
  }
  const long = bash('echo $$ > pid; exec sleep 1000')

  test.each(['execute', 'iterate'] as const)(
    'ends the runs of agents and waits for them, even if one has its own signal: %s',
    async (method) => {
      const { builder } = await open([long, 'Done.'], { permissionMode: 'bypassPermissions' })
      const state = AgentState.empty().withUserMessage('go')
      const given = { signal: new AbortController().signal }
      const agent = builder.build()
      const reasons: unknown[] = []
      const execution = (async () => {
        if (method === 'execute') reasons.push((await agent.execute(state, given)).stopReason())
        else for await (const reached of agent.iterate(state, given)) reasons.push(reached.stopReason())
      })()
      const pid = await untilPid()
      await builder.dispose()
      expect(() => process.kill(pid, 0)).toThrow('ESRCH')
      await execution
      expect(reasons.at(-1)).toBe('user_requested')
    },
  )

  test('does not wait for an agent whose reader stopped', async () => {
    const { builder } = await open([bash('true'), bash('true'), 'Done.'], { permissionMode: 'bypassPermissions' })
    const states = builder.build().iterate(AgentState.empty().withUserMessage('go'))
    await states.next()
    await builder.dispose()
    expect((await states.return()).done).toBe(true)
  })

  test('is awaited by all callers', async () => {
    const { builder } = await open([long, 'Done.'], { permissionMode: 'bypassPermissions' })
    const asked = ask(await builder.engine(), 'go')
    const pid = await untilPid()
    const first = builder.dispose()
    await builder.dispose()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await Promise.all([first, asked])
  })

  test('during the creation of an engine leaves the session to others', async () => {
    const first = await open(['Hello.'])
    await ask(await first.builder.engine(), 'hi')
    await first.builder.dispose()
    const { builder } = await open([], { resume: first.builder.sessionId })
    const making = builder.engine()
    await Promise.all([builder.dispose(), expect(making).rejects.toThrow('This session was disposed of')])
    const { builder: next } = await open(['Again.'], { resume: first.builder.sessionId })
    expect((await ask(await next.engine(), 'hi')).result).toBe('Again.')
  })

  test('is reported to callers that ask for the engine afterwards', async () => {
    const { builder } = await open(['Hello.', 'Again.'])
    const engine = await builder.engine()
    await ask(engine, 'hi')
    await builder.dispose()
    const result = await ask(engine, 'hi')
    expect([result.subtype, result.errors]).toEqual([
      'error_during_execution',
      [expect.stringContaining('This session was disposed of')],
    ])
  })

  test('is final: later calls are rejected', async () => {
    const { builder } = await open([])
    await builder.dispose()
    await builder.dispose()
    expect(() => builder.build()).toThrow('This session was disposed of')
    await expect(builder.engine()).rejects.toThrow('This session was disposed of')
  })
})

describe('an agent that it builds (R-LIB-7)', () => {
  test('has all of it and added capabilities, and stores no session', async () => {
    const greet = tool({
      name: 'Greet',
      description: 'Greets',
      inputSchema: z.object({ name: z.string() }),
      readOnly: true,
      execute: ({ name }) => `Hello, ${name}.`,
    })
    const script = [{ toolCalls: [{ name: 'Greet', input: { name: 'Ada' } }] }, edit, 'Done.']
    const { model, builder } = await open(script, { permissionMode: 'acceptEdits', allowedTools: ['Greet'] })
    const agent = builder
      .withCapability(new UseTools(greet))
      .withCapability(new UseGuards({ maxSteps: 9 }))
      .build()
    const state = await agent.execute(AgentState.empty().withUserMessage('go'))
    expect([state.lastAnswer(), state.stopReason(), shown(model).includes('Hello, Ada.')]).toEqual([
      'Done.',
      'completed',
      true,
    ])
    expect([readFileSync(join(cwd, 'new.txt'), 'utf8'), sessions()]).toEqual(['made', []])
  })

  test('is stopped by its guards, even if nothing else would', async () => {
    const { builder } = await open(() => bash('true'), { permissionMode: 'bypassPermissions' })
    const one = builder.withCapability(new UseHook(new StepsLimitHook(1))).build()
    expect((await one.execute(AgentState.empty().withUserMessage('go'))).stopReason()).toBe('steps_limit')
    const none = await builder.build().execute(AgentState.empty().withUserMessage('go'))
    expect(none.stopReason()).toBe('no_progress')
  })
})

test('answers match a schema and have its type (R-LIB-8)', async () => {
  const model = scriptedModel(['none', '{"bugs":"2"}', '{"bugs":2}'])
  const options = { cwd, env, persistSession: false } as const
  const byZod = await codingAgent({ ...options, model, outputSchema: z.object({ bugs: z.int() }) })
  const byJson = await codingAgent({
    ...options,
    model: scriptedModel(['{"bugs":3}']),
    outputSchema: { type: 'object', properties: { bugs: { type: 'integer' } }, required: ['bugs'] },
  })
  const byCheck = await codingAgent({
    ...options,
    model: scriptedModel([]),
    outputSchema: outputSchema(z.object({ bugs: z.int() }), { jsonSchema: {} }),
  })
  expectTypeOf(await byCheck.engine()).toEqualTypeOf<QueryEngine<{ bugs: number }>>()
  opened.push(byZod, byJson, byCheck)
  const engine = await byZod.engine()
  expectTypeOf(engine).toEqualTypeOf<QueryEngine<{ bugs: number }>>()
  const other = await byJson.engine()
  expectTypeOf(other).toEqualTypeOf<QueryEngine<{ readonly bugs: number }>>()
  expect([(await ask(engine, 'go')).structured_output, (await ask(other, 'go')).structured_output]).toEqual([
    { bugs: 2 },
    { bugs: 3 },
  ])
  expect(model.requests).toHaveLength(3)
})

describe('limits of settings', () => {
  const limitsOf = async (settings: JsonObject, options: Partial<CodingAgentOptions> = {}): Promise<unknown> => {
    const { builder } = await open([{ text: 'Hello.' }], { settings: { limits: settings }, ...options })
    const { limits } = (await builder.session()).snapshot
    return [limits.maxTurns, limits.maxTotalTokens, limits.maxToolCalls]
  }

  test('apply if the options set none, and there is no default', async () => {
    expect(await limitsOf({})).toEqual([1_000, null, null])
    expect(await limitsOf({ maxTurns: 5, maxTokens: 9_000, maxToolCalls: 7 })).toEqual([5, 9_000, 7])
    expect(await limitsOf({ maxTurns: 5, maxToolCalls: 7 }, { maxTurns: 8 })).toEqual([8, null, 7])
  })
})
