// Holds rules of docs/spec: R-STORE-1 to R-STORE-7: sessions of the program in a store.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { sessionStoreKey } from '@halting/journal'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { say, talk } from './support/acp-program.ts'
import { updatesIn } from './support/acp-schema.ts'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  linesOf,
  projectName,
  run,
  script,
  start,
  type Ended,
} from './support/program.ts'
import { installStorePackage, storedRow } from './support/store-package.ts'

installProgram()

const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const other = '4f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
let modules = ''
// Packages of a project are not loaded.
const packages = mkdtempSync(join(tmpdir(), 'halting-store-package-'))
beforeAll(() => void (modules = installStorePackage(packages)))
afterAll(() => rmSync(packages, { recursive: true, force: true }))

const settingsPath = (): string => join(here(), '.halting', 'settings.json')
const storePath = (name = 'sessions'): string => join(here(), name)
const storeOf = (name?: string): string => `sqlite:${storePath(name)}`
const writeSettings = (sessionStore: string): void => {
  mkdirSync(join(here(), '.halting'), { recursive: true })
  writeFileSync(settingsPath(), JSON.stringify({ sessionStore }))
}
const copyPath = (session: string = id, home: string = here()): string =>
  join(home, '.halting/stores', sessionStoreKey(storeOf()), 'projects', projectName(here()), `${session}.jsonl`)
const halting = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  run(args, { env: { NODE_PATH: modules, ...env } })
const ask = (prompt: string, replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  halting(['-p', prompt, '--script', script(replies, 'claude-haiku-4-5'), ...flags])
const said = (text: string): unknown => ({ content: [text] })
const calls = (name: string, input: unknown): unknown => ({ content: [call(name, input)] })

beforeEach(() => {
  for (const name of ['.halting', 'sessions', 'second', 'elsewhere'])
    rmSync(join(here(), name), { recursive: true, force: true })
})

describe('a session in the store of the settings', () => {
  test('is stored there, and all commands read it', async () => {
    writeSettings('sqlite:~/sessions')
    expect(await ask('remember 7', [said('Noted.')], '--session-id', id)).toMatchObject({
      status: 0,
      stdout: 'Noted.\n',
    })
    const row = storedRow(storePath(), id)
    expect(row.head.cwd).toBe(here())
    expect(row.holder).toBeUndefined()
    expect(row.records.join('')).toContain('remember 7')
    expect(existsSync(join(here(), '.halting/projects'))).toBe(false)
    // The local file is a copy.
    rmSync(join(here(), '.halting/stores'), { recursive: true })
    expect((await halting(['sessions'])).stdout).toContain('remember 7')
    rmSync(copyPath())
    const [why, report, shown, exported, whatIf] = await Promise.all([
      halting(['why', id]),
      halting(['report']),
      halting(['sessions', 'show', id.slice(0, 8)]),
      halting(['sessions', 'export', id, '--format', 'markdown']),
      halting(['what-if', id, '--max-turns', '5']),
    ])
    expect(why.stdout).toContain('completed: The model gave its answer')
    expect(report.stdout).toContain('1 session of this folder')
    expect(shown.stdout).toContain('> remember 7')
    expect(exported.stdout).toContain('Noted.')
    expect(whatIf.stdout).toContain('No change: completed after 1 turn.')
    expect((await halting(['replay', id])).stdout).toContain('Noted.')
  })

  test('is resumed, forked, rewound and deleted there', async () => {
    writeSettings(storeOf())
    await ask('one', [said('1.')], '--session-id', id)
    expect((await ask('two', [said('2.')], '--continue')).stdout).toBe('2.\n')
    expect((await ask('three', [said('3.')], '--resume', id, '--fork-session', '--session-id', other)).status).toBe(0)
    expect(storedRow(storePath(), other).records.join('')).toContain('three')
    expect(storedRow(storePath(), id).records.join('')).not.toContain('three')
    expect((await halting(['rewind', id, '2', '--yes'])).status).toBe(0)
    rmSync(join(here(), '.halting/stores'), { recursive: true })
    expect((await halting(['sessions', 'show', id])).stdout).not.toContain('> two')
    expect((await halting(['sessions', 'delete', id, '--yes'])).stdout).toBe(`Deleted: ${id}\n`)
    expect(readdirSync(storePath())).toEqual([`${other}.json`])
    expect((await halting(['sessions', '--json'])).stdout).not.toContain(id)
  })

  test('is resumed after its process was killed, and repeats nothing', async () => {
    writeSettings(storeOf())
    const replies = [
      calls('Bash', { command: 'echo once >> effects.txt' }),
      calls('Bash', { command: 'echo began > began.txt; sleep 600' }),
      said('Done.'),
    ]
    const name = script(replies, 'claude-haiku-4-5')
    const flags = ['--dangerously-skip-permissions', '--session-id', id]
    const running = start(['-p', 'go', '--script', name, ...flags], { env: { NODE_PATH: modules } })
    await waitForFileText(join(here(), 'began.txt'))
    const second = await halting(['-p', 'me too', '--script', name, '--resume', id])
    expect(second).toMatchObject({ status: 2, stdout: '' })
    expect(second.stderr).toContain(`The session ${id} is in use by process ${running.child.pid}`)
    running.child.kill('SIGKILL')
    await running.ended
    // Like a machine that has only the store.
    rmSync(join(here(), '.halting/stores'), { recursive: true })
    const resumed = await halting(['-p', '--script', script([said('Done.')], 'claude-haiku-4-5'), '--resume', id])
    expect(resumed).toMatchObject({ status: 0, stdout: 'Done.\n' })
    expect(await waitForFileText(join(here(), 'effects.txt'))).toBe('once')
  })

  test('accepts an answer to a pending call', async () => {
    writeSettings(storeOf())
    const waiting = await ask(
      'go',
      [calls('Write', { file_path: 'new.txt', content: 'x' }), said('Done.')],
      '--on-ask',
      'defer',
      '--session-id',
      id,
      '--output-format',
      'json',
    )
    const [callId = ''] = /toolu_scripted_\w+/.exec(waiting.stdout) ?? []
    expect((await halting(['approve', id, callId])).status).toBe(0)
    const done = await halting(['-p', '--script', script([said('Done.')], 'claude-haiku-4-5'), '--resume', id])
    expect(done.stdout).toBe('Done.\n')
    expect(await waitForFileText(join(here(), 'new.txt'))).toBe('x')
  })
})

describe('other frontends', () => {
  test('are an editor that lists, loads and deletes it', async () => {
    const env = { NODE_PATH: modules, HALTING_SESSION_STORE: storeOf() }
    const cwd = here()
    const talking = await talk(['--script', script([said('1.'), said('2.')])], { env })
    const { agent, wire } = talking
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
    await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('One') })
    await agent.request(methods.agent.session.close, { sessionId })
    rmSync(join(here(), '.halting/stores'), { recursive: true })
    const { sessions } = await agent.request(methods.agent.session.list, { cwd })
    expect(sessions).toMatchObject([{ sessionId, cwd, title: 'One' }])
    const before = wire.said.length
    await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
    expect(updatesIn({ said: wire.said.slice(before) }).map(({ sessionUpdate }) => sessionUpdate)).toEqual(
      expect.arrayContaining(['user_message_chunk', 'agent_message_chunk']),
    )
    await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('Two') })
    await agent.request(methods.agent.session.close, { sessionId })
    expect(storedRow(storePath(), sessionId).records.join('')).toContain('Two')
    await agent.request(methods.agent.session.delete, { sessionId })
    expect(readdirSync(storePath())).toEqual([])
    talking.child.stdin?.end()
    expect(await talking.exited()).toBe(0)
  })

  test('are a host that resumes it, and the inspector that shows it', async () => {
    writeSettings(storeOf())
    await ask('one', [said('1.')], '--session-id', id)
    const message = {
      type: 'user',
      message: { role: 'user', content: 'two' },
      parent_tool_use_id: null,
      session_id: id,
    }
    const flags = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--resume', id]
    const hosted = await run(['-p', ...flags, '--setting-sources', '', '--script', script([said('2.')])], {
      env: { NODE_PATH: modules },
      stdin: `${JSON.stringify(message)}\n`,
    })
    expect(linesOf(hosted.stdout).at(-1)).toMatchObject({ type: 'result', session_id: id, result: '2.' })
    rmSync(join(here(), '.halting/stores'), { recursive: true })
    expect((await halting(['inspect', id, '--output', join(packages, 'it.html')])).status).toBe(0)
    expect(readFileSync(join(packages, 'it.html'), 'utf8')).toContain('two')
  })
})

