import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  isAlive,
  linesOf,
  run,
  runWithStdout,
  script,
  start,
  stillAlive,
} from './support/program.ts'

installProgram()

let runs = 0

/** A run during a command that sleeps, with the process IDs of the shell and its child. */
async function sleeping(trap = '', format = 'stream-json') {
  const file = join(here(), `pids-${++runs}`)
  const command = `${trap}sleep 300 & sleep 301 & echo $$ $! $(jobs -p) > ${file}; wait; wait; wait; sleep 302`
  const replies = script([{ content: ['I wait.', call('Bash', { command })] }, { content: 'never said' }])
  const running = start([
    '-p',
    'wait',
    '--output-format',
    format,
    '--verbose',
    '--allowedTools',
    'Bash',
    '--script',
    replies,
  ])
  const processIds = (await waitForFileText(file)).split(' ').map(Number)
  expect(processIds.map(isAlive)).toEqual([true, true, true, true])
  return { running, processIds, survivors: () => stillAlive(processIds) }
}

test('stops the run at Ctrl-C with its one result, and leaves no child running', async () => {
  const { running, survivors } = await sleeping()
  running.child.kill('SIGINT')
  const { status, stdout } = await running.ended
  const lines = linesOf(stdout)
  expect(lines.filter(({ type }) => type === 'result')).toHaveLength(1)
  expect(lines.at(-1)).toMatchObject({
    type: 'result',
    subtype: 'error_during_execution',
    is_error: true,
    terminal_reason: 'aborted_tools',
    stop: { category: 'user_requested', forced: true },
  })
  expect({ status, survivors: await survivors() }).toEqual({ status: 130, survivors: [] })
})

test('adds a result to the call that Ctrl-C interrupted', async () => {
  const { running } = await sleeping()
  running.child.kill('SIGINT')
  const users = linesOf((await running.ended).stdout).filter(({ type }) => type === 'user')
  expect(users[0]).toMatchObject({
    message: { content: [{ type: 'tool_result', tool_use_id: 'toolu_scripted_1_1', is_error: true }] },
  })
})

test('prints one line that says why in text mode after Ctrl-C, and one with the resume command', async () => {
  const { running, survivors } = await sleeping('', 'text')
  running.child.kill('SIGINT')
  const { status, stdout, stderr } = await running.ended
  expect({ status, stdout, survivors: await survivors() }).toEqual({ status: 130, stdout: '', survivors: [] })
  expect(stderr).toMatch(
    /\nhalting: aborted_tools: .+ \(1 turn, [^)]+\)\.\nResume: halting -p --resume \S+ Continue\.\n$/,
  )
})

test('exits at once at a second Ctrl-C, and kills what does not stop', async () => {
  const { running, survivors } = await sleeping("trap '' TERM INT; ")
  running.child.kill('SIGINT')
  await running.waitForOutput('"type":"result"').catch(() => undefined)
  running.child.kill('SIGINT')
  const { status } = await running.ended
  expect({ status, survivors: await survivors() }).toEqual({ status: 130, survivors: [] })
})

test('treats two immediate SIGINTs as one Ctrl-C, since npm forwards a signal that the terminal also sends', async () => {
  const { running, survivors } = await sleeping("trap '' TERM INT; ")
  running.child.kill('SIGINT')
  running.child.kill('SIGINT')
  const { status, stdout } = await running.ended
  expect(linesOf(stdout).at(-1)?.type).toBe('result')
  expect({ status, survivors: await survivors() }).toEqual({ status: 130, survivors: [] })
})

test('ends the run cleanly at SIGTERM: an aborted ending, one result, 143', async () => {
  const { running, survivors } = await sleeping()
  running.child.kill('SIGTERM')
  const { status, stdout } = await running.ended
  const results = linesOf(stdout).filter(({ type }) => type === 'result')
  expect(results).toMatchObject([{ terminal_reason: 'aborted_tools' }])
  expect({ status, survivors: await survivors() }).toEqual({ status: 143, survivors: [] })
})

test('keeps the partial reply at Ctrl-C and ends as aborted_streaming', async () => {
  const replies = script([{ content: ['One.', 'Two.'], fault: { kind: 'hang', at: 'within', block: 1 } }])
  const args = [
    '-p',
    'hi',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    '--script',
    replies,
  ]
  const running = start(args)
  await running.waitForOutput('"index":1')
  running.child.kill('SIGINT')
  const { status, stdout } = await running.ended
  expect({ status, last: linesOf(stdout).at(-1) }).toMatchObject({
    status: 130,
    last: { type: 'result', terminal_reason: 'aborted_streaming' },
  })
})

test('detects at the next line that its reader has exited, and abandons the run quietly', async () => {
  const [gate, file] = [join(here(), 'gate'), join(here(), 'pid-behind-the-gate')]
  const wait = `while [ ! -e ${gate} ]; do sleep 0.02; done`
  const replies = script([
    { content: [call('Bash', { command: wait })] },
    { content: ['Still here.', call('Bash', { command: `echo $$ > ${file}; sleep 300` })] },
    { content: 'never said' },
  ])
  const running = start([
    '-p',
    'hi',
    '--output-format',
    'stream-json',
    '--verbose',
    '--allowedTools',
    'Bash',
    '--script',
    replies,
  ])
  await running.waitForOutput('while [')
  const ended = new Promise((resolve) => void running.child.once('exit', resolve))
  running.child.stdout?.destroy()
  writeFileSync(gate, '')
  expect({ code: await ended, stderr: running.stderr() }).toEqual({ code: 141, stderr: '' })
  // The abort may arrive before the second command, or after its start.
  expect(existsSync(file) ? await stillAlive([Number(await waitForFileText(file))]) : []).toEqual([])
})

test.runIf(existsSync('/dev/full'))('fails if the answer cannot be written', () => {
  const replies = script([{ content: 'Lost.' }])
  const file = openSync('/dev/full', 'w')
  const { status, stderr } = runWithStdout(['-p', 'hi', '--script', replies], file)
  closeSync(file)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'halting: stdout cannot be written: ENOSPC: no space left on device, write\n',
  })
})

test('writes a long answer completely, even to a slow pipe', async () => {
  const running = start([
    '-p',
    'hi',
    '--script',
    script([{ content: 'x'.repeat(1_000_000), usage: { output_tokens: 100 } }]),
  ])
  running.child.stdout?.pause()
  setTimeout(() => running.child.stdout?.resume(), 300)
  const { status, stdout } = await running.ended
  expect({ status, length: stdout.length }).toEqual({ status: 0, length: 1_000_001 })
})

test('stops background processes of a finished command on exit', async () => {
  const file = join(here(), 'left-behind')
  const replies = script([
    { content: [call('Bash', { command: `sleep 300 & echo $! > ${file}` })] },
    { content: 'Done.' },
  ])
  const { status } = await run(['-p', 'hi', '--allowedTools', 'Bash', '--script', replies])
  expect({ status, survivors: await stillAlive([Number(await waitForFileText(file))]) }).toEqual({
    status: 0,
    survivors: [],
  })
})

test("removes the demo's folder at Ctrl-C", async () => {
  const running = start(['demo'])
  await running.waitForOutput('I will read')
  running.child.kill('SIGINT')
  await running.ended
  expect(readdirSync(here()).filter((name) => name.startsWith('halting-demo-'))).toEqual([])
})
