// Spec R-HOST-11, R-HOST-13: hooks that a host calls back, and questions of servers that it answers.
import { expect, test } from 'vitest'
import { elicitByHost, hooksOfHost } from '../../src/host/callbacks.ts'
import { fakeHost } from './support/fake-host.ts'

const signal = new AbortController().signal

function hookOf(host: ReturnType<typeof fakeHost>) {
  const { hooks } = hooksOfHost({ PreToolUse: [{ matcher: 'Bash', hookCallbackIds: ['hook_0'] }] }, host.control)
  const hook = hooks.PreToolUse?.[0]
  if (hook?.type !== 'callback') throw new Error('no hook')
  return hook
}

test('calls a hook by its id, with its input and the ID of the related call', async () => {
  const host = fakeHost(() => ({ decision: 'block' }))
  const input = { hook_event_name: 'PreToolUse', tool_use_id: 'toolu_1' }
  expect(await hookOf(host).call(input, signal)).toEqual({ decision: 'block' })
  expect(await hookOf(host).call({ hook_event_name: 'Stop' }, signal)).toEqual({ decision: 'block' })
  expect(host.sentRequests()).toEqual([
    { subtype: 'hook_callback', callback_id: 'hook_0', input, tool_use_id: 'toolu_1' },
    { subtype: 'hook_callback', callback_id: 'hook_0', input: { hook_event_name: 'Stop' } },
  ])
})

test('ignores a host that left before the end of the session, but not a failing guard', async () => {
  const host = fakeHost()
  host.control.disconnect('The host has gone.')
  expect(await hookOf(host).call({ hook_event_name: 'SessionEnd' }, signal)).toEqual({})
  await expect(hookOf(host).call({ hook_event_name: 'PreToolUse' }, signal)).rejects.toThrow('The host has gone.')
})

const question = {
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'number' } } },
}

test.each([
  [{ action: 'accept', content: { name: 'A', age: 7, odd: { a: 1 }, list: ['b'] } }, { action: 'accept', content: { name: 'A', age: 7, list: ['b'] } }],
  [{ action: 'accept' }, { action: 'accept' }],
  [{ action: 'cancel' }, { action: 'cancel' }],
  [{ action: 'decline', content: { name: 'A' } }, { action: 'decline' }],
  [{}, { action: 'decline' }],
])('the host answers a question of a server: %j', async (response, answer) => {
  const host = fakeHost(() => response)
  expect(await elicitByHost(host.control, 'auth', question, signal)).toEqual(answer)
  expect(host.sentRequests()).toEqual([
    {
      subtype: 'elicitation',
      mcp_server_name: 'auth',
      message: 'Who are you?',
      mode: 'form',
      requested_schema: question.requestedSchema,
      property_order: ['name', 'age'],
    },
  ])
}) // prettier-ignore

test('a host without support for the request declines; a host that is gone or late cancels', async () => {
  const host = fakeHost()
  const refused = elicitByHost(host.control, 'auth', { message: 'Who?' }, signal)
  host.refuse(0, 'Unsupported control request subtype: elicitation')
  expect(await refused).toEqual({ action: 'decline' })
  const abort = new AbortController()
  const left = elicitByHost(host.control, 'auth', { message: 'Who?' }, abort.signal)
  abort.abort()
  expect([await left, host.cancelled()]).toEqual([{ action: 'cancel' }, [host.ids()[1]]])
  host.control.disconnect('The host has gone.')
  expect(await elicitByHost(host.control, 'auth', { message: 'Who?' }, signal)).toEqual({ action: 'cancel' })
})

test.each([
  [{ action: 'accept', content: { name: 'A' } }, { action: 'accept' }],
  [{ action: 'decline' }, { action: 'decline' }],
  [{ action: 'cancel' }, { action: 'cancel' }],
  [{ action: 'open' }, { action: 'decline' }],
])('the host is asked to open a page for a server: %j', async (response, answer) => {
  const host = fakeHost(() => response)
  const finished = new AbortController()
  const page = { mode: 'url', message: 'Sign in', url: 'https://a.example/x', elicitationId: 'e1' } as const
  expect(await elicitByHost(host.control, 'auth', { ...page, completed: finished.signal }, signal)).toEqual(answer)
  expect(host.sentRequests()).toEqual([
    {
      subtype: 'elicitation',
      mcp_server_name: 'auth',
      message: 'Sign in',
      mode: 'url',
      url: 'https://a.example/x',
      elicitation_id: 'e1',
    },
  ])
  expect(host.notices()).toEqual([])
  finished.abort()
  expect(host.notices()).toEqual([
    { type: 'system', subtype: 'elicitation_complete', mcp_server_name: 'auth', elicitation_id: 'e1' },
  ])
})

test('answers two simultaneous questions separately', async () => {
  const host = fakeHost()
  const [first, second] = [
    elicitByHost(host.control, 'a', question, signal),
    elicitByHost(host.control, 'b', question, signal),
  ]
  host.answer(1, { action: 'decline' })
  host.answer(0, { action: 'accept', content: { name: 'A' } })
  expect([await first, await second]).toEqual([{ action: 'accept', content: { name: 'A' } }, { action: 'decline' }])
})
