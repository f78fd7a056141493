// Holds R-SERV-17 of docs/spec: waits for services in editors and over the host protocol, and with the official SDK, unchanged.
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test, vi } from 'vitest'
import { startAgent } from '../support/acp-agent.ts'
import { endHosts, host, isResult, user } from '../support/host.ts'
import { installProgram } from '../support/program.ts'
import { runQuery, answerOf, removeFoldersAfterEach } from '../host/support/sdk.ts'

installProgram()
endHosts()
removeFoldersAfterEach()

const wait = 8 * 3_600_000
const refused: ScriptedReply = {
  error: { kind: 'rate_limit', message: 'Too many requests', status: 429, retryAfterMs: 3_600_000 },
}
const limited = { error: { status: 429, message: 'Too many requests', headers: { 'retry-after': '3600' } } }

test('informs an editor that a wait starts and ends, and ends it with /retry', async () => {
  const model = scriptedModel([refused, 'Done.'])
  const { newSession, prompt, updates, text } = await startAgent({ model, options: { waitForLimitsMs: wait } })
  const { sessionId } = await newSession()
  await prompt(sessionId, '/retry')
  expect(text()).toContain('This session is not waiting for a service.')
  const answered = prompt(sessionId, 'go')
  await vi.waitFor(() => expect(updates('notice')).toHaveLength(1))
  expect(await prompt(sessionId, '/retry')).toEqual({ stopReason: 'end_turn' })
  expect(await answered).toMatchObject({ stopReason: 'end_turn' })
  expect(text()).toContain('Retrying now.')
  expect(text()).toContain('Done.')
  expect(updates('notice').map(({ severity, title }) => [severity, title])).toEqual([
    [
      'warning',
      expect.stringMatching(
        /^The run is waiting for the service until .* \(429: Too many requests\)\. It continues automatically; \/retry/,
      ),
    ],
    ['info', expect.stringMatching(/^Retrying now \(waited /)],
  ])
})

test('sends text to an editor without notices, and ends the run at once after a cancel', async () => {
  const { newSession, prompt, text, agent } = await startAgent({
    model: scriptedModel([refused]),
    options: { waitForLimitsMs: wait },
    capabilities: {},
  })
  const { sessionId } = await newSession()
  const answered = prompt(sessionId, 'go')
  await vi.waitFor(() => expect(text()).toContain('The run is waiting for the service until '))
  await agent.notify('session/cancel', { sessionId })
  expect(await answered).toMatchObject({ stopReason: 'cancelled' })
})

test('informs a host of a wait, and ends it at retry_now', async () => {
  const one = await host([limited, { content: 'Done.' }], { args: ['--wait-for-limits', '8h'] })
  expect(await one.ask('retry_now')).toMatchObject({ response: { retried: false } })
  one.send(user('go'))
  expect(await one.next(({ subtype }) => subtype === 'service_wait')).toMatchObject({
    type: 'system',
    state: 'waiting',
    error: 'rate_limit',
    error_status: 429,
    parent_tool_use_id: null,
  })
  expect(await one.ask('retry_now')).toMatchObject({ response: { retried: true } })
  expect(await one.next(isResult)).toMatchObject({ subtype: 'success', result: 'Done.' })
  const ended = one.lines().filter(({ subtype, state }) => subtype === 'service_wait' && state === 'ended')
  expect(ended).toMatchObject([{ outcome: 'retried' }])
  expect((await one.end()).status).toBe(0)
})

test('sends a host its result at once with the retry time if it does not wait', async () => {
  const one = await host([limited])
  const result = await one.say('go')
  expect(result).toMatchObject({
    terminal_reason: 'model_error',
    retryAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
  })
})

test('works with the official SDK, which passes wait messages on and ends a wait by setting a model', async () => {
  let seen = 0
  const talked = await runQuery('go', [limited, { content: 'From another.' }], {
    options: { extraArgs: { 'wait-for-limits': '8h' } },
    during: async (message, query) => {
      if (!JSON.stringify(message).includes('"subtype":"service_wait"')) return
      seen += 1
      if (seen === 1) await query.setModel('claude-haiku-4-5')
    },
  })
  expect([seen, answerOf(talked), talked.thrown]).toEqual([2, 'From another.', undefined])
  expect(talked.requests.map(({ body }) => body['model'])).toEqual(['claude-sonnet-5-5', 'claude-haiku-4-5'])
})
