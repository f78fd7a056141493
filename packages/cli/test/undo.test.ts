// Holds rules of docs/spec: R-UNDO-1 to R-UNDO-8, R-REW-1 to R-REW-5: files and conversations go back, and nothing of anybody else is lost.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { wholeLines } from '@halting/journal'
import { beforeEach, describe, expect, test } from 'vitest'
import { call, here, installProgram, run, script, start, type Ended, projectName } from './support/program.ts'

installProgram()

const id = '5f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const fork = '6f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
let cwd = ''
const at = (name: string): string => join(cwd, name)
const read = (name: string): string | undefined => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined)
const sessionPath = (session = id): string => join(here(), '.halting/projects', projectName(cwd), `${session}.jsonl`)

const halting = (...args: readonly string[]): Promise<Ended> => run(args, { cwd })
const ask = (prompt: string, replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> => {
  const isNew = !existsSync(sessionPath()) && !flags.includes('--resume')
  const where = isNew ? ['--session-id', id] : flags.includes('--resume') ? [] : ['--resume', id]
  const model = ['--script', script(replies, 'claude-haiku-4-5'), '--dangerously-skip-permissions']
  return halting('-p', prompt, ...model, ...where, ...flags)
}
const bash = (command: string): unknown => ({ content: [call('Bash', { command })] })
const write = (name: string, content: string): unknown => ({ content: [call('Write', { file_path: name, content })] })
const done = { content: 'Done.' }

beforeEach(() => {
  rmSync(join(here(), '.halting'), { recursive: true, force: true })
  cwd = mkdtempSync(join(here(), 'project-'))
  writeFileSync(at('old.txt'), 'old\n')
  writeFileSync(at('gone.txt'), 'gone\n')
  chmodSync(at('gone.txt'), 0o750)
})

describe.each(['git', 'no git'])('halting undo in a folder with %s', (kind) => {
  beforeEach(() => {
    if (kind === 'no git') return
    const git = (...args: readonly string[]): Buffer => execFileSync('git', args, { cwd })
    git('init', '-q')
    git('add', '.')
    git('-c', 'user.email=a@b.c', '-c', 'user.name=a', 'commit', '-qm', 'first')
  })

  test('restores changed files, removes new ones and restores deleted ones; --redo reverses that', async () => {
    const commands = 'echo new > old.txt; rm gone.txt; mkdir -p d/e; echo made > d/e/made.txt'
    await ask('go', [bash(commands), write('written/by.txt', 'tool\n'), done])
    expect([read('old.txt'), read('gone.txt'), read('d/e/made.txt'), read('written/by.txt')]).toEqual([
      'new\n',
      undefined,
      'made\n',
      'tool\n',
    ])
    const dry = await halting('undo', '--dry-run')
    expect(dry.status).toBe(0)
    expect(dry.stdout).toContain('--- a/old.txt\n+++ b/old.txt\n@@ -1,1 +1,1 @@\n-new\n+old\n')
    expect(dry.stdout).toContain('diff --git a/d/e/made.txt b/d/e/made.txt\ndeleted file mode 100644\n')
    expect(dry.stdout).toContain('new file mode')
    expect(read('old.txt')).toBe('new\n')

    // A scan also records new folders; git's index has only files.
    const count = kind === 'git' ? '4 files' : '6 files'
    const asked = await halting('undo')
    expect([asked.status, asked.stderr]).toEqual([
      2,
      expect.stringContaining(`This changes ${count}. Add --yes to apply`),
    ])
    // Nothing is done yet.
    expect(asked.stdout).toContain('  remove        d/e/made.txt\n')
    expect(asked.stdout).not.toMatch(/removed|restored|brought/)
    expect(read('old.txt')).toBe('new\n')

    const undone = await halting('undo', '--yes')
    expect([undone.status, undone.stderr]).toEqual([0, ''])
    expect(undone.stdout).toContain(`Reverted: ${count} of run1\n`)
    expect(undone.stdout).toContain('removed       d/e/made.txt')
    expect(undone.stdout).toContain('brought back  gone.txt')
    expect(undone.stdout).toContain('restored      old.txt')
    expect(undone.stdout).toContain(`halting undo ${id} --redo --yes reverses this.\n`)
    expect([read('old.txt'), read('gone.txt'), existsSync(at('d')), existsSync(at('written'))]).toEqual([
      'old\n',
      'gone\n',
      false,
      false,
    ])
    expect(statSync(at('gone.txt')).mode & 0o100).toBe(0o100)

    expect((await halting('undo', id, '--redo', '--yes')).status).toBe(0)
    expect([read('old.txt'), read('gone.txt'), read('d/e/made.txt'), read('written/by.txt')]).toEqual([
      'new\n',
      undefined,
      'made\n',
      'tool\n',
    ])
  })

  test('skips files that somebody else has changed since, says so, and reverts the rest only with --skip-changed', async () => {
    await ask('go', [bash('echo new > old.txt; echo two > gone.txt'), done])
    writeFileSync(at('old.txt'), 'mine\n')
    const refused = await halting('undo', '--yes')
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain('old.txt: it was changed outside of halting since then')
    expect([read('old.txt'), read('gone.txt')]).toEqual(['mine\n', 'two\n'])
    expect((await halting('undo', '--dry-run')).status).toBe(1)
    expect((await halting('undo', '--yes', '--skip-changed')).status).toBe(1)
    expect([read('old.txt'), read('gone.txt')]).toEqual(['mine\n', 'gone\n'])
  })

  test('says that it reverted nothing, and can be repeated later', async () => {
    await ask('go', [bash('echo new > old.txt'), done])
    writeFileSync(at('old.txt'), 'mine\n')
    const skipped = await halting('undo', '--yes', '--skip-changed')
    expect([skipped.status, skipped.stdout]).toEqual([1, 'Nothing was reverted of run1. You can try again later.\n'])
    expect(skipped.stderr).toBe('Not reverted:\n  old.txt: it was changed outside of halting since then\n')
    expect((await halting('undo', '--redo', '--yes')).status).toBe(2)
    writeFileSync(at('old.txt'), 'new\n')
    expect((await halting('undo', '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('old\n')

    writeFileSync(at('old.txt'), 'mine\n')
    const again = await halting('undo', '--redo', '--yes', '--skip-changed')
    expect([again.status, again.stdout]).toEqual([1, expect.stringContaining('Nothing was redone.')])
    writeFileSync(at('old.txt'), 'old\n')
    expect((await halting('undo', '--redo', '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('new\n')
  })

  test('reverts the run before when it is repeated', async () => {
    await ask('one', [bash('echo 1 > old.txt'), done])
    await ask('two', [bash('echo 2 > old.txt'), done])
    await halting('undo', '--yes')
    expect(read('old.txt')).toBe('1\n')
    await halting('undo', '--yes')
    expect(read('old.txt')).toBe('old\n')
    const none = await halting('undo', '--yes')
    expect([none.status, none.stderr]).toEqual([
      2,
      expect.stringContaining(`Session ${id} has no file changes to revert`),
    ])
  })
})

describe('the output of undo and rewind', () => {
  const name = 'a\u001b]0;title\u0007\u202eb\nmade up.txt'
  const hasSteering = ({ stdout, stderr }: Ended): boolean =>
    // oxlint-disable-next-line no-control-regex -- these are looked for
    /[\u0007\u001b\u202e]|^made up/m.test(stdout + stderr)

  test('removes terminal controls from file names', async () => {
    await ask('go', [write(name, 'new\n'), bash('echo new > old.txt'), done])
    const dry = await halting('undo', '--dry-run')
    expect(dry.stdout).toContain('"a/a\\033]0;title\\a\\342\\200\\256b\\nmade up.txt"')
    const printed = [dry, await halting('undo'), await halting('rewind', id, '1'), await halting('undo', '--yes')]
    expect(printed.map(hasSteering)).toEqual([false, false, false, false])
    expect(existsSync(at(name))).toBe(false)
    await halting('undo', '--redo', '--yes')
    writeFileSync(at(name), 'mine\n')
    const refused = [await halting('undo', '--yes'), await halting('undo', '--dry-run')]
    expect(refused.map(({ status }) => status)).toEqual([1, 1])
    expect(refused.map(hasSteering)).toEqual([false, false])
  })

  test('is a diff with such names that git applies', async () => {
    await ask('go', [write(name, 'new\n'), bash("printf 'x\\n' > 'b \"c\\d.txt'"), done])
    const { stdout } = await halting('undo', '--dry-run')
    writeFileSync(join(here(), 'patch'), stdout)
    execFileSync('git', ['apply', '--unsafe-paths', join(here(), 'patch')], { cwd })
    expect([existsSync(at(name)), existsSync(at('b "c\\d.txt'))]).toEqual([false, false])
  })
})

describe('halting undo', () => {
  test.each([
    ['a flag', ['--no-file-checkpoints'], {}],
    ['a setting', ['--settings', '{"fileCheckpointingEnabled":false}'], {}],
    ['a variable', [], { CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1' }],
  ])('has nothing to restore if %s turned it off', async (_by, flags, env: Readonly<Record<string, string>>) => {
    const replies = script([bash('echo new > old.txt'), done], 'claude-haiku-4-5')
    const args = ['-p', 'go', '--script', replies, '--dangerously-skip-permissions', '--session-id', id, ...flags]
    expect((await run(args, { cwd, env })).status).toBe(0)
    expect(read('old.txt')).toBe('new\n')
    expect(existsSync(sessionPath().replace('.jsonl', '/files'))).toBe(false)
    expect((await halting('undo', '--yes')).status).toBe(2)
  })

  test('stores its data privately, outside the project', async () => {
    await ask('go', [write('a.txt', 'x'), bash('echo new > old.txt'), done])
    const kept = sessionPath().replace('.jsonl', '/files')
    expect(statSync(join(kept, 'changes.jsonl')).mode & 0o777).toBe(0o600)
    expect(statSync(kept).mode & 0o777).toBe(0o700)
    expect(existsSync(join(kept, 'waiting'))).toBe(false)
    execFileSync('sh', ['-c', `! find ${kept} -type f -perm /077 | grep .`])
  })

  test.each([
    [['undo', 'deadbeef'], 'No conversation found with session ID: deadbeef'],
    [['undo', '--redo', '--yes'], 'has no undone changes to redo'],
    [['sessions', '--dry-run'], '--dry-run belongs to halting setup, undo and rewind.'],
    [['undo', '--files-only'], '--files-only belongs to halting rewind.'],
    [['rewind', id, '1', '--files-only', '--conversation-only'], 'not both'],
    [['rewind'], 'halting rewind SESSION [MESSAGE]'],
    [['rewind', id, '7', '--yes'], 'Numbers: 1 to 1'],
    [['-p', 'x', '--resume-session-at', 'm'], '--resume-session-at needs --resume ID or --continue.'],
  ])('refuses %j with exit code 2', async (args, message) => {
    await ask('go', [bash('echo new > old.txt'), done])
    const { status, stderr } = await halting(...args)
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  test('and rewind do not wait for another process: they name the process that writes the session', async () => {
    await ask('go', [bash('echo new > old.txt'), done])
    const replies = script([bash(`echo $$ > ${at('pid')}; sleep 30`), done], 'claude-haiku-4-5')
    const args = ['-p', 'x', '--script', replies, '--dangerously-skip-permissions', '--resume', id]
    const other = start(args, { cwd })
    while (!existsSync(at('pid'))) await new Promise((resolve) => setTimeout(resolve, 10))
    try {
      for (const command of [
        ['undo', '--yes'],
        ['rewind', id, '1', '--yes'],
      ])
        expect(await halting(...command)).toMatchObject({
          status: 2,
          stderr: expect.stringContaining(`process ${other.child.pid}`) as string,
        })
    } finally {
      other.child.kill('SIGINT')
      await other.ended
    }
  })
})

describe('halting rewind', () => {
  beforeEach(async () => {
    await ask('first', [bash('echo 1 > old.txt'), done])
    await ask('second', [bash('echo 2 > old.txt; echo b > b.txt'), done])
    await ask('third', [bash('echo 3 > old.txt'), done])
  })

  const shown = async (): Promise<string> => (await halting('sessions', 'show', id)).stdout

  test("lists the user's messages, the newest last", async () => {
    const { status, stdout } = await halting('rewind', id)
    expect([status, stdout]).toEqual([0, '   1  first\n   2  second\n   3  third\n'])
  })

  test('rewinds conversation and files, but not costs', async () => {
    const before = await halting('sessions', '--json')
    const { status, stdout } = await halting('rewind', id, '2', '--yes')
    expect([status, stdout]).toEqual([0, expect.stringContaining('Rewound to before: second')])
    expect([read('old.txt'), read('b.txt')]).toEqual(['1\n', undefined])
    expect(await shown()).toContain('> first')
    expect(await shown()).not.toContain('second')
    const cost = ({ stdout: printed }: Ended): unknown => /"total_cost_usd":([\d.]+)/.exec(printed)?.[1]
    expect(cost(await halting('sessions', '--json'))).toBe(cost(before))
    expect(readFileSync(sessionPath(), 'utf8')).toContain('third')

    // A new run has a new name, and continues after the first.
    await ask('other', [bash('echo 4 > old.txt'), done])
    expect((await halting('rewind', id)).stdout).toBe('   1  first\n   2  other\n')
    await halting('undo', '--yes')
    expect(read('old.txt')).toBe('1\n')
    await halting('undo', '--yes')
    expect(read('old.txt')).toBe('old\n')
  })

  test('keeps the chain of parents valid for other readers', async () => {
    await halting('rewind', id, '2', '--yes', '--conversation-only')
    expect(read('old.txt')).toBe('3\n')
    await ask('other', [done])
    interface Message {
      readonly uuid?: string
      readonly parentUuid?: string | null
      readonly message?: { readonly content: unknown }
    }
    // True: other readers read it this way; tests compare the fields that they read.
    const lines = [...(await wholeLines(sessionPath()))].map((line) => JSON.parse(line) as Message)
    const byUuid = new Map(lines.map((line) => [line.uuid, line]))
    const texts: string[] = []
    for (let line = lines.findLast(({ uuid }) => uuid !== undefined); line !== undefined;)
      [texts[texts.length], line] = [JSON.stringify(line.message?.content), byUuid.get(line.parentUuid ?? 'none')]
    expect(texts.filter((text) => /first|second|third|other/.test(text))).toEqual(['"other"', '"first"'])
  })

  test('leaves the conversation with --files-only, and everything with --dry-run', async () => {
    const dry = await halting('rewind', id, '2', '--dry-run')
    expect([dry.status, read('old.txt')]).toEqual([0, '3\n'])
    expect(dry.stdout).toContain('-3\n+1\n')
    await halting('rewind', id, '2', '--yes', '--files-only')
    expect([read('old.txt'), (await shown()).includes('third')]).toEqual(['1\n', true])
  })

  test('changes nothing at all if somebody else has changed a file', async () => {
    writeFileSync(at('b.txt'), 'mine\n')
    const { status, stderr } = await halting('rewind', id, '2', '--yes')
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('b.txt: it was changed outside of halting since then'),
    ])
    expect([read('old.txt'), read('b.txt'), (await shown()).includes('third')]).toEqual(['3\n', 'mine\n', true])
  })

  test('leaves an empty conversation at the first message, which a prompt starts again', async () => {
    await halting('rewind', id, '1', '--yes')
    expect(read('old.txt')).toBe('old\n')
    const resumed = await halting('-p', '--script', script([done]), '--resume', id)
    expect([resumed.status, resumed.stderr]).toEqual([2, expect.stringContaining('its conversation was rewound')])
    expect((await ask('anew', [done])).status).toBe(0)
    expect((await halting('rewind', id)).stdout).toBe('   1  anew\n')
  })

  test('--resume-session-at rewinds to after a message, in place or in a fork', async () => {
    const [before = ''] = readFileSync(sessionPath(), 'utf8').split('"second"')
    // The last reply before it that an iteration names.
    const message =
      [...before.matchAll(/\["a","([^"]+)",\d+\]/g), ...before.matchAll(/"kind":"assistant","id":"([^"]+)"/g)].at(
        -1,
      )?.[1] ?? ''
    const forked = ['--resume', id, '--fork-session', '--session-id', fork, '--resume-session-at', message]
    expect((await ask('in the fork', [done], ...forked)).status).toBe(0)
    expect((await halting('rewind', fork)).stdout).toBe('   1  first\n   2  in the fork\n')
    expect((await ask('here', [done], '--resume', id, '--resume-session-at', message)).status).toBe(0)
    expect((await halting('rewind', id)).stdout).toBe('   1  first\n   2  here\n')
    const unknown = await ask('x', [done], '--resume', id, '--resume-session-at', fork)
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining(`No message ${fork}`)])
  })

  test('is refused for an unfinished run', async () => {
    const replies = script([bash(`echo $$ > ${at('pid')}; sleep 30`), done], 'claude-haiku-4-5')
    const other = start(['-p', 'x', '--script', replies, '--dangerously-skip-permissions', '--resume', id], { cwd })
    while (!existsSync(at('pid'))) await new Promise((resolve) => setTimeout(resolve, 10))
    other.child.kill('SIGKILL')
    await other.ended
    const { status, stderr } = await halting('rewind', id, '1', '--yes')
    expect([status, stderr]).toEqual([2, expect.stringContaining('did not end')])
    // What the command changed is unknown, and the output says so.
    const undone = await halting('undo', '--dry-run')
    expect(undone.stderr).toContain('a command was interrupted (echo $$ >')
  })
})

test('leaves complete files if undo is killed, and the next one completes it and reverts no more', async () => {
  const count = 400
  const names = Array.from({ length: count }, (_, index) => `f${String(index).padStart(3, '0')}`)
  for (const name of names) writeFileSync(at(name), 'old')
  await ask('one', [bash('echo 1 > old.txt'), done])
  await ask('two', [bash('for f in f*; do printf new > $f; done'), done])
  const killed = start(['undo', '--yes'], { cwd })
  while (read('f010') !== 'old') await new Promise((resolve) => setImmediate(resolve))
  killed.child.kill('SIGKILL')
  await killed.ended
  const contents = names.map(read)
  expect(new Set(contents)).toEqual(new Set(['old', 'new']))
  expect((await halting('undo', '--dry-run')).stderr).toContain('an earlier undo was interrupted')
  const next = await halting('undo', '--yes')
  expect([next.status, next.stderr]).toEqual([0, expect.stringContaining('it is complete now')])
  expect(new Set(names.map(read))).toEqual(new Set(['old']))
  expect([read('old.txt'), readdirSync(cwd).filter((name) => name.endsWith('.tmp'))]).toEqual(['1\n', []])
  expect((await halting('undo', '--redo', '--yes')).status).toBe(0)
  expect(new Set(names.map(read))).toEqual(new Set(['new']))
})

describe('halting undo', () => {
  test('in a fork includes the changes of the original session, and both sessions continue separately (R-SESS-6a)', async () => {
    await ask('first', [bash('echo one > old.txt'), done])
    const fromHere = ['--resume', id, '--fork-session', '--session-id', fork]
    expect((await ask('in the fork', [bash('echo two > old.txt'), done], ...fromHere)).status).toBe(0)
    // The session does not know what the fork did.
    const refused = await halting('undo', id, '--yes')
    expect([refused.status, read('old.txt')]).toEqual([1, 'two\n'])
    expect((await halting('undo', fork, '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('one\n')
    expect((await halting('undo', fork, '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('old\n')
    expect((await halting('undo', fork, '--redo', '--yes')).status).toBe(0)
    expect((await halting('sessions', 'delete', fork, '--yes')).status).toBe(0)
    expect((await halting('undo', id, '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('old\n')
  })

  test('rewinds the files with a fork that goes back to a message of the original session', async () => {
    await ask('first', [bash('echo one > old.txt'), done])
    await ask('second', [bash('echo two > old.txt'), done])
    await ask('in the fork', [done], '--resume', id, '--fork-session', '--session-id', fork)
    expect((await halting('rewind', fork, '2', '--yes')).status).toBe(0)
    expect(read('old.txt')).toBe('one\n')
  })

  test('prints with --json what undo and rewind would do and did', async () => {
    await ask('first', [bash('echo one > old.txt; rm gone.txt'), done])
    const json = async (...args: readonly string[]): Promise<readonly [Ended['status'], unknown]> => {
      const { status, stdout } = await halting(...args, '--json')
      expect(stdout.trimEnd()).not.toContain('\n')
      return [status, JSON.parse(stdout)]
    }
    const files = [
      { path: at('gone.txt'), change: 'brought back' },
      { path: at('old.txt'), change: 'restored' },
    ]
    const printed = { session_id: id, run: 'run1', done: false, files, left: [], unknown: [] }
    expect(await json('undo', '--dry-run')).toEqual([0, { ...printed, diff: expect.stringContaining('-one\n+old\n') }])
    expect(await json('undo')).toEqual([2, printed])
    const [, { messages }] = (await json('rewind', id)) as [number, { messages: readonly { id: string }[] }]
    expect(messages).toEqual([{ number: 1, id: expect.any(String), text: 'first' }])
    const more = { before: { id: messages[0]?.id, text: 'first' }, conversation: true }
    expect(await json('rewind', id, '1')).toEqual([2, { ...printed, run: null, ...more }])
    writeFileSync(at('old.txt'), 'mine\n')
    const left = [{ path: at('old.txt'), why: expect.any(String) }]
    expect(await json('undo', '--yes')).toEqual([1, { ...printed, files: [files[0]], left }])
    expect(await json('undo', '--yes', '--skip-changed')).toEqual([
      1,
      { ...printed, done: true, files: [files[0]], left },
    ])
    expect(await json('rewind', id, '1', '--yes', '--conversation-only')).toEqual([
      0,
      { ...printed, run: null, done: true, files: [], ...more },
    ])
  })
})
