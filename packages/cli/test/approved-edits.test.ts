// Holds rules of docs/spec: R-HAND-7a, R-HAND-7b, R-SESS-7: what the model has seen of files is part of the conversation, whichever process goes on with it.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { call, here, installProgram, run, script, type Ended } from './support/program.ts'

installProgram()

const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const file = (): string => join(here(), 'calc.js')
const notebook = (): string => join(here(), 'plot.ipynb')

beforeEach(() => {
  rmSync(join(here(), '.halting'), { recursive: true, force: true })
  writeFileSync(file(), 'one\ntwo\n')
  writeFileSync(notebook(), JSON.stringify({ nbformat: 4, nbformat_minor: 4, metadata: {}, cells: [cell] }))
})

const cell = { cell_type: 'markdown', metadata: {}, source: ['before'] }
const read = call('Read', { file_path: 'calc.js' })
const edit = call('Edit', { file_path: 'calc.js', old_string: 'two', new_string: '2' })
const write = call('Write', { file_path: 'calc.js', content: 'all new\n' })
const readNotebook = call('Read', { file_path: 'plot.ipynb' })
const editNotebook = call('NotebookEdit', { notebook_path: 'plot.ipynb', cell_id: 'cell-0', new_source: 'after' })
const done = { content: 'Done.' }

const ask = (prompt: string, replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  run(['-p', prompt, '--script', script(replies, 'claude-haiku-4-5'), ...flags])
const resumeSession = (replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  run(['-p', '--script', script(replies, 'claude-haiku-4-5'), '--resume', id, ...flags])

interface Waits {
  readonly stop: { readonly context: { readonly pending: readonly [{ readonly id: string }] } }
}

/** The session waits for an answer to a call, which this gives. */
async function approved(...replies: readonly unknown[]): Promise<void> {
  const { status, stdout } = await ask(
    'change it',
    replies,
    '--session-id',
    id,
    '--on-ask',
    'defer',
    '--output-format',
    'json',
  )
  expect(status).toBe(5)
  // True: the program prints it; a missing field fails below.
  const [waiting] = (JSON.parse(stdout) as Waits).stop.context.pending
  expect((await run(['approve', id, waiting.id])).status).toBe(0)
}

describe('executes an approved call in another process', () => {
  test.each([
    ['Edit', read, edit, (): string => readFileSync(file(), 'utf8'), 'one\n2\n'],
    ['Write', read, write, (): string => readFileSync(file(), 'utf8'), 'all new\n'],
    ['NotebookEdit', readNotebook, editNotebook, (): string => readFileSync(notebook(), 'utf8'), 'after'],
  ])('%s, of a file that was read before', async (_tool, first, change, now, expected) => {
    await approved({ content: [first] }, { content: [change] })
    expect(await resumeSession([done], '--on-ask', 'defer')).toMatchObject({ status: 0, stdout: 'Done.\n' })
    expect(now()).toContain(expected)
  })

  test('Edit, of a file that was read in the same message', async () => {
    await approved({ content: [read, edit] })
    expect((await resumeSession([done], '--on-ask', 'defer')).status).toBe(0)
    expect(readFileSync(file(), 'utf8')).toBe('one\n2\n')
  })

  test('of a partially read file, but not of one that has changed since', async () => {
    const part = call('Read', { file_path: 'calc.js', offset: 2, limit: 1 })
    await approved({ content: [part] }, { content: [edit] })
    writeFileSync(file(), 'ONE\ntwo\n')
    await resumeSession([{ expect: 'has changed since you read it', content: 'I see.' }], '--on-ask', 'defer')
    expect(readFileSync(file(), 'utf8')).toBe('ONE\ntwo\n')
  })
})

describe('applies an answer regardless of the flags of the resume', () => {
  const touch = (name: string) => call('Bash', { command: `touch ${name}` })

  test.each([[[]], [['--permission-mode', 'dontAsk']]])('applies an approval with %j', async (flags) => {
    await approved({ content: [read] }, { content: [edit] })
    expect((await resumeSession([done], ...flags)).status).toBe(0)
    expect(readFileSync(file(), 'utf8')).toBe('one\n2\n')
  })

  test('applies the approval of a plan', async () => {
    const plan = call('ExitPlanMode', { plan: 'Change it.' })
    const flags = ['--session-id', id, '--on-ask', 'defer', '--permission-mode', 'plan', '--output-format', 'json']
    const { stdout } = await ask('plan it', [{ content: [plan] }], ...flags)
    // As above.
    const [waiting] = (JSON.parse(stdout) as Waits).stop.context.pending
    await run(['approve', id, waiting.id])
    const { status } = await resumeSession([{ expect: 'approved the plan', content: 'Done.' }])
    expect(status).toBe(0)
  })

  test('lets deny rules override an approval, and denies calls that were not asked about', async () => {
    rmSync(join(here(), 'two'), { force: true })
    await approved({ content: [touch('one'), touch('two')] })
    await resumeSession([{ expect: 'Denied by the rule', content: 'I see.' }], '--disallowedTools', 'Bash(touch one)')
    expect([existsSync(join(here(), 'one')), existsSync(join(here(), 'two'))]).toEqual([false, false])
  })
})

describe('keeps track of read files', () => {
  const edits = ['--permission-mode', 'acceptEdits'] as const
  const look = (): Promise<Ended> => ask('look', [{ content: [read] }, done], '--session-id', id)

  test('after --continue, after a compaction and in a fork', async () => {
    await look()
    expect((await run(['-p', '/compact', '--script', script([{ content: 'Short.' }]), '--continue'])).status).toBe(0)
    await ask('change it', [{ content: [edit] }, done], '--continue', '--fork-session', ...edits)
    expect(readFileSync(file(), 'utf8')).toBe('one\n2\n')
    // The older conversation has not seen that.
    const again = [{ content: [write] }, { expect: 'has changed since you read it', content: 'I see.' }]
    expect((await ask('again', again, '--resume', id, ...edits)).stdout).toBe('I see.\n')
  })

  test('with files that tools wrote themselves, and after secrets were redacted', async () => {
    const flags = ['--settings', JSON.stringify({ redactSecrets: true }), ...edits]
    writeFileSync(file(), 'key = "AKIAIOSFODNN7EXAMPLE"\ntwo\n')
    await look()
    await ask('change it', [{ content: [edit] }, done], '--resume', id, ...flags)
    const more = call('Edit', { file_path: 'calc.js', old_string: '2', new_string: '3' })
    await ask('more', [{ content: [more] }, done], '--resume', id, ...flags)
    expect(readFileSync(file(), 'utf8')).toBe('key = "AKIAIOSFODNN7EXAMPLE"\n3\n')
  })

  test('does not track a file that was read after the point to which the conversation was rewound', async () => {
    await look()
    expect((await run(['rewind', id, '1', '--yes'])).status).toBe(0)
    const replies = [{ content: [edit] }, { expect: 'has not been read yet', content: 'I see.' }]
    expect((await ask('change it', replies, '--resume', id, ...edits)).stdout).toBe('I see.\n')
    expect(readFileSync(file(), 'utf8')).toBe('one\ntwo\n')
  })
})
