// Spec R-SETHOOK-7 to R-SETHOOK-9: a hook that hangs, floods, crashes or leaves something behind is survived.
import { mkdtempSync, readFileSync, rmSync, existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'
import { ModelError } from '@halting/core'
import { answerOf } from '../../src/hooks/hook-answer.ts'
import { HookProcesses } from '../../src/hooks/processes.ts'
import { runCommand, stdoutLimit, type CommandCall, type HookEnd } from '../../src/hooks/run-command.ts'
import { runHook, type EventSource } from '../../src/hooks/run-hook.ts'
import type { ShellHook } from '../../src/hooks/settings.ts'

const cwd = mkdtempSync(join(tmpdir(), 'halting-hooks-'))
let processes = new HookProcesses(100)
afterEach(async () => {
  await processes.dispose()
  processes = new HookProcesses(100)
})
afterAll(() => rmSync(cwd, { recursive: true, force: true }))

const never = new AbortController().signal
const run = (command: string, more: Partial<CommandCall> = {}) =>
  runCommand(
    { command, input: '{"a":1}\n', cwd, env: process.env, timeoutMs: 20_000, signal: never, ...more },
    processes,
  )

/** Whether the process whose id is in the file is running. */
function runs(file: string): boolean {
  try {
    const id = Number(readFileSync(join(cwd, file), 'utf8'))
    process.kill(id, 0)
    return !readFileSync(`/proc/${id}/stat`, 'latin1').includes(') Z ')
  } catch {
    return false
  }
}

test('passes one JSON object to a hook and reads its exit code, stdout and stderr', async () => {
  expect(await run('cat; echo err >&2; exit 3')).toEqual({
    kind: 'exited',
    exitCode: 3,
    stdout: '{"a":1}\n',
    stderr: 'err\n',
  })
})

test.each([
  ['hangs', 'echo $$ > pid; sleep 60'],
  ['ignores SIGTERM', 'trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done'],
  ['hangs in a child', "sh -c 'echo $$ > pid; sleep 60' & wait"],
])('a hook that %s is ended with its group at its timeout', async (_what, command) => {
  const { kind } = await run(command, { timeoutMs: 500 })
  expect([kind, existsSync(join(cwd, 'pid')), runs('pid')]).toEqual(['timed out', true, false])
})

test('a start-up file of the shell does not affect the output of a hook', async () => {
  writeFileSync(join(cwd, '.bashrc'), 'echo hello from the start-up file\n')
  const { stdout } = await run('echo mine', { env: { PATH: process.env['PATH'], HOME: cwd } })
  expect(stdout).toBe('mine\n')
})

test('an abort ends a hook', async () => {
  const { kind } = await run('echo $$ > pid; sleep 60', { signal: AbortSignal.timeout(300) })
  expect([kind, runs('pid')]).toEqual(['aborted', false])
})

test('a child that keeps the pipes open is not awaited, and ends with the session', async () => {
  const ended = await run('sleep 60 & echo $! > pid; echo done')
  expect([ended.kind, ended.stdout, runs('pid')]).toEqual(['exited', 'done\n', true])
  await processes.dispose()
  expect(runs('pid')).toBe(false)
})

test.skipIf(process.platform !== 'linux')('a process that left its group ends with the session', async () => {
  await run("setsid sh -c 'echo $$ > pid; sleep 60' >/dev/null 2>&1 & sleep 0.3")
  expect(runs('pid')).toBe(true)
  await processes.dispose()
  expect(runs('pid')).toBe(false)
})

test('a flood of 100 MB is read, and only its beginning is stored', async () => {
  const { exitCode, stdout } = await run('head -c 100000000 /dev/zero | tr "\\\\0" x')
  expect([exitCode, stdout.length]).toEqual([0, stdoutLimit])
})

test.each([
  ['ten megabytes in one line', 'head -c 10000000 /dev/zero | tr "\\0" x', 'x'],
  ['blanks, which could stand before an answer', 'head -c 200000000 /dev/zero | tr "\\0" " "', ' '],
  ['NUL', 'head -c 3000000 /dev/zero', '\0'],
  ['bytes that are no text', 'head -c 3000000 /dev/zero | tr "\\0" "\\377"', '\uFFFD'],
])('%s: only the beginning is stored, in linear time', async (_what, command, character) => {
  const begun = performance.now()
  const { exitCode, stdout } = await run(command)
  expect([exitCode, stdout.length, stdout.replaceAll(character, '')]).toEqual([0, stdoutLimit, ''])
  expect(performance.now() - begun).toBeLessThan(15_000)
})

test('reports a directory, and a file that may not be run', async () => {
  writeFileSync(join(cwd, 'script'), 'exit 2')
  for (const command of ['/', './script'])
    expect(answerOf('PreToolUse', await run(command))).toEqual({ error: expect.stringMatching(/^exit code 126: /) as unknown })
}) // prettier-ignore

test('reports a command that no system could start', async () => {
  for (const command of ['echo \0', `: ${'x'.repeat(3_000_000)}`]) {
    const hook: ShellHook = { ...common, type: 'command', command }
    expect(answerOf('PreToolUse', await call(hook)).error).toMatch(/^not started: /)
  }
})

test('accepts a hook that closes stdin without reading it', async () => {
  const { kind, exitCode } = await run('exec <&-; sleep 0.1; exit 0', { input: 'x'.repeat(1_000_000) })
  expect([kind, exitCode]).toEqual(['exited', 0])
})

test('reports a hook that crashes, and a missing one', async () => {
  expect(await run('kill -SEGV $$')).toMatchObject({ kind: 'killed', stderr: 'ended by SIGSEGV' })
  expect((await run('/no/such/hook')).exitCode).toBe(127)
  const gone = join(cwd, 'gone')
  const stderr = `the folder ${gone} is not there any more`
  expect(await run('true', { cwd: gone })).toMatchObject({ kind: 'not started', stderr })
})

test('half a JSON is not an answer', async () => {
  const ended = await run('printf \'{"decision":"bl\'; kill -KILL $$')
  expect(answerOf('Stop', ended)).toEqual({ error: 'killed: ended by SIGKILL' })
})

test('does not wait for a hook that declares itself async', async () => {
  const begun = performance.now()
  const { kind } = await run('echo \'{"async":true}\'; echo $$ > pid; sleep 60')
  expect([kind, performance.now() - begun < 10_000]).toEqual(['left', true])
  await processes.dispose()
  expect(runs('pid')).toBe(false)
})

test('reports progress while a hook writes', async () => {
  const progress: string[] = []
  await run('echo one; sleep 1.5; echo two', { onProgress: (stdout) => void progress.push(stdout) })
  expect(progress).toEqual(['one\n'])
})

const common = { matcher: '', timeoutMs: 2_000, async: false }
const input = { hook_event_name: 'PreToolUse', tool_name: 'Bash' }
const call = (hook: ShellHook, ask?: EventSource['ask']) =>
  runHook(
    { hook, input, source: ask === undefined ? { signal: never } : { signal: never, ask } },
    { cwd, env: { TOKEN: 't' }, processes },
  )

test('http: reads the body like the output of a command; any status but 2xx, and silence, decide nothing', async () => {
  const seen: unknown[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      seen.push([request.method, request.headers['authorization'], JSON.parse(body)])
      if (request.url === '/silent') return
      response.statusCode = request.url === '/fails' ? 500 : 200
      response.end('{"decision":"block","reason":"http"}')
    })
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  // It listens at a port.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const hook = (path: string, timeoutMs = 20_000): ShellHook => {
    return { ...common, type: 'http', url: url + path, headers: { authorization: 'Bearer ${TOKEN}' }, timeoutMs }
  }
  try {
    const ends = [await call(hook('/')), await call(hook('/fails')), await call(hook('/silent', 300))]
    expect(ends.map((ended) => answerOf('Stop', ended))).toEqual([
      { block: 'http' },
      { error: expect.stringContaining('HTTP 500') },
      { error: 'it timed out' },
    ])
    expect(seen[0]).toEqual(['POST', 'Bearer t', input])
  } finally {
    server.closeAllConnections()
    server.close()
  }
  expect(answerOf('Stop', await call(hook('/')))).toMatchObject({ error: expect.stringContaining('not started') })
})

