// Holds rules of docs/spec: R-BACK-1 to R-BACK-8.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  isAlive,
  type Line,
  linesOf,
  run,
  type RunOptions,
  script,
  start,
  stillAlive,
} from './support/program.ts'

installProgram()

let runs = 0
const fresh = (name: string): string => join(here(), `${name}-${++runs}`)

const inBackground = (command: string) => ({ content: [call('Bash', { command, run_in_background: true })] })

/** Waits until a file exists, then exits. */
const untilThere = (file: string): string => `while [ ! -e ${file} ]; do sleep 0.02; done`

const argumentsFor = (format: string, replies: string, more: readonly string[] = []): readonly string[] => [
  '-p', 'go', '--output-format', format, '--verbose', '--allowedTools', 'Bash', '--script', replies, ...more,
] // prettier-ignore

const started = (format: string, replies: readonly unknown[], more: readonly string[] = [], options: RunOptions = {}) =>
  start(argumentsFor(format, script(replies), more), options)

const subtypes = (lines: readonly Line[]): readonly string[] =>
  lines.flatMap(({ type, subtype }) => (type === 'system' && subtype !== undefined ? [subtype] : []))

const messagesOf = (lines: readonly Line[]): readonly unknown[] =>
  lines.flatMap((line) => (line.subtype === 'informational' ? [line['message']] : []))

function endsLater(processId: number): number {
  onTestFinished(() => {
    if (isAlive(processId)) process.kill(processId, 'SIGKILL')
  })
  return processId
}

async function becomesTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('waits for background commands, reports their end to the model, and prints the answer to this report', async () => {
  const go = fresh('go')
  const running = started('stream-json', [
    inBackground(`${untilThere(go)}; exit 3`),
    { content: 'A moment.' },
    { content: 'It failed.' },
  ])
  await running.waitForOutput('Waiting for background tasks.')
  writeFileSync(go, '')
  const { status, stdout } = await running.ended
  const lines = linesOf(stdout)
  const about = lines.filter(({ subtype }) => subtype?.startsWith('task_') === true)
  const id = about[0]?.['tool_use_id']
  expect(about).toMatchObject([
    { subtype: 'task_started', task_id: 'bash_1', tool_use_id: id },
    { subtype: 'task_notification', task_id: 'bash_1', tool_use_id: id, status: 'failed', output_file: '' },
  ])
  expect([typeof id, about[0]?.['description']]).toEqual(['string', expect.stringContaining('while [ ! -e ')])
  expect(lines.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'It failed.', num_turns: 3 })
  expect(status).toBe(0)
})

test('waits without a time limit as long as HALTING_BACKGROUND_WAIT_MS says; with json, lists stopped commands on stderr', async () => {
  const file = fresh('pid')
  const replies = script([inBackground(`echo $$ > ${file}; exec sleep 300`), { content: 'Done.' }])
  const flags = ['-p', 'go', '--output-format', 'json', '--allowedTools', 'Bash', '--script', replies]
  const { status, stdout, stderr } = await run(flags, { env: { HALTING_BACKGROUND_WAIT_MS: '30' } })
  const id = Number(await waitForFileText(file))
  expect({ status, survivors: await stillAlive([id]) }).toEqual({ status: 0, survivors: [] })
  expect(JSON.parse(stdout)).toMatchObject({ type: 'result', result: 'Done.' })
  expect(stderr).toMatch(/^halting: Stopped when the run ended: bash_1 "echo \$\$ > .*exec sleep 300"\.\n$/)
})

test('lists stopped commands on stderr in text mode', async () => {
  const replies = script([inBackground('exec sleep 300'), { content: 'Done.' }])
  const flags = ['-p', 'go', '--allowedTools', 'Bash', '--background', 'stop', '--script', replies]
  expect(await run(flags)).toEqual({
    status: 0,
    stdout: 'Done.\n',
    stderr: '! Stopped when the run ended: bash_1 "exec sleep 300".\n',
  })
})

test('reads the setting from user settings but not from the project, and informs the next run of stopped commands', async () => {
  const id = '6f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e92'
  const replies = [inBackground('exec sleep 300'), { content: 'Done.' }]
  const one = await started('stream-json', replies, ['--settings', '{"background":"stop"}', '--session-id', id]).ended
  expect(messagesOf(linesOf(one.stdout))).toEqual(['Stopped when the run ended: bash_1 "exec sleep 300".'])
  const two = await started('stream-json', [{ content: 'I see.' }], ['--resume', id]).ended
  expect(linesOf(two.stdout).filter(({ subtype }) => subtype === 'task_notification')).toMatchObject([
    { task_id: 'bash_1', status: 'stopped', summary: '"exec sleep 300" was stopped when the previous run ended.' },
  ])
  const cwd = fresh('project')
  mkdirSync(join(cwd, '.halting'), { recursive: true })
  writeFileSync(join(cwd, '.halting/settings.json'), '{"background":"keep"}')
  const env = { HALTING_BACKGROUND_WAIT_MS: '30' }
  const three = await started('stream-json', replies, ['--trust'], { env, cwd }).ended
  expect(messagesOf(linesOf(three.stdout))).toEqual([
    'Waiting for background tasks.',
    'Stopped when the run ended: bash_1 "exec sleep 300".',
  ])
})

