// Holds rules of docs/spec: R-GOAL-30 to R-GOAL-34.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { commandGoal, type CommandGoalOptions } from '@halting/agent'
import { AgentState, type GoalContext, type GoalVerdict } from '@halting/core'
import { sandboxSettingsOf } from '@halting/policy'
import { openSandbox } from '@halting/agent/sandbox'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OutputTail } from '../../src/goals/run-check.ts'
import { supervisor } from '../../src/goals/run-check.ts'
import { unusableCommand } from '../../src/goals/unusable-command.ts'
import { folderInSight, isBubblewrapThere } from '../sandbox/world.ts'
import { isDeep } from '../support/deep.ts'
import { temporaryFolder, until } from '../support/harness.ts'

function contextOf(signal: AbortSignal): GoalContext {
  const ask = (): Promise<never> => Promise.reject(new Error('a command asks no model'))
  return { signal, idempotencyKey: 'k', state: AgentState.empty(), changes: undefined, ask }
}

async function check(
  command: string,
  options: CommandGoalOptions = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<GoalVerdict> {
  return commandGoal(command, { cwd: temporaryFolder(), ...options }).check(contextOf(signal))
}

/** Processes with these words as arguments; only searched on Linux. */
function processesOf(...words: readonly string[]): readonly string[] {
  if (process.platform !== 'linux') return []
  const wanted = `${words.join('\0')}\0`
  return execFileSync('ls', ['/proc'], { encoding: 'utf8' })
    .split('\n')
    .filter((id) => {
      try {
        return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, 'latin1').endsWith(wanted)
      } catch {
        return false
      }
    })
}

let naps = 0
/** A number of seconds that no other test sleeps, which identifies running processes. */
const nap = (): string => `${3000 + process.pid}.${(naps += 1)}`

describe('the verdict', () => {
  test('is met only for exit code 0, and has both outputs in order', async () => {
    expect(await check('echo one; echo two >&2; echo three')).toEqual({
      met: true,
      exitCode: 0,
      report: 'one\ntwo\nthree',
    })
    expect(await check('echo no; exit 3')).toEqual({ met: false, exitCode: 3, report: 'no' })
  })

  test('fails if the first part of a pipe fails', async () => {
    expect(await check('false | cat')).toMatchObject({ met: false, exitCode: 1 })
    expect(await check('(echo broken; exit 7) | tail -n 5')).toEqual({ met: false, exitCode: 7, report: 'broken' })
  })

  test('is not met for a command that bash cannot parse, and says so', async () => {
    const verdict = await check('if true; then')
    expect(verdict).toMatchObject({ met: false, exitCode: 2 })
    expect(verdict.report).toMatch(/syntax error|unexpected end of file/)
  })

  test('comes from the given folder, whatever this process does', async () => {
    const cwd = temporaryFolder()
    expect((await check('pwd -P', { cwd })).report).toBe(cwd)
  })

  test('gives the command no input', async () => {
    expect(await check('read line; echo "code $?"; cat')).toEqual({ met: true, exitCode: 0, report: 'code 1' })
  })

  test('runs without API keys, and with the other variables', async () => {
    process.env['ANTHROPIC_API_KEY'] = 'sk-ant-secret'
    process.env['OF_THE_PERSON'] = 'there'
    onTestFinished(() => void (delete process.env['ANTHROPIC_API_KEY'], delete process.env['OF_THE_PERSON']))
    expect((await check('echo "[$ANTHROPIC_API_KEY][$OF_THE_PERSON]"')).report).toBe('[][there]')
  })

  test('runs the file of BASH_ENV once, and has exported functions', async () => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'env.sh'), 'echo sourced\n')
    const env = { PATH: process.env['PATH'], BASH_ENV: join(cwd, 'env.sh'), 'BASH_FUNC_own%%': '() { echo own; }' }
    expect(await check('own', { cwd, env })).toMatchObject({ met: true, report: 'sourced\nown' })
  })
})