test('ends only the hook that takes too long: parallel ones continue, including processes that left its group', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'halting-beside-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const processes = new HookProcesses(100)
  onTestFinished(() => processes.dispose())
  const signal = new AbortController().signal
  const start = (text: string, timeoutMs: number): Promise<HookEnd> =>
    runCommand({ command: text, input: '{}', cwd, env: { PATH: process.env['PATH'] }, timeoutMs, signal }, processes)
  const guard = start('sleep 0.8; echo no >&2; exit 2', 10_000)
  const slow = await start(`(setsid sh -c 'sleep 0.6; touch ${cwd}/escaped' &) ; sleep 30`, 200)
  expect(slow.kind).toBe('timed out')
  expect(await guard).toMatchObject({ kind: 'exited', exitCode: 2, stderr: 'no\n' })
  expect(existsSync(join(cwd, 'escaped'))).toBe(process.platform !== 'linux')
})

test('prompt: a model answers ok or why not; if it cannot be asked nothing is decided, and the reason is reported', async () => {
  const asked: unknown[] = []
  const said = (text: string): HookReply => ({
    kind: 'answered',
    message: {
      role: 'assistant',
      id: 'm',
      model: 'm',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage,
    },
    streamError: null,
  })
  const busy = new ModelError({ kind: 'overloaded', message: 'busy', retryable: true }).toRecord()
  const replies: HookReply[] = [
    said('{"ok": true}'),
    said('Well: {"ok": false, "reason": "no tests"}'),
    said('yes'),
    { kind: 'over_budget' },
    { kind: 'failed', error: busy },
    { kind: 'aborted' },
  ]
  const hook: ShellHook = { ...common, type: 'prompt', prompt: 'Look: $ARGUMENTS' }
  const ends: HookEnd[] = []
  for (const reply of replies) ends.push(await call(hook, async (question) => (asked.push(question), reply)))
  ends.push(await call(hook))
  expect(ends.map((ended) => answerOf('Stop', ended))).toEqual([
    {},
    { block: 'no tests' },
    { error: 'exit code 1: the model did not answer {"ok", "reason"}' },
    { error: 'not started: the budget does not allow asking the model' },
    { error: 'not started: busy' },
    {},
    { error: 'not started: prompt hooks work only for events that the run waits for' },
  ])
  expect(asked[0]).toEqual({
    system: '',
    messages: [{ role: 'user', content: expect.stringContaining(`Look: ${JSON.stringify(input)}`) }],
    maxOutputTokens: 1_000,
    timeoutMs: common.timeoutMs,
  })
})

type HookReply = Awaited<ReturnType<NonNullable<EventSource['ask']>>>
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
