// Failures of services with OpenAI's protocol: their kind, and whether a retry helps.
import { describe, expect, test } from 'vitest'
import { openaiCompatible } from '../src/openai/openai.ts'
import { call, recordOf } from './support/call.ts'
import type { Called } from './support/call.ts'
import { failuresElsewhere } from './support/chat-failures-other-services.ts'
import { failures, gemini, openAi, router } from './support/chat-failures.ts'
import { startRawServer } from './support/raw-server.ts'

async function askOf(status: number, headers: Readonly<Record<string, string>>, body: string): Promise<Called> {
  const server = await startRawServer((response) => void response.writeHead(status, headers).end(body))
  return call(openaiCompatible({ model: 'm', baseUrl: `${server.url}/v1`, apiKey: 'key' }))
}

async function failureOf(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain' : 'application/json'
  return recordOf((await askOf(status, { 'content-type': type, ...headers }, text)).error)
}

/** Whether the error is the service's own: it has an `error` or a type. */
function isServices(body: unknown): boolean {
  const error: unknown = Array.isArray(body) ? (body as unknown[])[0] : body
  return typeof error === 'object' && error !== null && ('error' in error || 'object' in error || 'type' in error)
}

describe('an HTTP error has a kind by its status and message', () => {
  const cases = [...failures, ...failuresElsewhere].map(([service, status, body, kind, retryable]) => ({
    service,
    status,
    body,
    expected: { status, kind, retryable },
  }))
  test.each(cases)('$service, $status $body', async ({ status, body, expected }) => {
    // If a page or a bare message comes with a server error, the service behind it may have done its work.
    const isGateways = [408, 502, 504].includes(status) || (status >= 500 && !isServices(body))
    expect(await failureOf(status, body)).toMatchObject({ ...expected, billed: isGateways ? 'unknown' : 'nothing' })
  })
})

describe('a 429 without a retry time', () => {
  test.each([
    ['Resource has been exhausted (e.g. check quota).', 'rate_limit'],
    ['Too many requests. See https://example.com/account/billing/spend-limit for more.', 'rate_limit'],
    ['This model has reached its capacity.', 'rate_limit'],
    ['You exceeded your current quota, please check your plan.', 'billing_error'],
    ['You have reached your specified API usage limits.', 'billing_error'],
    ['Monthly spending limit exceeded.', 'billing_error'],
    ['Budget has been exceeded! Current cost: 10.2, Max budget: 10', 'billing_error'],
    ['Insufficient credit.', 'billing_error'],
  ])('maps %s to %s', async (message, kind) => {
    expect((await failureOf(429, { error: { message } })).kind).toBe(kind)
  })
})

describe("shows the service's message", () => {
  test.each([
    [429, openAi('Slow down.', 'rate_limit_exceeded', 'requests'), '429 requests: Slow down.'],
    [400, gemini(400, 'No.', 'INVALID_ARGUMENT'), '400 INVALID_ARGUMENT: No.'],
    [400, { object: 'error', message: { detail: 'No.' }, code: null }, '400: {"detail":"No."}'],
    [400, { detail: [{ msg: 'field required' }] }, '400: [{"msg":"field required"}]'],
    [429, { error: 'Model is overloaded', error_type: 'overloaded' }, '429 overloaded: Model is overloaded'],
    [400, { error: 'does not support tools' }, '400: does not support tools'],
    [400, { error: { reason: 'odd' } }, '400: {"reason":"odd"}'],
    [
      400,
      router(400, 'Provider returned error', '{"error":{"message":"too hot"}}'),
      '400 400: Provider returned error: too hot',
    ],
    [
      401,
      openAi('Wrong key.', 'invalid_api_key'),
      '401 invalid_request_error: Wrong key. (the key comes from OPENAI_API_KEY)',
    ],
  ])('%i %j', async (status, body, message) => {
    expect((await failureOf(status, body)).message).toBe(message)
  })
})

describe('the wait', () => {
  const limited = openAi('Rate limit reached. Please try again in 7m12.5s.', 'rate_limit_exceeded', 'tokens')

  test('comes from the header', async () => {
    expect((await failureOf(429, limited, { 'retry-after': '3' })).retryAfterMs).toBe(3000)
  })

  test('comes from the message if there is no header', async () => {
    expect((await failureOf(429, limited)).retryAfterMs).toBe(432_500)
  })

  test('does not come from the message of another failure', async () => {
    expect((await failureOf(500, openAi('Please retry in 5s.', null, 'server_error'))).retryAfterMs).toBeNull()
  })
})
