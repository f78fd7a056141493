// Holds R-SERV-16 of docs/spec: waits for services in the interactive program.
import { expect, test } from 'vitest'
import { key, startApp } from '../terminal/app-support.ts'

const limited = (seconds = 3_600): object => ({
  error: { status: 429, message: 'Too many requests', headers: { 'retry-after': String(seconds) } },
})
const flags = { waitForLimits: 8 * 3_600_000 }

test('counts a wait down, retries at r alone, and not at a message that begins with it', async () => {
  const {
    terminal,
    say,
    settled,
    sessions: opened,
  } = await startApp({
    replies: [limited(), { content: 'Done.' }, { content: 'Red.' }],
    flags,
  })
  say('go')
  await terminal.waitFor(/waiting for the service, (?:1:00:0\d|59:\d\d) left \(429\)/)
  await terminal.waitFor('r Enter retry now')
  say('red or blue?')
  await terminal.waitFor('red or blue?')
  expect(opened[0]?.session.snapshot).toMatchObject({ activity: { type: 'service_wait' }, queue: [{ when: 'next' }] })
  say('r')
  await terminal.waitFor('Retrying now.')
  await settled()
  expect(terminal.shown()).toContain('Red.')
  expect(terminal.shown()).not.toContain('retry now')
  say('/retry')
  await terminal.waitFor('This session is not waiting for a service.')
})

test('ends a waiting run at Esc at once, and returns the message', async () => {
  const { terminal, say, type, settled } = await startApp({ replies: [limited()], flags })
  say('go')
  await terminal.waitFor('waiting for the service')
  type('later', key.altEnter)
  type(key.escape)
  await settled()
  await terminal.waitFor('aborted_streaming')
  expect(terminal.shown()).toContain('later')
  expect(terminal.shown()).not.toContain('waiting for the service,')
})

test('asks another selected model at once', async () => {
  const { terminal, say, settled } = await startApp({ replies: [limited(), { content: 'From another.' }], flags })
  say('go')
  await terminal.waitFor('waiting for the service')
  say('/model another')
  await terminal.waitFor('From another.')
  await settled()
  expect(terminal.shown()).not.toContain('retry now')
})

test('treats r as a prompt if nothing waits', async () => {
  const { terminal, say } = await startApp({ replies: [{ content: 'What is r?' }], flags })
  say('r')
  await terminal.waitFor('What is r?')
  expect(terminal.shown()).not.toContain('Nothing of this session')
})

test('shows a waiting agent in its line, and also retries it at r', async () => {
  const agent = {
    type: 'tool_use',
    name: 'Agent',
    input: { description: 'look', prompt: 'Look.', subagent_type: 'general-purpose' },
  }
  const { terminal, say, settled } = await startApp({
    replies: [{ content: [agent] }, limited(), { content: 'Looked.' }, { content: 'All done.' }],
    flags,
  })
  say('go')
  await terminal.waitFor(/◦ .*waiting for the service until .*\(429/)
  await terminal.waitFor('r Enter retry now')
  say('r')
  await terminal.waitFor('All done.')
  await settled()
  expect(terminal.shown()).not.toContain('retry now')
})

test('says when the service accepts requests again, in local time, if the run does not wait', async () => {
  const { terminal, say } = await startApp({ replies: [limited(7_200)] })
  say('go')
  await terminal.waitFor('It takes requests again at')
  expect(terminal.shown().replaceAll(/\s+/g, ' ')).toMatch(/takes requests again at (?:\d{4}-\d\d-\d\d )?\d\d:\d\d\./)
})
