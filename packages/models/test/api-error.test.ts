import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { networkError } from '../src/http/network-error.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { startRawServer } from './support/raw-server.ts'

type Row = readonly [
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>>,
  kind: string,
  retryable: boolean,
  retryAfterMs?: number | null,
  contextLimit?: { readonly used: number; readonly limit: number; readonly includesOutput?: true },
]

const table: readonly Row[] = [
  [400, 'invalid_request_error', 'messages: at least one is needed', {}, 'invalid_request', false],
  [
    400,
    'invalid_request_error',
    'prompt is too long: 210000 tokens > 200000 maximum',
    {},
    'prompt_too_long',
    false,
    null,
    { used: 210_000, limit: 200_000 },
  ],
  [
    400,
    'invalid_request_error',
    'input length and `max_tokens` exceed context limit: 9 + 9 > 10',
    {},
    'prompt_too_long',
    false,
    null,
    { used: 9, limit: 10, includesOutput: true },
  ],
  [
    400,
    'invalid_request_error',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum',
    {},
    'image',
    false,
  ],
  [400, 'invalid_request_error', 'image dimensions exceed max allowed size: 8000 pixels', {}, 'image', false],
  [400, 'invalid_request_error', 'Could not process image', {}, 'image', false],
  [400, 'invalid_request_error', 'Your credit balance is too low', {}, 'billing_error', false],
  [401, 'authentication_error', 'invalid x-api-key', {}, 'authentication_failed', false],
  [402, 'billing_error', 'pay first', {}, 'billing_error', false],
  [403, 'permission_error', 'not for you', {}, 'authentication_failed', false],
  [404, 'not_found_error', 'model: claude-none', {}, 'model_not_found', false],
  [408, 'timeout_error', 'too slow', {}, 'timeout', true],
  [409, 'conflict', 'again', {}, 'invalid_request', true],
  [413, 'request_too_large', 'Request exceeds the maximum size', {}, 'prompt_too_long', false],
  [429, 'rate_limit_error', 'so many a minute', { 'retry-after': '7' }, 'rate_limit', true, 7000],
  [
    429,
    'rate_limit_error',
    'so many a minute',
    { 'retry-after-ms': '1500', 'retry-after': '7' },
    'rate_limit',
    true,
    1500,
  ],
  [429, 'rate_limit_error', 'so many a minute', {}, 'rate_limit', true],
  [429, 'rate_limit_error', 'You have reached your spend limit', {}, 'billing_error', false],
  [429, 'rate_limit_error', 'You have reached your spend limit', { 'retry-after': '2' }, 'rate_limit', true, 2000],
  [500, 'api_error', 'Internal server error', {}, 'server_error', true],
  [502, 'api_error', 'bad gateway', {}, 'server_error', true],
  [503, 'overloaded_error', 'Overloaded', {}, 'overloaded', true],
  [504, 'timeout_error', 'took too long', {}, 'timeout', true],
  [529, 'overloaded_error', 'Overloaded', { 'retry-after': '1' }, 'overloaded', true, 1000],
  [500, 'api_error', 'do not ask again', { 'x-should-retry': 'false' }, 'server_error', false],
  [400, 'invalid_request_error', 'ask again', { 'x-should-retry': 'true' }, 'invalid_request', true],
]

const keyHint = ' (the key comes from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or apiKeyHelper)'

