// Holds rules of docs/spec: R-WORK-8a, R-WORK-12, R-WORK-12a, R-FOLL-6
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StepRecord } from '@halting/core/steps'
import { afterEach, expect, test, vi } from 'vitest'
import { fakeCluster, type FakeCluster } from '../../../restate/test/support/fake-cluster.ts'
import { promptOnCluster } from '../../src/cluster/prompt.ts'
import { workerLog } from '../../src/cluster/worker-log.ts'
import { openWorkerSession } from '../../src/cluster/worker-sessions.ts'
import { Workspaces } from '../../src/cluster/workspaces.ts'
import type { Flags } from '../../src/flags/flags.ts'
import { start } from '../support/program.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

interface Setting {
  readonly folder: string
  readonly cluster: FakeCluster
}

/** A cluster with a worker of this program and a scripted model. */
async function setting(replies: readonly unknown[], flags: Flags = {}, onOpen = (): void => {}): Promise<Setting> {
  const folder = mkdtempSync(join(tmpdir(), 'halting-prompt-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const template = join(folder, 'template')
  mkdirSync(join(template, '.halting', 'commands'), { recursive: true })
  writeFileSync(join(template, '.halting', 'commands', 'count.md'), 'Count the lines of $ARGUMENTS.')
  writeFileSync(join(template, 'notes.txt'), 'one line of notes')
  const script = join(folder, 'script.json')
  writeFileSync(script, JSON.stringify({ replies }))
  const workspaces = new Workspaces({ base: join(folder, 'workspaces'), template })
  const env = { HOME: folder, PATH: process.env['PATH'] }
  const program = programInMemory({ cwd: folder, env })
  const cluster = await fakeCluster({
    open: async (asked) => {
      const session = await openWorkerSession(
        {
          flags: { ...flags, script },
          program,
          log: workerLog({ format: 'text', output: program.output, worker: () => undefined }),
          workspaces,
          refusal: (message) => new Error(message),
        },
        asked,
      )
      onOpen()
      return session
    },
  })
  ends.push(() => cluster.close())
  return { folder, cluster }
}

interface Prompted {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

async function prompt(
  { cluster, folder }: Setting,
  written: string,
  {
    flags = {},
    piped = '',
    isTerminal = false,
  }: { readonly flags?: Flags; readonly piped?: string; readonly isTerminal?: boolean } = {},
): Promise<Prompted> {
  const program = programInMemory({ cwd: folder, env: {}, isTerminal })
  program.stdin.end(piped)
  let err = ''
  const output = { ...program.output, err: (text: string) => void (err += text) }
  const given: Flags = { print: true, cluster: cluster.url, admin: cluster.url, ...flags }
  const exitCode = await promptOnCluster(given, written === '' ? [] : [written], { ...program, output })
  return { exitCode, out: program.written(), err }
}

/** The recorded user messages. */
function promptsIn(records: readonly StepRecord[]): readonly unknown[] {
  return records.flatMap((record) => {
    const added = record.type === 'start' ? record.start.added : record.type === 'lap' ? record.lap.added : []
    return added.flatMap((entry) =>
      entry.kind === 'user' && entry.inboxId !== undefined ? [entry.message.content] : [],
    )
  })
}

const sessionIdIn = ({ err }: Prompted): string => /session (\S+)/.exec(err)?.[1] ?? ''

test('prints the answer and exits like a local session, and continues with another prompt', async () => {
  const given = await setting([{ content: 'Done.' }])
  const first = await prompt(given, 'go')
  expect({ exitCode: first.exitCode, out: first.out }).toEqual({ exitCode: 0, out: 'Done.\n' })
  const sessionId = sessionIdIn(first)
  const second = await prompt(given, 'and on', { flags: { resume: sessionId } })
  expect(second).toEqual({ exitCode: 0, out: 'Done.\n', err: '' })
  expect(promptsIn(await given.cluster.records(sessionId))).toEqual(['go', 'and on'])
  await expect(prompt(given, 'go', { flags: { sessionId } })).rejects.toThrow('is already in use')
  await expect(prompt(given, 'go', { flags: { resume: 'nobody' } })).rejects.toThrow('No conversation found')
})

test('prints only the lines of one run as stream-json, with partial messages if requested', async () => {
  const given = await setting([{ content: 'Done.' }])
  const flags: Flags = { outputFormat: 'stream-json', verbose: true, includePartialMessages: true }
  const { exitCode, out, err } = await prompt(given, 'go', { flags })
  const lines = out
    .trim()
    .split('\n')
    .map((line): string => {
      const { type, subtype } = JSON.parse(line)
      return type === 'system' ? subtype : type
    })
  expect({ exitCode, err, first: lines[0], last: lines.at(-1) }).toEqual({
    exitCode: 0,
    err: '',
    first: 'init',
    last: 'result',
  })
  expect(lines.filter((line) => line === 'assistant' || line === 'result')).toEqual(['assistant', 'result'])
})

test('prints each text once on a terminal, even if its pieces did not arrive', async () => {
  const look = { type: 'tool_use', name: 'Read', input: { file_path: 'notes.txt' } }
  const given = await setting([
    { content: [{ type: 'text', text: 'I shall look.' }, look] },
    { content: 'It is there.' },
  ])
  const { out } = await prompt(given, 'go', { isTerminal: true })
  expect(out.match(/I shall look\.|It is there\./g)).toEqual(['I shall look.', 'It is there.'])
})

test('says after a limit how to continue on the cluster, and continues without a prompt', async () => {
  const look = { content: [{ type: 'tool_use', name: 'Read', input: { file_path: 'notes.txt' } }] }
  const given = await setting([look, { content: 'Read it.' }])
  const first = await prompt(given, 'go', { flags: { maxTurns: 1 } })
  expect(first.exitCode).toBe(3)
  expect(first.err).toContain('max_turns')
  const sessionId = sessionIdIn(first)
  expect(first.err).toContain(`Resume: halting -p --resume ${sessionId} --max-turns 2 --cluster ${given.cluster.url}`)
  const second = await prompt(given, '', { flags: { resume: sessionId, maxTurns: 5 } })
  expect({ exitCode: second.exitCode, out: second.out }).toEqual({ exitCode: 0, out: 'Read it.\n' })
})

test("resolves commands and files in the worker's folder, but not in piped input", async () => {
  const given = await setting([{ content: 'Three.' }, { content: 'One.' }])
  const first = await prompt(given, '/count notes.txt', { piped: '/count me @notes.txt' })
  const sessionId = sessionIdIn(first)
  await prompt(given, 'And @notes.txt?', { flags: { resume: sessionId } })
  const [counted, mentioned] = promptsIn(await given.cluster.records(sessionId))
  expect(counted).toEqual([
    { type: 'text', text: 'Count the lines of notes.txt.' },
    { type: 'text', text: '/count me @notes.txt' },
  ])
  expect(JSON.stringify(mentioned)).toContain('one line of notes')
})

test('prepares a prompt on the next worker if the first one is lost, and adds it to the conversation once', async () => {
  let opened = 0
  const given: Setting = await setting([{ content: 'Three.' }], {}, () => {
    if (++opened < 3) setImmediate(() => given.cluster.kill('5f0c1c6e-6f2d-4a53-9d7b-0d6c2c1f9a11'))
  })
  const sessionId = '5f0c1c6e-6f2d-4a53-9d7b-0d6c2c1f9a11'
  const { exitCode, out } = await prompt(given, '/count notes.txt', { flags: { sessionId } })
  expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'Three.\n' })
  expect(promptsIn(await given.cluster.records(sessionId))).toEqual(['Count the lines of notes.txt.'])
  expect(opened).toBe(3)
})

test.each([
  ['SIGTERM', 143, ['prompt'], 'completed'],
  ['SIGHUP', 129, ['prompt'], 'completed'],
  ['SIGINT', 130, ['prompt', 'interrupt'], 'aborted_tools'],
] as const)(
  'after %s the program exits with %i and requests %j from the session',
  async (signal, code, asked, reason) => {
    // The interrupted work takes longer than any machine needs for this.
    const seconds = signal === 'SIGINT' ? 60 : 1
    const call = { type: 'tool_use', name: 'Bash', input: { command: `sleep ${seconds}; echo slept` } }
    const where = await setting([{ content: [call] }, { content: 'All done.' }], {
      permissionMode: 'bypassPermissions',
    })
    const { cluster } = where
    const running = start(['-p', 'Sleep.', '--session-id', id, '--cluster', cluster.url], { cwd: where.folder })
    const isAt = (is: (record: StepRecord) => boolean): Promise<void> =>
      vi.waitFor(async () => expect((await cluster.records(id)).some(is)).toBe(true), 20_000)
    // A model request also has an intent record.
    await isAt((record) => record.type === 'intent' && record.key.includes('/tool:'))
    running.child.kill(signal)
    const { status, stderr } = await running.ended
    expect([status, cluster.requests.map(({ request }) => request.type)]).toEqual([code, asked])
    const back = `The run continues on the cluster. Resume: halting -p --cluster ${cluster.url} --resume ${id}`
    expect(stderr.includes(back)).toBe(signal !== 'SIGINT')
    await isAt(({ type }) => type === 'end')
    const ends = (await cluster.records(id)).flatMap((record) =>
      record.type === 'end' ? [record.terminal.reason] : [],
    )
    expect(ends).toEqual([reason])
  },
)

const id = '22222222-2222-4222-8222-222222222222'