describe('the processes of a command', () => {
  test('may kill only their own bash as parent', async () => {
    expect(await check('kill $PPID; sleep 1; true')).toMatchObject({ met: false, exitCode: null })
    expect(await check('kill -9 $PPID; sleep 1')).toMatchObject({ met: false, exitCode: null })
    expect((await check('kill -9 0')).report).toContain('SIGKILL')
    expect(await check('kill -9 $$')).toMatchObject({ met: false, exitCode: 137 })
  })

  test('end with it, including a daemon that has left its group and keeps the pipe open', async () => {
    const seconds = nap()
    const began = performance.now()
    expect(await check(`setsid sleep ${seconds} & sleep ${seconds} & echo up`)).toMatchObject({
      met: true,
      report: 'up',
    })
    expect(performance.now() - began).toBeLessThan(5000)
    expect(processesOf('sleep', seconds)).toEqual([])
  })

  test('end on abort, including those that ignore SIGTERM', async () => {
    const seconds = nap()
    const abort = new AbortController()
    setTimeout(() => abort.abort(), 300)
    const command = `trap '' TERM; setsid sleep ${seconds} & sleep ${seconds}; sleep ${seconds}`
    const verdict = await check(command, {}, abort.signal)
    expect(verdict).toMatchObject({ met: false, exitCode: null })
    expect(processesOf('sleep', seconds)).toEqual([])
  })

  test('do not start after an abort', async () => {
    const cwd = temporaryFolder()
    expect(await check('touch ran', { cwd }, AbortSignal.abort())).toMatchObject({ met: false })
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
  })

  test.runIf(process.platform === 'linux')('end when the program is killed', async () => {
    const seconds = nap()
    const mark = `mark-${seconds}`
    const script = `const [supervisor, command, mark] = process.argv.slice(1)
      require('node:child_process').spawn('bash', ['-p', '-c', supervisor, 'bash', command, mark], {
      detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] }); setTimeout(() => {}, 60000)`
    // One process leaves the group and keeps the environment.
    const command = `trap '' TERM; (setsid sleep ${seconds} &); sleep ${seconds}; sleep ${seconds}`
    const program = spawn(process.execPath, ['-e', script, supervisor, command, mark], {
      stdio: 'ignore',
      env: { ...process.env, HALTING_CALL: mark },
    })
    onTestFinished(() => void program.kill('SIGKILL'))
    await until(() => processesOf('sleep', seconds).length === 2)
    program.kill('SIGKILL')
    await until(() => processesOf('sleep', seconds).length === 0)
    expect(processesOf('sleep', seconds)).toEqual([])
  })

  test('do not see the descriptors of the supervisor', async () => {
    expect(await check('[ -e /proc/$$/fd/1 ] && [ ! -e /proc/$$/fd/3 ]')).toMatchObject({
      met: process.platform === 'linux',
    })
  })
})

describe('output', () => {
  const bytes = isDeep ? 1024 ** 3 : 64 * 1024 ** 2
  test(`of ${bytes / 1024 ** 2} MB takes no memory, and its end is the report`, async () => {
    const before = process.memoryUsage().rss
    let most = before
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20)
    const verdict = await check(
      `yes 'a line of a program that never stops' | head -c ${bytes}; echo; echo the end; exit 1`,
    )
    clearInterval(timer)
    const lines = verdict.report?.split('\n') ?? []
    expect(verdict.exitCode).toBe(1)
    expect(lines).toHaveLength(200)
    expect(lines.at(-1)).toBe('the end')
    expect((most - before) / 1024 ** 2).toBeLessThan(150)
  })

  test('has no escape sequences and the last state of each line', () => {
    const tail = new OutputTail()
    tail.append(
      Buffer.from('\u001B[31mred\u001B[0m\r\n 1%\r 50%\r100%\n\u001B]8;;http://x\u0007link\u001B]8;;\u0007\u0000\n'),
    )
    expect(tail.text()).toBe('red\n100%\nlink')
  })

  test('never exceeds its limits, and is the end of what was written', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 400 }), (lines) => {
        const tail = new OutputTail()
        for (const line of lines) tail.append(Buffer.from(`${line.replaceAll(/[\p{C}]/gu, '')}\n`))
        const text = tail.text()
        expect(text.length).toBeLessThanOrEqual(16_000)
        expect(text.split('\n').length).toBeLessThanOrEqual(200)
        const all = lines
          .map((line) => line.replaceAll(/[\p{C}]/gu, ''))
          .join('\n')
          .trimEnd()
        expect(all.endsWith(text)).toBe(true)
      }),
    )
  })

  test('never shows half a secret', () => {
    const tail = new OutputTail()
    tail.append(Buffer.from(`${'x'.repeat(2 * 1024 ** 2)}SECRET\nthe end\n`))
    expect(tail.text((text) => text.replaceAll(/x*SECRET/g, '[redacted]'))).not.toContain('SECRET')
  })
})

