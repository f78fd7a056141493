// Holds rules of docs/spec: R-LIVE-8 with files, R-LIVE-10, R-RULE-1e: what faces open, in this process.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startScriptedServer } from '@halting/models/scripted'
import type { SessionEvent } from '@halting/core/session'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Flags } from '../src/flags/flags.ts'
import type { Program } from '../src/program.ts'
import type { Frontend } from '../src/flags/open-session.ts'
import type { LiveSession } from '../src/flags/open-session.ts'
import { openLiveSession } from '../src/flags/open-session.ts'
import { server } from './support/servers.ts'
import { createPromptSender } from '../src/terminal/app/prompt-sender.ts'
import { openSessionOf } from '../src/terminal/app/open-session.ts'

const opened: LiveSession[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ session }) => session.close()))
})

/** A user's home, a project in it, and a service that answers from a script. */
async function world(replies: readonly unknown[]): Promise<{
  readonly home: string
  readonly project: (name: string) => string
  readonly program: (cwd: string, env?: Program['env']) => Program
  readonly notes: string[]
}> {
  const home = mkdtempSync(join(tmpdir(), 'halting-live-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const server = await startScriptedServer({ replies })
  onTestFinished(() => server.close())
  const notes: string[] = []
  const say = (text: string): void => void notes.push(text)
  const output = { err: say, out: say, redactWith: () => undefined }
  return {
    home,
    notes,
    project(name) {
      const folder = join(home, name)
      mkdirSync(folder)
      return folder
    },
    program: (cwd, env = {}) => ({
      argv: [],
      cwd,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_API_KEY: 'key',
        ANTHROPIC_BASE_URL: server.url,
        ...env,
      },
      // True: an open session does not read stdin; of the output it needs stderr and redaction.
      stdin: process.stdin,
      output: output as unknown as Program['output'],
      home: new URL('../', import.meta.url),
    }),
  }
}

async function open(flags: Flags, program: Program, face: Partial<Frontend> = {}): Promise<LiveSession> {
  const live = await openLiveSession(flags, program, { answersQuestions: false, ...face })
  opened.push(live)
  return live
}

const answer = { content: 'Hello.' }
const tool = (name: string, input: object): unknown => ({ content: [{ type: 'tool_use', name, input }] })

test('gives parallel sessions separate folders and environments, and changes nothing of the process', async () => {
  const { project, program } = await world([answer, answer])
  const [one, two] = [project('one'), project('two')]
  const before = { env: { ...process.env }, cwd: process.cwd() }
  const settings = JSON.stringify({ env: { GREETING: 'from the settings' } })
  const [first, second] = [await open({ settings }, program(one)), await open({}, program(two, { GREETING: 'of two' }))]
  expect(first.run.env['GREETING']).toBe('from the settings')
  expect(first.toolbox.workspace.env['GREETING']).toBe('from the settings')
  expect(second.toolbox.workspace.env['GREETING']).toBe('of two')
  expect([first.session.snapshot.cwd, second.session.snapshot.cwd]).toEqual([one, two])
  first.session.prompt('hi')
  second.session.prompt('hi')
  await Promise.all([first.session.settled(), second.session.settled()])
  expect([first, second].map(({ session }) => session.snapshot.last?.reason)).toEqual(['completed', 'completed'])
  expect({ env: { ...process.env }, cwd: process.cwd() }).toEqual(before)
})

test('leaves nothing behind if a session cannot be opened, and no file if a session has no prompts', async () => {
  const { home, project, program } = await world([])
  const cwd = project('one')
  const given = { ready: () => Promise.reject(new Error('not now')) }
  await expect(open({}, program(cwd), given)).rejects.toThrow('not now')
  const { session } = await open({}, program(cwd))
  const { file } = session.snapshot
  expect(file !== undefined && existsSync(file)).toBe(true)
  await session.close()
  expect(file !== undefined && existsSync(file)).toBe(false)
  const kept = readdirSync(home, { recursive: true }).map(String)
  expect(kept.filter((path) => /jsonl|lock/.test(path))).toEqual([])
})

test('asks the user, and writes a rule for the folder into its settings', async () => {
  const write = tool('Write', { file_path: 'made.txt', content: 'by the agent\n' })
  const { project, program } = await world([write, answer])
  const cwd = project('one')
  const { session } = await open({ trust: true }, program(cwd), { answersQuestions: true })
  session.listen((event: SessionEvent) => {
    if (event.type !== 'question') return
    const { toolName, suggestions, id } = event.question
    expect(toolName).toBe('Write')
    expect(session.snapshot.status).toBe('requires_action')
    const rules = [{ toolName: 'Write' }]
    const update = { type: 'addRules', behavior: 'allow', destination: 'localSettings', rules } as const
    expect(suggestions.length).toBeGreaterThan(0)
    session.answer(id, { behavior: 'allow', updatedPermissions: [update] })
  })
  session.prompt('write it')
  await session.settled()
  expect(session.snapshot.last?.reason).toBe('completed')
  expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('by the agent\n')
  const kept = readFileSync(join(cwd, '.halting', 'settings.local.json'), 'utf8')
  expect(JSON.parse(kept)).toMatchObject({ permissions: { allow: ['Write'] } })
})

test('rewinds conversation and files to before a message, but not costs and settings', async () => {
  const write = tool('Write', { file_path: 'made.txt', content: 'one\ntwo\n' })
  const { project, program } = await world([answer, write, answer, answer])
  const cwd = project('one')
  const { session } = await open({ permissionMode: 'acceptEdits' }, program(cwd))
  const made = join(cwd, 'made.txt')
  session.prompt('hi', { id: 'first' })
  await session.settled()
  session.prompt('write it', { id: 'second' })
  await session.settled()
  session.set({ limits: { maxTurns: 7 } })
  const cost = session.snapshot.figures.sessionUsd
  expect(existsSync(made)).toBe(true)

  const plan = await session.rewind({ before: 'second', what: 'both', dryRun: true })
  expect(plan).toEqual({ content: 'write it', files: [made], insertions: 0, deletions: 2, left: [] })
  expect(existsSync(made)).toBe(true)
  await expect(session.rewind({ before: 'nobody' })).rejects.toThrow('No message nobody is in the conversation')
  expect(await session.rewind({ before: 'second', what: 'both' })).toEqual(plan)
  expect(existsSync(made)).toBe(false)
  expect(session.snapshot).toMatchObject({ canResume: false, limits: { maxTurns: 7 }, figures: { sessionUsd: cost } })

  const copy = await session.fork()
  session.prompt('again', { id: 'third' })
  await session.settled()
  const fresh = await open({ resume: copy }, program(cwd))
  expect(fresh.session.id).toBe(copy)
  await fresh.session.close()
  const file = session.snapshot.file ?? ''
  await session.close()
  const again = await open({ resume: session.id }, program(cwd))
  expect(again.session.snapshot).toMatchObject({ file, last: { reason: 'completed' } })
  const preview = (await again.session.rewind({ before: 'third', dryRun: true })).content
  expect(preview).toBe('again')
  await expect(again.session.rewind({ before: 'second', dryRun: true })).rejects.toThrow('No message second')
})

test('lists hooks and commands of a plugin, even if one of its hooks is invalid', async () => {
  const { project, program } = await world([])
  const folder = project('kit')
  for (const part of ['hooks', 'commands']) mkdirSync(join(folder, part))
  const group = { matcher: 'Bash', hooks: [{ type: 'command', command: 'check' }] }
  const hooks = { PreToolUse: [group, 'none', { hooks: 'none' }], Stop: 'none' }
  writeFileSync(join(folder, 'hooks/hooks.json'), JSON.stringify({ hooks }))
  writeFileSync(join(folder, 'commands/greet.md'), 'Greet.')
  const shown = openSessionOf(await open({ pluginDir: [folder] }, program(project('app'))))
  expect(shown.local?.hooks).toEqual([{ event: 'PreToolUse Bash', what: '{"type":"command","command":"check"}' }])
  expect(shown.commands.map(({ name }) => name)).toEqual(['kit:greet'])
})

test('uses commands, mentioned files, agents and models of the session', async () => {
  const { project, program, notes } = await world([answer])
  const cwd = project('one')
  mkdirSync(join(cwd, '.halting', 'commands'), { recursive: true })
  writeFileSync(
    join(cwd, '.halting', 'commands', 'greet.md'),
    '---\ndescription: Says hello\n---\nSay hello to $ARGUMENTS.\n',
  )
  writeFileSync(join(cwd, 'notes.txt'), 'remember the milk\n')
  const live = await open({ trust: true }, program(cwd))
  expect(live.commands()).toContainEqual({ name: 'greet', description: 'Says hello', argumentHint: '' })
  expect(live.agents().map(({ name }) => name)).toContain('general-purpose')
  expect(JSON.stringify(await live.prepare('/greet Ann'))).toContain('Say hello to Ann.')
  expect(JSON.stringify(await live.prepare('look at @notes.txt'))).toContain('remember the milk')
  expect(await live.prepare('just this', '\n\nand /greet that')).toEqual({ content: 'just this\n\nand /greet that' })
  live.session.set({ model: 'haiku' })
  expect(live.session.snapshot.model).toMatch(/haiku/)
  expect(() => live.session.set({ model: 'no-such-model' })).toThrow('No known service has a model "no-such-model"')
  expect(notes.join('')).not.toContain('Error')
})

test('R-CMD-5: uses the model of a command in the terminal, too, unless the command line names one', async () => {
  const { project, program } = await world([answer, answer, answer])
  const cwd = project('one')
  mkdirSync(join(cwd, '.halting', 'commands'), { recursive: true })
  writeFileSync(join(cwd, '.halting', 'commands', 'small.md'), '---\nmodel: claude-haiku-4-5\n---\nSay it.\n')
  const modelsOf = async (flags: Flags): Promise<readonly string[]> => {
    const live = await open({ trust: true, ...flags }, program(cwd))
    const models: string[] = []
    live.session.listen((event) => {
      if (event.type !== 'message' || event.message.type !== 'system') return
      if (event.message.subtype === 'init') models.push(event.message.model)
    })
    const handIn = createPromptSender({
      taker: async () => openSessionOf(live),
      current: () => live.session,
      note: () => undefined,
      giveBack: () => undefined,
      changed: () => undefined,
    })
    for (const text of ['/small', 'and then']) {
      handIn.send(text, 'next')
      await handIn.settled()
      await live.session.settled()
    }
    return [...models, live.session.snapshot.model]
  }
  const [own = '', ...others] = (await modelsOf({})).toReversed()
  expect(others.toReversed()).toEqual(['claude-haiku-4-5', own])
  expect(own).not.toBe('claude-haiku-4-5')
  expect(new Set(await modelsOf({ model: 'claude-opus-4-5' }))).toEqual(new Set(['claude-opus-4-5']))
})

test("puts attachments and piped input after a server's prompt, and resolves no mentions in it", async () => {
  const { project, program } = await world([])
  const cwd = project('one')
  writeFileSync(join(cwd, 'named.txt'), 'text of named.txt')
  const config = { type: 'stdio', command: process.execPath, args: [server, 'good'], env: {} } as const
  const live = await open({}, program(cwd), { servers: [{ name: 's', server: config }] })
  const parts = [
    { text: '/mcp__s__greet Ada ', isName: false },
    { text: '`/w/a @named.txt b`', isName: true },
  ]
  const said = JSON.stringify(await live.prepare(parts, '\n<context>held @named.txt </context>\n'))
  expect(said).toContain('Greet Ada and `/w/a @named.txt b`.')
  expect(said).toContain('\\n<context>held @named.txt </context>\\n')
  expect(said).not.toContain('text of named.txt')
  expect(await live.prepare('/mcp__s__greet Bob')).toEqual({ content: 'Greet Bob.' })
})

describe('bypassPermissions is a mode of the session', () => {
  const bypass = 'bypassPermissions'
  const person = (permissions: object): string => JSON.stringify({ permissions })
  test.each<readonly [how: string, flags: Flags, settings: string, isOffered: boolean]>([
    ['without a word about it', {}, '{}', false],
    ['in another mode', { permissionMode: 'acceptEdits' }, '{}', false],
    ['--dangerously-skip-permissions', { dangerouslySkipPermissions: true }, '{}', true],
    ['--allow-dangerously-skip-permissions', { allowDangerouslySkipPermissions: true }, '{}', true],
    ['--permission-mode', { permissionMode: bypass }, '{}', true],
    ["the person's defaultMode", {}, person({ defaultMode: bypass }), true],
    ["the person's defaultMode behind a flag", { permissionMode: 'plan' }, person({ defaultMode: bypass }), true],
    [
      'a flag, and settings that forbid it',
      { allowDangerouslySkipPermissions: true },
      person({ disableBypassPermissionsMode: 'disable', defaultMode: bypass }),
      false,
    ],
  ])('%s', async (_how, flags, settings, isOffered) => {
    const { home, project, program } = await world([])
    mkdirSync(join(home, '.halting'), { recursive: true })
    writeFileSync(join(home, '.halting', 'settings.json'), settings)
    const { session } = await open(flags, program(project('one')))
    expect(session.snapshot.permissionModes.includes(bypass)).toBe(isOffered)
    session.set({ permissionMode: 'plan' })
    const refusal = refusedWith(() => session.set({ permissionMode: bypass }))
    expect([session.snapshot.permissionMode, refusal.includes(`Unknown permission mode ${bypass}`)]).toEqual([
      isOffered ? bypass : 'plan',
      !isOffered,
    ])
  })
})

/** The message that it throws; '' if it throws nothing. */
function refusedWith(attempt: () => void): string {
  try {
    attempt()
    return ''
  } catch (thrown) {
    return String(thrown)
  }
}
