// Holds rules of docs/spec: R-CLU-12, R-CLU-12a, R-CLU-12b.
import { ConfigurationError } from '@halting/core'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readLiveMessages } from '../../src/client/follower.ts'
import { emptySnapshot } from '../../src/client/remote-snapshot.ts'
import { createLiveEvents, type LiveEvents, type LiveEventsOptions } from '../../src/live/live-events.ts'
import type { LiveMessage } from '../../src/live/live-messages.ts'

const opened: LiveEvents[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((live) => live.close()))
})

async function serving(options?: LiveEventsOptions): Promise<LiveEvents> {
  const live = await createLiveEvents(options)
  opened.push(live)
  live.onOpen('a session', { snapshot: emptySnapshot('a session') })
  return live
}

const address = ({ url }: LiveEvents, query = ''): string => `${url}/sessions/a%20session/events${query}`
const rewind = { type: 'rewind', entries: 0, after: null } as const

async function readAll(response: Response): Promise<readonly LiveMessage[]> {
  const messages: LiveMessage[] = []
  for await (const message of readLiveMessages(response)) messages.push(message)
  return messages
}

test('records are numbered, and a reconnecting reader gets those that it lacks', async () => {
  const live = await serving()
  live.onStored('a session', 4, [rewind, rewind])
  live.onEvent('a session', { type: 'note', text: 'nobody reads' })
  live.onEvent('a session', { type: 'run_start', runId: 'run1', ids: ['p'] })
  const response = await fetch(address(live, '?since=5'))
  live.onStored('a session', 6, [rewind])
  live.onEvent('a session', { type: 'note', text: 'hello' })
  live.onLeave('a session', { snapshot: emptySnapshot('another attempt') })
  // Another attempt takes its place.
  live.onOpen('a session', { snapshot: emptySnapshot('a session') })
  expect(await readAll(response)).toEqual([
    { type: 'hello', records: 6 },
    { type: 'record', number: 6, record: rewind },
    { type: 'event', event: { type: 'run_start', runId: 'run1', ids: ['p'] } },
    { type: 'snapshot', snapshot: JSON.parse(JSON.stringify(emptySnapshot('a session'))) },
    { type: 'record', number: 7, record: rewind },
    { type: 'event', event: { type: 'note', text: 'hello' } },
    { type: 'over' },
  ])
})

test('reading requires the token, and without a token a name of this machine', async () => {
  const live = await serving({ token: 'secret' })
  expect((await fetch(address(live))).status).toBe(401)
  expect((await fetch(address(live), { headers: { authorization: 'Bearer wrong!' } })).status).toBe(401)
  const read = await fetch(address(live), { headers: { authorization: 'Bearer secret' } })
  expect(read.status).toBe(200)
  await read.body?.cancel()
  expect(
    (await fetch(`${live.url}/sessions/other/events`, { headers: { authorization: 'Bearer secret' } })).status,
  ).toBe(404)
  await expect(createLiveEvents({ host: '0.0.0.0' })).rejects.toBeInstanceOf(ConfigurationError)
})

test('an invalid address is refused, and the worker survives', async () => {
  const live = await serving({ token: 'secret' })
  for (const target of ['//[', 'http://[', '//:0:0', '/sessions/%/events', '/sessions/%ff/events']) {
    const socket = connect(Number(new URL(live.url).port), '127.0.0.1')
    socket.end(`GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer secret\r\nconnection: close\r\n\r\n`)
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    expect(answer).toContain(' 404 ')
  }
  expect((await fetch(address(live))).status).toBe(401)
})

test('while too much waits for slow readers, new readers are refused and referred to the records', async () => {
  const live = await serving({ maxUnreadBytes: 40 * 1024 * 1024 })
  const { port, pathname } = new URL(address(live))
  const silent = connect(Number(port), '127.0.0.1')
  silent.write(`GET ${pathname} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
  await once(silent, 'readable')
  live.onEvent('a session', { type: 'note', text: 'x'.repeat(39 * 1024 * 1024) })
  // The system's buffers for the reader are smaller than this excess.
  const refused = await fetch(address(live))
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('the records of the session')])
  silent.destroy()
  await expect.poll(async () => statusOf(await fetch(address(live)))).toBe(200)
})

async function statusOf(response: Response): Promise<number> {
  await response.body?.cancel()
  return response.status
}
