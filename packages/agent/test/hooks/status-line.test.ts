// Spec R-LIM-43 to R-LIM-45: how the command of a status line runs, and what is left of it.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StatusLineCommand, type StatusLineOptions, type StatusLineResult } from '../../src/hooks/index.ts'
import { environmentIn, isBubblewrapThere, makeWorld, sandboxIn } from '../sandbox/world.ts'

const size = { columns: 97, rows: 31 }

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'halting-status-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function commandOf(command: string, more: Partial<StatusLineOptions> = {}): StatusLineCommand {
  const cwd = more.cwd ?? folder()
  const made = new StatusLineCommand({
    command,
    cwd,
    projectDirectory: cwd,
    env: { PATH: process.env['PATH'] },
    ...more,
  })
  onTestFinished(() => made.end())
  return made
}

const printed = async (command: string, more?: Partial<StatusLineOptions>): Promise<StatusLineResult> =>
  commandOf(command, more).run({ session_id: 's1' }, size)

/** Whether the process whose id is in the file is running. */
function runs(path: string): boolean {
  const id = Number(readFileSync(path, 'utf8'))
  try {
    process.kill(id, 0)
    return !readFileSync(`/proc/${id}/stat`, 'latin1').includes(') Z ')
  } catch {
    return false
  }
}

test('gets one line of JSON on stdin, the size and the project in its environment, and no terminal', async () => {
  const cwd = folder()
  expect(await printed('cat; echo "$COLUMNS $LINES $CLAUDE_PROJECT_DIR $PWD"; tty', { cwd })).toEqual({
    kind: 'failed',
    why: 'exit code 1',
  })
  expect(await printed('cat; echo "$COLUMNS $LINES $CLAUDE_PROJECT_DIR $PWD"; tty || true', { cwd })).toEqual({
    kind: 'printed',
    text: `{"session_id":"s1"}\n97 31 ${cwd} ${cwd}\nnot a tty\n`,
  })
  expect(await printed('(: < /dev/tty) 2>/dev/null && echo has one || echo has none')).toEqual({
    kind: 'printed',
    text: 'has none\n',
  })
})

test.each([
  ['one that does not read', 'true', /^printed$/],
  ['one that fails', 'echo half; echo "jq: not found" >&2; echo more >&2; exit 127', /^exit code 127: jq: not found$/],
  ['one that is no program', 'no-such-program-of-anybody', /^exit code 127: .*no-such-program-of-anybody/],
  ['one that kills itself', 'kill -9 $$', /^killed: ended by SIGKILL$/],
  ['one that says what hooks say', 'echo "{\\"async\\": true}"; sleep 60', /for hooks$/],
] as const)('returns a value when %s', async (_what, command, expected) => {
  const result = await printed(command)
  expect(result.kind === 'failed' ? result.why : result.kind).toMatch(expected)
})

test('reads endless output to its end and stores a part', async () => {
  const result = await printed('head -c 3000000 /dev/zero | tr "\\0" x')
  expect(result).toEqual({ kind: 'printed', text: 'x'.repeat(20_000) })
})

test.each([
  ['hangs', 'echo $$ > pid; sleep 60'],
  ['ignores SIGTERM', 'trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done'],
  ['hangs in a child', "sh -c 'echo $$ > pid; sleep 60' & wait"],
])('ends one that %s with its group at its timeout', async (_what, command) => {
  const cwd = folder()
  const result = await printed(command, { cwd, timeoutMs: 400 })
  expect(result).toEqual({ kind: 'failed', why: 'it took longer than 0.4 s and was ended' })
  expect(runs(join(cwd, 'pid'))).toBe(false)
})

test('ends running commands with the session, including background ones', async () => {
  const cwd = folder()
  const command = commandOf('sleep 60 & echo $! > left; [ -e again ] && { echo $$ > pid; sleep 60; }; touch again', {
    cwd,
  })
  await command.run({}, size)
  expect(runs(join(cwd, 'left'))).toBe(true)
  const running = command.run({}, size)
  while (!existsSync(join(cwd, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 10))
  await command.end()
  expect(await running).toEqual({ kind: 'ended' })
  expect([runs(join(cwd, 'pid')), runs(join(cwd, 'left'))]).toEqual([false, false])
  expect(await command.run({}, size)).toEqual({ kind: 'ended' })
})

test('limits background processes of earlier runs', async () => {
  const cwd = folder()
  const command = commandOf('sleep 60 >/dev/null 2>&1 & echo $! > "left-$(ls | wc -l)"', { cwd })
  for (let times = 0; times < 7; times++) await command.run({}, size)
  const left = Array.from({ length: 7 }, (_, at) => runs(join(cwd, `left-${at}`)))
  // Before the last run four were left running.
  expect(left).toEqual([false, false, true, true, true, true, true])
})

test('runs git so that no program of the repository is run, and no lock is taken', async () => {
  const cwd = folder()
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd })
  git('init', '-q')
  writeFileSync(join(cwd, 'file'), 'x')
  git('add', '.')
  writeFileSync(join(cwd, 'evil.sh'), `#!/bin/sh\ntouch ${join(cwd, 'evil')}\n`, { mode: 0o755 })
  git('config', 'core.fsmonitor', join(cwd, 'evil.sh'))
  const result = await printed('git status --porcelain | head -1; echo "$GIT_OPTIONAL_LOCKS"', {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd },
  })
  expect(result).toEqual({ kind: 'printed', text: expect.stringMatching(/^A {2}file\n0\n$/) })
  expect(existsSync(join(cwd, 'evil'))).toBe(false)
})

describe.skipIf(!isBubblewrapThere)('in a sandbox (needs bubblewrap)', () => {
  test('is confined like hooks, and reads the transcript', async () => {
    const world = await makeWorld()
    const sandbox = await sandboxIn(world)
    onTestFinished(() => sandbox.dispose())
    const elsewhere = folder()
    mkdirSync(join(elsewhere, 'sessions'))
    const transcript = join(elsewhere, 'sessions', 's1.jsonl')
    writeFileSync(transcript, 'said\n')
    const result = await printed(`cat ${transcript}; touch ${elsewhere}/escaped 2>/dev/null; true`, {
      cwd: world.project,
      env: environmentIn(world),
      sandbox: () => sandbox,
      readable: [transcript],
    })
    expect(result).toEqual({ kind: 'printed', text: 'said\n' })
    expect(existsSync(join(elsewhere, 'escaped'))).toBe(false)
  })
})
