// Holds rules of docs/spec: R-WAIT-1, R-WAIT-2, R-WAIT-10, R-WAIT-17: the Wait tool in the program itself.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineWithSum, sessionPath } from './support/store-session.ts'
import { call, here, installProgram, linesOf, run, script, start } from './support/program.ts'

installProgram()

const stream = ['-p', 'go', '--output-format', 'stream-json', '--verbose'] as const
const hour = 3_600_000

test.each([[[]], [['--verbose']]])(
  'waits for a process until it has exited, in one turn; -p %j says for what and until when',
  async (more) => {
    const go = join(here(), `go${more.length}`)
    const replies = script([
      {
        content: [
          call('Bash', { command: `while [ ! -e ${go} ]; do sleep 0.02; done; echo built`, run_in_background: true }),
        ],
      },
      { content: [call('Wait', { task_id: 'bash_1', timeout_seconds: 3_600 })] },
      { expect: 'Ended with exit code 0', content: 'Built.' },
    ])
    const running = start(['-p', 'go', ...more, '--allowedTools', 'Bash', '--script', replies])
    await running.waitForOutput('waiting for bash_1 to end, at most until ')
    writeFileSync(go, '')
    const { status, stdout } = await running.ended
    expect([status, stdout]).toEqual([0, 'Built.\n'])
  },
)

test('informs a host, whose message ends the wait', async () => {
  const replies = script([
    { content: [call('Wait', { seconds: 3_600 })] },
    { expect: 'the user sent a message', content: 'I am here.' },
    { content: 'Yes.' },
  ])
  const message = (content: string): string =>
    `${JSON.stringify({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' })}\n`
  const args = ['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json', '--script', replies]
  const running = start(args, { stdin: { open: true } })
  running.child.stdin?.write(message('wait for me'))
  await running.waitForOutput('"waits_for":"1 h"')
  running.child.stdin?.end(message('are you there?'))
  const { status, stdout } = await running.ended
  const lines = linesOf(stdout)
  expect(lines.find(({ type }) => type === 'tool_progress')).toMatchObject({
    tool_name: 'Wait',
    waits_for: '1 h',
    waits_until_ms: expect.any(Number),
  })
  expect([status, lines.at(-1)?.['type']]).toEqual([0, 'result'])
})

test('waits until the same time after it was killed and resumed', async () => {
  const id = 'aaaaaaaa-2222-4333-8444-0000000000f1'
  const waits = script([{ content: [call('Wait', { seconds: 3_600 })] }])
  const running = start([...stream, '--session-id', id, '--script', waits])
  await running.waitForOutput('"waits_for":"1 h"')
  running.child.kill('SIGKILL')
  expect((await running.ended).status).toBe('SIGKILL')
  // An hour has passed since: the intent record of the step says when the wait started.
  const lines = readFileSync(sessionPath(id), 'utf8').trimEnd().split('\n')
  const moved = lines.map((line) => {
    const earlier = line.replace(
      /"intent":\{"since":(\d+)\}/,
      (_all, since) => `"intent":{"since":${Number(since) - hour}}`,
    )
    return earlier === line ? `${line}\n` : lineWithSum(earlier.replace(/,"sum":"\w+"\}$/, ''))
  })
  expect(moved.filter((line, index) => line !== `${lines[index]}\n`)).toHaveLength(1)
  writeFileSync(sessionPath(id), moved.join(''))
  const resumeScript = script([{ expect: 'Waited 1 h', content: 'It is time.' }])
  const { status, stdout } = await run([
    '-p',
    '--resume',
    id,
    '--output-format',
    'stream-json',
    '--verbose',
    '--script',
    resumeScript,
  ])
  expect([status, linesOf(stdout).at(-1)]).toMatchObject([0, { result: 'It is time.' }])
})

test('runs no part of a command without a rule, and says so in the denial', async () => {
  const replies = script([
    { content: [call('Wait', { command: 'touch ran && false' })] },
    { expect: 'Bash(touch ran)', content: 'Not allowed.' },
  ])
  const { stdout } = await run([...stream, '--script', replies])
  expect(linesOf(stdout).at(-1)).toMatchObject({
    permission_denials: [{ tool_name: 'Wait', tool_input: { command: 'touch ran && false' } }],
  })
  expect(existsSync(join(here(), 'ran'))).toBe(false)
})
