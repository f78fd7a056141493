// Limits and outages that a script produces, for tests and measurements of code that waits for them.
import type { JsonObject, Model } from '@halting/core'
import { afterEach, describe, expect, test } from 'vitest'
import { ReplyQueue } from '../src/scripted/server.ts'
import { parseScript, scriptedModel } from '../src/scripted/index.ts'
import type { ScriptedError } from '../src/scripted/index.ts'
import { call, recordOf } from './support/call.ts'

const open: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

async function play(...replies: readonly unknown[]) {
  const scripted = await scriptedModel({ replies })
  open.push(scripted)
  return scripted
}

/** The outcomes of repeated requests until one is answered. */
async function untilAnswered(model: Model): Promise<readonly string[]> {
  for (const kinds: string[] = []; ;) {
    const { reply, error } = await call(model)
    if (reply !== undefined) return kinds
    kinds.push(recordOf(error).kind)
  }
}

const limit = (forMs: number, more: Partial<ScriptedError['error']> = {}): ScriptedError => ({
  error: { status: 429, message: 'Slow down.', for_ms: forMs, ...more },
})

describe('a lasting error', () => {
  test('answers every request until it ends, and then the next reply follows', () => {
    const replies = new ReplyQueue([{ content: 'one' }, limit(60_000), { content: 'two' }])
    const atMs = (nowMs: number) => replies.take('', nowMs).number
    expect([5, 100_000, 100_001, 159_999, 160_000].map(atMs)).toEqual([1, 2, 2, 2, 3])
    expect(replies.left).toBe(0)
  })

  test('starts with the first request that receives the error, each time the error is repeated', () => {
    const replies = new ReplyQueue([{ ...limit(10), repeat: 2 }, { content: 'two' }])
    expect([0, 9, 50, 59, 60].map((nowMs) => replies.take('', nowMs).number)).toEqual([1, 1, 2, 2, 3])
  })

  test('also applies to requests with their own reply', () => {
    const replies = new ReplyQueue([{ when: 'summary', content: 'short' }, limit(10), { content: 'two' }])
    const asked = ['hello', 'a summary', 'hello'].map((text, index) => replies.take(text, index * 9).number)
    expect([...asked, replies.take('a summary', 20).number]).toEqual([2, 2, 3, 1])
  })

  test('ends over HTTP', async () => {
    const { model, server } = await play(limit(100), { content: 'Hello.' })
    const kinds = await untilAnswered(model)
    expect(new Set(kinds)).toEqual(new Set(['rate_limit']))
    expect(server.requests).toHaveLength(kinds.length + 1)
    expect(server.remaining()).toBe(0)
  })

  const hour = 3_600_000
  test.each<[string, Partial<ScriptedError['error']>]>([
    ['retry-after', { headers: { 'retry-after': '{{seconds_left}}' } }],
    ['the limits in headers', { headers: { 'anthropic-ratelimit-requests-reset': '{{ends_at}}' } }],
    ['a limit of a subscription', { headers: { 'anthropic-ratelimit-unified-reset': '{{ends_at_unix}}' } }],
    ['words', { message: 'Please try again in {{seconds_left}}s.' }],
    ['seconds', { fields: { resets_in_seconds: '{{seconds_left}}' } }],
    ['a time', { fields: { resets_at: '{{ends_at_unix}}' } }],
    ['a router', { fields: { metadata: { headers: { 'X-RateLimit-Reset': '{{ends_at_unix_ms}}' } } } }],
    ['RetryInfo', { fields: { details: [{ '@type': 'x/google.rpc.RetryInfo', retryDelay: '{{seconds_left}}s' }] } }],
  ])('reports its end: by %s', async (_name, error) => {
    const { model } = await play(limit(hour, error))
    const { kind, retryAfterMs } = recordOf((await call(model)).error)
    expect(kind).toBe('rate_limit')
    // The time of the request itself does not count. The clock of the service has whole seconds.
    expect(retryAfterMs).toBeGreaterThan(hour / 2)
    expect(retryAfterMs).toBeLessThanOrEqual(hour + 2000)
  })

  test('writes placeholders as numbers in numeric fields', async () => {
    const { server } = await play(
      limit(hour, { fields: { left: '{{seconds_left}}', text: '{{seconds_left}} s', n: 1 } }),
    )
    const answer = await fetch(`${server.url}/v1/messages`, { method: 'POST', body: '{}' })
    const { error } = (await answer.json()) as { error: JsonObject }
    const { left } = error
    expect(error).toMatchObject({ left: expect.any(Number), text: `${Number(left)} s`, n: 1 })
  })

  test('leaves other placeholders unchanged', async () => {
    const { model } = await play(limit(hour, { message: '{{other}}' }))
    expect(recordOf((await call(model)).error).message).toContain('{{other}}')
  })

  test('sends fields of other errors, too', async () => {
    const { model } = await play({ error: { status: 429, message: '{{ends_at}}', fields: { retry_after: 7 } } })
    expect(recordOf((await call(model)).error)).toMatchObject({
      retryAfterMs: 7000,
      message: '429 rate_limit_error: {{ends_at}}',
    })
  })
})

describe('an outage', () => {
  test('cuts the request, and nothing listens until it is over', async () => {
    const { model, server } = await play({ outage_ms: 3_600_000 }, { content: 'Hello.' })
    const failures = [recordOf((await call(model)).error), recordOf((await call(model)).error)]
    expect(failures.map(({ kind, neverConnected = false }) => [kind, neverConnected])).toEqual([
      ['connection', false],
      ['connection', true],
    ])
    expect(server.remaining()).toBe(1)
  })

  test('ends, and the server listens at the same address again', async () => {
    const { model, server } = await play({ outage_ms: 50 }, { content: 'Hello.' }, { content: 'Again.' })
    expect(new Set(await untilAnswered(model))).toEqual(new Set(['connection']))
    expect((await call(model)).reply?.message.content).toEqual([{ type: 'text', text: 'Again.' }])
    expect(server.remaining()).toBe(0)
  })

  test('cuts other requests in progress', async () => {
    const { model } = await play({ content: 'Hello.', delay_ms: 3_600_000 }, { outage_ms: 1 }, { content: 'Again.' })
    const slow = call(model)
    const kinds = await untilAnswered(model)
    expect(recordOf((await slow).error).kind).toBe('connection')
    expect(new Set(kinds)).toEqual(new Set(['connection']))
  })
})

test.each([
  [{ error: { status: 429, for_ms: 'long' } }, 'replies[0].error.for_ms must be a number, 0 or more, not "long".'],
  [{ error: { status: 429, fields: [] } }, 'replies[0].error.fields must be an object, not [].'],
  [{ outage_ms: -1 }, 'replies[0].outage_ms must be a number, 0 or more, not -1.'],
  [{ outage_ms: 1, content: 'a' }, 'replies[0].content is not a known field.'],
])('is rejected with %j', (reply, message) => {
  expect(() => parseScript({ replies: [reply] })).toThrow(message)
})