describe('the choice of the store', () => {
  test('prefers the flag to the variable, and the variable to the settings', async () => {
    writeSettings(storeOf('nobody'))
    const env = { NODE_PATH: modules, HALTING_SESSION_STORE: storeOf('second') }
    await run(['-p', 'x', '--script', script([said('1.')]), '--session-id', id], { env })
    expect(readdirSync(storePath('second'))).toEqual([`${id}.json`])
    const flags = ['--session-store', storeOf(), '--session-id', other]
    await run(['-p', 'x', '--script', script([said('2.')]), ...flags], { env })
    expect(readdirSync(storePath())).toEqual([`${other}.json`])
    await run(['-p', 'x', '--script', script([said('3.')]), '--session-store', 'files', '--session-id', id], { env })
    expect(existsSync(join(here(), '.halting/projects', projectName(here()), `${id}.jsonl`))).toBe(true)
    expect(existsSync(storePath('nobody'))).toBe(false)
  })

  test('ignores a project, even a trusted one', async () => {
    const folder = join(here(), 'elsewhere')
    mkdirSync(join(folder, '.halting'), { recursive: true })
    const content = { sessionStore: storeOf(), env: { HALTING_SESSION_STORE: storeOf() } }
    writeFileSync(join(folder, '.halting/settings.json'), JSON.stringify(content))
    const options = { cwd: folder, env: { NODE_PATH: modules } }
    const ended = await run(['-p', 'x', '--trust', '--script', script([said('1.')])], options)
    expect(ended.status).toBe(0)
    expect(ended.stderr).toContain('sessionStore in ')
    expect(existsSync(storePath())).toBe(false)
    expect(existsSync(join(here(), '.halting/projects'))).toBe(true)
  })

  test('hides the variable from commands of the agent', async () => {
    const flags = ['--session-store', storeOf(), '--dangerously-skip-permissions', '--session-id', id]
    await ask('go', [calls('Bash', { command: 'echo "store: $HALTING_SESSION_STORE."' }), said('Done.')], ...flags)
    expect(storedRow(storePath(), id).records.join('')).toContain('store: .')
  })

  test('does not apply to a cluster', async () => {
    const flags = ['--session-store', storeOf(), '--cluster', 'http://127.0.0.1:1']
    expect(await halting(['-p', 'x', ...flags])).toMatchObject({
      status: 2,
      stderr: 'halting: A cluster stores its sessions itself. Give --cluster or --session-store, not both.\n',
    })
  })
})