describe('checks in one folder', () => {
  test('run one after another, even under another name of the folder', async () => {
    const cwd = temporaryFolder()
    const link = join(temporaryFolder(), 'link')
    symlinkSync(cwd, link)
    const command = 'mkdir busy || exit 9; sleep 0.2; rmdir busy'
    const verdicts = await Promise.all([cwd, link, cwd].map((folder) => check(command, { cwd: folder })))
    expect(verdicts.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
  })

  test('run in parallel to those of other folders', async () => {
    const began = performance.now()
    await Promise.all([check('sleep 0.8'), check('sleep 0.8'), check('sleep 0.8')])
    expect(performance.now() - began).toBeLessThan(2200)
  })

  test('wait for another process until the time is up', async () => {
    const cwd = temporaryFolder()
    const { takeLock } = await import('@halting/journal/files')
    const { lockPath } = await import('../../src/goals/folder-lock.ts')
    const other = await takeLock(lockPath(cwd) ?? '')
    if (other.kind !== 'locked') throw new Error('nobody else has it')
    const held = check('echo ran', { cwd }, AbortSignal.timeout(500))
    expect(await held).toMatchObject({
      met: false,
      exitCode: null,
      report: expect.stringContaining(`process ${process.pid}`),
    })
    const later = check('echo ran', { cwd })
    await wait(100)
    await other.release()
    expect(await later).toMatchObject({ met: true, report: 'ran' })
  })
})

test('a check that checks goals in its own folder does not wait for itself', async () => {
  const cwd = temporaryFolder()
  const { report } = await check('echo "$HALTING_CHECKED_FOLDER"', { cwd })
  expect(report).toBe(cwd)
  const { takeLock } = await import('@halting/journal/files')
  const { lockPath } = await import('../../src/goals/folder-lock.ts')
  // As in the process of such a check.
  const outer = await takeLock(lockPath(cwd) ?? '')
  process.env['HALTING_CHECKED_FOLDER'] = report
  onTestFinished(async () => {
    delete process.env['HALTING_CHECKED_FOLDER']
    if (outer.kind === 'locked') await outer.release()
  })
  expect(await check('echo ran', { cwd }, AbortSignal.timeout(20_000))).toMatchObject({ report: 'ran' })
})

describe('a goal that cannot be a command', () => {
  const cwd = process.cwd()
  const env = { PATH: process.env['PATH'] }
  const validCommands = [
    'ls',
    './check.sh',
    'scripts/check.sh --all',
    'bash check.sh',
    'cd packages && no-such-program',
    'X=1 ls',
    'timeout 5 ls',
    'if no-such-program; then true; fi',
    '[ -f done ]',
    '[[ -f done ]]',
    'test -f done',
    '$PROGRAM',
    'f() { ls; }; f',
    '! grep -q TODO file',
    '! no-such-program',
    'no-such-program || true',
    'no-such-program; true',
    'no-such-program & true',
    '(ls)',
    'for x in a b; do ls; done',
    "'unterminated",
  ]
  test.each(validCommands)('accepts %s', (command) => {
    expect(unusableCommand(command, cwd, env)).toBeUndefined()
  })

  const unusable = [
    'no-such-program',
    'no-such-program --all 2>&1 | cat && ls',
    'timeout 5 no-such-program',
    '/no/such/path',
    '../no/such',
    ' ',
  ]
  test.each(unusable)('rejects %s before it runs', (command) => {
    expect(unusableCommand(command, cwd, env)).toMatch(/not a command|empty/)
  })

  test('is reported at its exit if its word is not found; a missing program after another one is unmet', async () => {
    expect(await check('no-such-program', { cwd })).toMatchObject({
      exitCode: 127,
      unusable: expect.stringContaining('not found'),
    })
    expect((await check('bash -c no-such-program', { cwd })).unusable).toBeUndefined()
    expect((await check('./not-yet.sh', { cwd })).unusable).toBeUndefined()
  })

  test('includes every command without bash, and in a missing folder', async () => {
    expect(unusableCommand('ls', cwd, { PATH: temporaryFolder() })).toContain('Install bash')
    expect(await check('ls', { cwd, env: { PATH: temporaryFolder() } })).toMatchObject({
      met: false,
      unusable: expect.stringContaining('Install bash'),
    })
    expect(await check('ls', { cwd: join(cwd, 'gone') })).toMatchObject({
      met: false,
      unusable: expect.stringContaining('does not exist'),
    })
  })

  test('is rejected if blank or with NUL', () => {
    expect(() => commandGoal('  ')).toThrow('empty')
    expect(() => commandGoal('a\0b')).toThrow('NUL')
  })
})

describe.skipIf(!isBubblewrapThere)('in the sandbox (needs bubblewrap)', () => {
  test('a check writes only in its project, and ends with processes that left its group and environment', async () => {
    const base = folderInSight()
    const project = join(base, 'project')
    mkdirSync(project)
    const sandbox = await openSandbox({
      cwd: project,
      directories: [project],
      home: '/nobody',
      settings: sandboxSettingsOf([{ enabled: true }]),
    })
    onTestFinished(() => sandbox.dispose())
    const options = { cwd: project, sandbox: () => sandbox }
    expect(await check('echo a > inside && ! echo a > ../outside', options)).toMatchObject({ met: true })
    expect(existsSync(join(project, 'inside'))).toBe(true)
    expect(existsSync(join(base, 'outside'))).toBe(false)
    const seconds = nap()
    expect(await check(`env -i setsid sleep ${seconds} & echo up; kill $PPID; sleep 1`, options)).toMatchObject({
      met: false,
    })
    expect(await check(`env -i setsid sleep ${seconds} & echo up`, options)).toMatchObject({ met: true })
    await until(() => processesOf('sleep', seconds).length === 0)
  })
})
