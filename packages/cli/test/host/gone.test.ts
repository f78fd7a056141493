// Spec R-HOST-4b, R-HOST-3a, R-HOST-9, R-HOST-10: a host that goes while it is asked something.
import { existsSync, mkdtempSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endHosts, host, isResult, user } from '../support/host.ts'
import { call, here, installProgram, type Line } from '../support/program.ts'

installProgram()
endHosts()

const touch = { content: ['I make it.', call('Bash', { command: 'touch made' })] }
const done = { content: 'Done.' }
const isQuestion = ({ type, request }: Line): boolean =>
  type === 'control_request' && JSON.stringify(request).includes('can_use_tool')

async function runAndClose(replies: readonly unknown[], initialize: object = {}) {
  const cwd = realpathSync(mkdtempSync(join(here(), 'gone-')))
  const one = await host(replies, { cwd, args: ['--permission-prompt-tool', 'stdio'] })
  await one.ask('initialize', initialize)
  one.send(user('go'))
  await one.next(isQuestion)
  return { one, hasMade: () => existsSync(join(cwd, 'made')) }
}

test('the end of stdin denies what nobody can answer, and the run continues to its end', async () => {
  const { one, hasMade } = await runAndClose([touch, done])
  const { status, lines } = await one.end()
  expect([status, hasMade(), lines.filter(isResult)]).toEqual([
    0,
    false,
    [expect.objectContaining({ subtype: 'success', result: 'Done.' })],
  ])
  expect(one.service.requests[1]?.text).toContain('can no longer answer')
})

test('a second initialize reports the requests that wait for an answer', async () => {
  const { one } = await runAndClose([touch, done])
  await one.ask('initialize')
  const question = one.lines().find(isQuestion)
  const answers = one.lines().filter(({ type }) => type === 'control_response')
  expect(answers.at(-1)).toMatchObject({ response: { pending_permission_requests: [question] } })
  expect(question).toBeDefined()
})

test('a signal withdraws the question: the run has a result, and the program exits', async () => {
  const { one, hasMade } = await runAndClose([touch, done])
  one.running.child.kill('SIGTERM')
  const { status } = await one.running.ended
  expect([status, hasMade(), one.lines().filter(isResult)]).toEqual([
    143,
    false,
    [expect.objectContaining({ terminal_reason: 'aborted_tools', is_error: true })],
  ])
})

test('ignores an answer that was not requested, or was already given', async () => {
  const { one, hasMade } = await runAndClose([touch, done])
  const question = one.lines().find(isQuestion)
  const answer = (id: unknown, response: object) => ({
    type: 'control_response',
    response: { subtype: 'success', request_id: id, response },
  })
  one.send(
    answer('nobody', { behavior: 'allow' }),
    answer(question?.['request_id'], { behavior: 'deny', message: 'not now' }),
    answer(question?.['request_id'], { behavior: 'allow' }),
  )
  await one.next(isResult)
  const { status } = await one.end()
  expect([status, hasMade()]).toEqual([0, false])
  expect(one.service.requests[1]?.text).toContain('not now')
})

test.each([
  [{ behavior: 'maybe' }, 'but its behavior was "maybe"'],
  [{ approved: true }, 'but its behavior was undefined'],
  [{ behavior: 'allow', input: {} }, 'another input is updatedInput'],
  [{ behavior: 'allow', toolUseID: 'another' }, 'is for another call'],
])('an invalid answer ends the run with an error for the host: %j', async (response, problem) => {
  const { one, hasMade } = await runAndClose([touch, done])
  const question = one.lines().find(isQuestion)
  one.send({
    type: 'control_response',
    response: { subtype: 'success', request_id: question?.['request_id'], response },
  })
  const result = await one.next(isResult)
  await one.end()
  expect([hasMade(), one.service.requests.length]).toEqual([false, 1])
  expect(result).toMatchObject({ is_error: true, terminal_reason: 'error', errors: [expect.stringContaining(problem)] })
})

test('a guard of a host that is gone blocks', async () => {
  const guard = { hooks: { PreToolUse: [{ hookCallbackIds: ['h'], onFailure: 'block' }] } }
  const cwd = realpathSync(mkdtempSync(join(here(), 'gone-')))
  const one = await host([touch, done], { cwd, args: ['--allowedTools', 'Bash'] })
  await one.ask('initialize', guard)
  one.send(user('go'))
  await one.next(({ type }) => type === 'control_request')
  await one.end()
  expect([existsSync(join(cwd, 'made')), one.service.requests[1]?.text.includes('A hook failed')]).toEqual([
    false,
    true,
  ])
})