test('with keep, lets the command outlive the program, writes its output to the named file, and does not wait', async () => {
  const go = fresh('go')
  const file = fresh('pid')
  const command = `echo $$ > ${file}; echo first; ${untilThere(go)}; echo second; echo fine > ${file}`
  const { status, stdout, stderr } = await started(
    'stream-json',
    [inBackground(command), { content: 'Allowed.' }],
    ['--background', 'keep'],
  ).ended
  const id = endsLater(Number(await waitForFileText(file)))
  const lines = linesOf(stdout)
  expect([status, stderr, isAlive(id), subtypes(lines).filter((each) => each.startsWith('task_'))]).toEqual([
    0,
    '',
    true,
    ['task_started'],
  ])
  const [reported] = messagesOf(lines)
  expect(reported).toContain(`Still running: bash_1 "echo $$ > ${file}`)
  const [, log = ''] = /output to (\S+)\)\.$/.exec(String(reported)) ?? []
  onTestFinished(() => rmSync(log, { force: true }))
  writeFileSync(go, '')
  await becomesTrue(() => readFileSync(file, 'utf8') === 'fine\n' && readFileSync(log, 'utf8').endsWith('second\n'))
})

test.runIf(process.platform === 'linux')(
  'names a detached command, which may outlive the program and write into its closed pipe',
  async () => {
    const [go, pid, written] = [fresh('go'), fresh('pid'), fresh('written')]
    const server = `setsid bash -c 'echo $$ > ${pid}; ${untilThere(go)}; echo up && echo fine > ${written}' & while [ ! -s ${pid} ]; do sleep 0.02; done`
    const replies = [{ content: [call('Bash', { command: server })] }, { content: 'The server is up.' }]
    const { status, stdout } = await started('stream-json', replies).ended
    const id = endsLater(Number(await waitForFileText(pid)))
    expect([status, isAlive(id)]).toEqual([0, true])
    expect(messagesOf(linesOf(stdout))).toEqual([
      expect.stringMatching(RegExp(`^Still running: processes detached by ".*" \\(process(es)? .*\\b${id}\\b`)),
    ])
    writeFileSync(go, '')
    await becomesTrue(() => existsSync(written))
  },
)

test('prints one result and stops the named command on SIGTERM during the wait', async () => {
  const file = fresh('pid')
  const running = started(
    'stream-json',
    [inBackground(`sleep 300 & echo $$ $! > ${file}; wait`), { content: 'A moment.' }],
    ['--background', 'wait'],
  )
  await running.waitForOutput('Waiting for background tasks.')
  const ids = (await waitForFileText(file)).split(' ').map(Number)
  running.child.kill('SIGTERM')
  const { status, stdout } = await running.ended
  const lines = linesOf(stdout)
  expect(lines.at(-1)).toMatchObject({ type: 'result', terminal_reason: 'aborted_streaming' })
  expect(messagesOf(lines).at(-1)).toMatch(/^Stopped when the run ended: bash_1 /)
  expect(lines.filter(({ subtype }) => subtype === 'task_notification')).toMatchObject([{ status: 'stopped' }])
  expect({ status, survivors: await stillAlive(ids) }).toEqual({ status: 143, survivors: [] })
})

test('resumes after a kill during the wait: informs the model that the command is lost, and does not reuse IDs', async () => {
  const file = fresh('pid')
  const env = { HALTING_BACKGROUND_WAIT_MS: '30' }
  const sessionId = '6f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e90'
  const other = expect.stringMatching(/^bash_[0-9a-f]{6}_1$/)
  const waiting = started(
    'stream-json',
    [inBackground(`echo $$ > ${file}; exec sleep 300`), { content: 'A moment.' }],
    ['--session-id', sessionId],
  )
  await waiting.waitForOutput('Waiting for background tasks.')
  const id = endsLater(Number(await waitForFileText(file)))
  waiting.child.kill('SIGKILL')
  await waiting.ended
  const replies = script([inBackground('exit 0'), { content: 'Started again.' }, { content: 'I see.' }])
  const { stdout } = await run(
    ['-p', '--resume', sessionId, ...argumentsFor('stream-json', replies).slice(2), 'go on'],
    {
      env,
    },
  )
  const lines = linesOf(stdout)
  const reported = lines.filter(({ subtype }) => subtype === 'task_notification' || subtype === 'task_started')
  expect(reported.map((line) => [line['task_id'], line.subtype, line['status']])).toEqual([
    ['bash_1', 'task_notification', 'stopped'],
    [other, 'task_started', undefined],
    [other, 'task_notification', 'completed'],
  ])
  const summary = String(reported[0]?.['summary'])
  expect(summary).toContain('is lost: the process that ran it no longer exists.')
  // The program was killed and could not stop its commands, which it reports where possible.
  const fate = process.platform === 'linux' ? `kill -- -${id}` : 'unknown'
  expect(summary).toContain(fate)
})
