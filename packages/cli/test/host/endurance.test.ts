// Rules: R-HOST-2, R-HOST-3, R-HOST-5a, R-HOST-9.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { endHosts, host, hostArgs, isResult, user } from '../support/host.ts'
import { call, waitForFileText, here, installProgram, linesOf, run, script, stillAlive } from '../support/program.ts'

installProgram()
endHosts()

test('SIGTERM during a run leaves a result line, no processes, and a session that can be resumed', async () => {
  const cwd = mkdtempSync(join(here(), 'project-'))
  const command = 'sleep 300 & echo $$ $! > pids; wait'
  const one = await host([{ content: ['I wait.', call('Bash', { command })] }], { cwd, args: ['--allowedTools=Bash'] })
  one.send(user('wait'), user('more', { priority: 'later' }))
  const processIds = (await waitForFileText(join(cwd, 'pids'))).split(' ').map(Number)
  one.running.child.kill('SIGTERM')
  const { status } = await one.running.ended
  const lines = one.lines()
  expect(lines.filter(isResult)).toHaveLength(1)
  expect(lines.findLast(isResult)).toMatchObject({ terminal_reason: 'aborted_tools', is_error: true })
  expect({ status, survivors: await stillAlive(processIds) }).toEqual({ status: 143, survivors: [] })
  const sessionId = String(lines.findLast(isResult)?.['session_id'])
  const resumed = await run(['-p', 'go on', '--resume', sessionId, '--script', script([{ content: 'Gone on.' }])], {
    cwd,
  })
  expect(resumed).toMatchObject({ status: 0, stdout: 'Gone on.\n' })
})

test('SIGTERM while idle exits immediately, with stdin open', async () => {
  const one = await host([{ content: 'Hello.' }])
  await one.say('hi')
  one.running.child.kill('SIGTERM')
  expect(await one.running.ended).toMatchObject({ status: 143, stderr: '' })
})

test('SIGTERM exits while the session is opening and a server does not respond', async () => {
  const pid = join(mkdtempSync(join(here(), 'server-')), 'pid')
  const silentServer = { command: '/bin/sh', args: ['-c', `echo $$ > ${pid}; exec sleep 300`] }
  const one = await host([], { args: ['--mcp-config', JSON.stringify({ mcpServers: { mute: silentServer } })] })
  one.send(user('hi'))
  const processId = Number(await waitForFileText(pid))
  one.running.child.kill('SIGTERM')
  expect(await one.running.ended).toMatchObject({ status: 143 })
  expect({ asked: one.service.requests, left: await stillAlive([processId]) }).toEqual({ asked: [], left: [] })
})

test('a host that disconnects ends the run', async () => {
  const one = await host([{ content: ['I wait.', call('Bash', { command: 'sleep 300' })] }], {
    args: ['--allowedTools=Bash', '--include-partial-messages'],
  })
  one.send(user('wait'))
  await one.next(({ type }) => type === 'assistant')
  one.running.child.stdout?.destroy()
  one.send({ type: 'control_request', request_id: 'x', request: { subtype: 'mcp_status' } })
  expect((await one.running.ended).status).toBe(141)
})

test('survives any input, and answers each request and the next message', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  const subtype = fc.constantFrom(
    'interrupt',
    'set_model',
    'set_permission_mode',
    'set_max_thinking_tokens',
    'mcp_status',
    'rewind_files',
    'stop_task',
    'apply_flag_settings',
    'cancel_async_message',
    'get_context_usage',
    'nobody',
  )
  const fields = fc.dictionary(
    fc.constantFrom('model', 'mode', 'task_id', 'settings', 'user_message_id'),
    fc.jsonValue(),
  )
  const request = fc.tuple(subtype, fields).map(([name, more]) => ({ ...more, subtype: name }))
  const noise = fc.oneof(
    text.map((line) => line.replaceAll('\n', ' ')),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc
      .record({
        type: fc.constantFrom('control_response', 'control_cancel_request', 'keep_alive', 'x'),
        response: fc.jsonValue(),
      })
      .map((value) => JSON.stringify(value)),
    fc.record({ type: fc.constant('control_request'), request: fc.jsonValue() }).map((value) => JSON.stringify(value)),
  )
  const [lines] = fc.sample(fc.array(fc.oneof(request, noise), { minLength: 300, maxLength: 300 }), 1)
  const one = await host([{ content: 'Hello.' }])
  const ids: string[] = []
  for (const [at, line] of (lines ?? []).entries()) {
    if (typeof line === 'string') {
      one.send(`${line}\n`)
      continue
    }
    ids.push(`f${at}`)
    one.send({ type: 'control_request', request_id: `f${at}`, request: line })
  }
  expect(await one.ask('set_model')).toMatchObject({ subtype: 'success' })
  expect(await one.ask('set_permission_mode', { mode: 'default' })).toMatchObject({ subtype: 'success' })
  expect(await one.ask('set_max_thinking_tokens', { max_thinking_tokens: null })).toMatchObject({ subtype: 'success' })
  expect(await one.say('hi')).toMatchObject({ result: 'Hello.' })
  const { status, lines: allLines } = await one.end()
  expect(status).toBe(0)
  const answered = allLines.flatMap(({ response }) => (isAnswer(response) ? [response.request_id] : []))
  for (const id of ids) expect(answered.filter((one) => one === id)).toHaveLength(1)
})

function isAnswer(response: unknown): response is { readonly request_id: string } {
  return typeof response === 'object' && response !== null && 'request_id' in response
}

test('works with -p before it, and messages piped by a shell', async () => {
  const args = ['-p', ...hostArgs, '--script', script([{ content: 'Hello.' }])]
  const { status, stdout } = await run(args, { stdin: `${JSON.stringify(user('hi'))}\n` })
  expect({ status, last: linesOf(stdout).findLast(isResult) }).toMatchObject({ status: 0, last: { result: 'Hello.' } })
})