describe('an HTTP error has a kind by its status and message', () => {
  const cases = table.map(([status, type, message, headers, kind, retryable, retryAfterMs = null, contextLimit]) => ({
    said: { status, type, message, headers },
    expected: { kind, retryable, retryAfterMs, ...(contextLimit !== undefined && { contextLimit }) },
  }))
  test.each(cases)('$said.status $said.type: $said.message $said.headers', async ({ said, expected }) => {
    const { status, type, message, headers } = said
    const body = JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_body' })
    const server = await startRawServer((response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_head', ...headers }).end(body)
    })
    expect(recordOf((await call(modelAt(server.url))).error)).toEqual({
      ...expected,
      status,
      message: `${status} ${type}: ${message}${status === 401 ? keyHint : ''}`,
      requestId: 'req_head',
      usage: null,
      // This response may come from an intermediary.
      billed: [408, 502, 504].includes(status) ? 'unknown' : 'nothing',
    })
  })

  const answer = async (status: number, headers: Readonly<Record<string, string>>, body: string) => {
    const server = await startRawServer((response) => void response.writeHead(status, headers).end(body))
    return { server, error: recordOf((await call(modelAt(server.url))).error) }
  }

  test("shows the text of a proxy's page, with unknown cost", async () => {
    const { error } = await answer(
      502,
      { 'content-type': 'text/html' },
      '<html><style>p{}</style><h1>502 Bad\n Gateway</h1><p>nginx</p></html>',
    )
    expect(error).toMatchObject({
      kind: 'server_error',
      retryable: true,
      billed: 'unknown',
      message: 'The service, or something in front of it, answered 502 with "502 Bad Gateway nginx".',
    })
  })

  test('asks about the base URL after a missing page', async () => {
    const { error } = await answer(404, { 'content-type': 'text/html' }, 'Not Found')
    expect(error.message).toMatch(
      /answered 404 with "Not Found", which is not a reply of the Messages API. Is the base URL right\?$/,
    )
  })

  test('reports a redirect instead of following it with the key', async () => {
    const { error } = await answer(308, { location: 'https://elsewhere.example/v1/messages' }, '')
    expect(error).toMatchObject({ kind: 'invalid_request', status: 308, retryable: false })
    expect(error.message).toContain('points to https://elsewhere.example/v1/messages')
  })

  test('rejects a page instead of a stream', async () => {
    const { error } = await answer(200, { 'content-type': 'text/html' }, '<p>Welcome to the hotel</p>')
    expect(error).toMatchObject({ kind: 'invalid_request', retryable: false })
    expect(error.message).toContain('answered with text/html instead of a stream of events')
  })

  test('reports an error in the body of a 200', async () => {
    const { error } = await answer(
      200,
      { 'content-type': 'application/json' },
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    )
    expect(error).toMatchObject({ kind: 'overloaded', retryable: true })
  })

  test('reads a long body no further than it is shown', async () => {
    const server = await startRawServer((response) => {
      response.writeHead(500)
      response.on('error', () => {})
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    })
    expect(recordOf((await call(modelAt(server.url))).error).kind).toBe('server_error')
    await server.released()
  })
})

describe('explains a failed connection', () => {
  test('reports that nothing listens', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise<void>((resolve) => void server.close(() => resolve()))
    const { error } = await call(modelAt(`http://127.0.0.1:${port}`))
    expect(recordOf(error)).toMatchObject({
      kind: 'connection',
      retryable: true,
      billed: 'nothing',
      message: `Nothing listens at http://127.0.0.1:${port} (ECONNREFUSED). Is the service running, and is the base URL right?`,
    })
  })

  test('reports that the other side does not speak TLS', async () => {
    const server = await startRawServer((response) => void response.end())
    const { error } = await call(modelAt(server.url.replace('http:', 'https:')))
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: false, billed: 'nothing' })
    expect(recordOf(error).message).toContain('does not speak TLS')
  })

  const failed = (code: string, message = code) =>
    networkError(
      new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) }),
      'https://api.example/v1',
    )

  test.each([
    ['ENOTFOUND', /^No address is known for api\.example/, 'connection', true, 'nothing'],
    ['EAI_AGAIN', /^No address is known for api\.example/, 'connection', true, 'nothing'],
    ['ECONNRESET', /closed the connection/, 'connection', true, 'unknown'],
    ['ENETUNREACH', /cannot be reached/, 'connection', true, 'nothing'],
    ['UND_ERR_CONNECT_TIMEOUT', /did not answer in time/, 'timeout', true, 'nothing'],
    ['UND_ERR_HEADERS_TIMEOUT', /did not answer in time/, 'timeout', true, 'unknown'],
    ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/, 'connection', false, 'nothing'],
    ['CERT_HAS_EXPIRED', /has expired/, 'connection', false, 'nothing'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /for another name/, 'connection', false, 'nothing'],
    ['EWHATEVER', /^The connection to api\.example failed: odd \(EWHATEVER\)\.$/, 'connection', true, 'unknown'],
  ])('%s', (code, message, kind, retryable, billed) => {
    expect(failed(code, 'odd').toRecord()).toMatchObject({
      kind,
      retryable,
      billed,
      message: expect.stringMatching(message),
    })
  })

  test('reports the first failure of a host with several addresses', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:80'), { code: 'ECONNREFUSED' })
    const all = Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' })
    const error = networkError(new TypeError('fetch failed', { cause: all }), 'http://localhost:80/v1/messages')
    expect(error.message).toMatch(/^Nothing listens at http:\/\/localhost /)
  })
})