describe('a store that cannot be used', () => {
  test('is reported before anything runs, and nothing is written to files', async () => {
    const env = { HALTING_SESSION_STORE: storeOf('broken') }
    const ended = await halting(['-p', 'x', '--script', script([said('1.')])], env)
    expect(ended).toMatchObject({ status: 2, stdout: '' })
    expect(ended.stderr).toContain('cannot open sqlite:')
    expect(existsSync(join(here(), '.halting/projects'))).toBe(false)
    const doctor = await halting(['doctor'], env)
    expect(doctor.stdout).toMatch(/!! {2}session store +@halting\/store-sqlite .* cannot open/)
  })

  test('is refused if its folder does not exist, and nothing is created', async () => {
    const path = join(here(), 'no-such-folder', 'sessions.db')
    const { status, stderr } = await halting(['sessions', '--session-store', `sqlite:${path}`])
    expect(status).toBe(2)
    expect(stderr).toContain(`The folder of sqlite:${path} does not exist (--session-store names it). Create it`)
    expect(existsSync(join(here(), 'no-such-folder'))).toBe(false)
  })

  test('without its package causes advice how to install it', async () => {
    const ended = await halting(['sessions', '--session-store', 'postgres://ann:hunter2@db/halting'], {
      NODE_PATH: '/nowhere',
    })
    expect(ended.status).toBe(2)
    expect(ended.stderr).not.toContain('hunter2')
  })

  test.each(['mysql://ann:hunter2@db', 'postgres://ann:hunter2@[', 'postgres://ann:hunter2/3@db/x', 'halting.db'])(
    'with an invalid value is refused without repeating it: %s',
    async (value) => {
      const ended = await halting(['sessions', '--session-store', value])
      expect(ended.status).toBe(2)
      expect(ended.stderr).toContain('--session-store must be sqlite:PATH')
      expect(ended.stderr).not.toContain('hunter2')
      writeSettings(value)
      const config = await halting(['config'])
      expect(config.stdout).toContain('sessionStore must be')
      expect(config.stdout).not.toContain('hunter2')
    },
  )

  test('is shown in config without its password', async () => {
    writeSettings('postgres://ann:hunter2@db/halting?sslmode=require')
    const { stdout } = await halting(['config'])
    expect(stdout).toContain('sessionStore = postgres://db/halting')
    expect(stdout).not.toContain('hunter2')
    const env = { HALTING_SESSION_STORE: storeOf() }
    expect((await halting(['config'], env)).stdout).toContain(`sessionStore = ${storeOf()}  HALTING_SESSION_STORE`)
    expect((await halting(['doctor'], env)).stdout).toContain(`${storeOf()}, 0 sessions of this folder`)
  })
})

describe('halting sessions copy', () => {
  test('copies sessions from files to a store, and back', async () => {
    await ask('one', [said('1.')], '--session-id', id)
    const copied = await halting(['sessions', 'copy', '--to', 'sqlite:~/sessions'])
    expect(copied).toMatchObject({ status: 0, stdout: `Copied: 1 session to ${storeOf()}\n` })
    expect(await halting(['sessions', 'copy', id, '--to', storeOf(), '--json'])).toMatchObject({
      status: 0,
      stdout: `${JSON.stringify({ to: storeOf(), copied: [], skipped: [id], failed: [] })}\n`,
    })
    rmSync(join(here(), '.halting'), { recursive: true })
    expect((await halting(['sessions', 'copy', '--all', '--to', 'files', '--session-store', storeOf()])).status).toBe(0)
    expect((await halting(['why', id])).stdout).toContain('completed')
    expect(await ask('two', [said('2.')], '--resume', id)).toMatchObject({ status: 0, stdout: '2.\n' })
  })

  test.each([
    [['sessions', 'copy'], 'halting sessions copy needs --to'],
    [['sessions', 'copy', '--to', 'files'], '--to names the place where the sessions are'],
    [['sessions', 'list', '--to', 'files'], '--to belongs to halting sessions copy'],
    [['-p', 'x', '--to', 'files'], '--to belongs to halting sessions copy'],
  ])('refuses %j', async (args, why) => {
    const ended = await halting(args)
    expect(ended.status).toBe(2)
    expect(ended.stderr).toContain(why)
  })
})
