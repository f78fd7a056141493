// When a service accepts requests again, in every form in which services report it: R-RESET-1 to R-RESET-7.
import type { JsonObject, Model } from '@halting/core'
import type { ModelErrorJson } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { openaiCompatible } from '../src/index.ts'
import { messageWaitMs } from '../src/service/reset-body.ts'
import { serviceError } from '../src/service/service-error.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { drawn } from './support/deep.ts'
import { startRawServer } from './support/raw-server.ts'
import { scriptedParts, throwingModel } from './support/scripted-parts.ts'

type Fields = Readonly<Record<string, string>>

const now = Date.UTC(2026, 10, 21, 12, 0, 0)
const labels = { name: 'the API', baseUrlSetting: 'the base URL', keySetting: 'the key' }
const minute = 60_000
const hour = 3_600_000
const unixSeconds = (waitMs: number): string => String((now + waitMs) / 1000)
const rfc3339 = (waitMs: number): string => new Date(now + waitMs).toISOString()

function errorOf(status: number, headers: Fields, body: unknown = 'Too many requests.', nowMs = now): ModelErrorJson {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = { status, headers: new Headers(headers), body: text, url: 'http://service', nowMs }
  return serviceError(answer, labels).toRecord()
}

const said = (error: JsonObject): JsonObject => ({ error: { message: 'Too many requests.', ...error } })

describe('retry-after', () => {
  test.each<[Fields, number | null]>([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '2026' }, 2_026_000],
    [{ 'retry-after': '31536000' }, 31_536_000_000],
    [{ 'retry-after': unixSeconds(30_000) }, 30_000],
    [{ 'retry-after': unixSeconds(-30_000) }, null],
    [{ 'retry-after': `${now + 1234}` }, 1234],
    [{ 'retry-after': '30s' }, 30_000],
    [{ 'retry-after': '3, 4' }, 4000],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': '1e9' }, null],
    [{ 'retry-after': 'NaN' }, null],
    [{ 'retry-after': '9'.repeat(40) }, null],
    [{ 'retry-after': '9'.repeat(400) }, null],
    [{ 'retry-after': '5, soon' }, null],
    [{ 'retry-after': '2026-11-21' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '' }, null],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:00 GMT' }, 0],
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, null],
    [{ 'retry-after': 'Sun, 21 Nov 2027 12:00:00 GMT' }, 365 * 24 * hour],
    // Relative to the clock of the service.
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:30 GMT', date: 'Sat, 21 Nov 2026 11:00:00 GMT' }, 30_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT', date: 'yesterday' }, 30_000],
    [{ 'retry-after': 'Saturday, 21-Nov-26 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sat Nov 21 12:00:30 2026' }, 30_000],
    [{ 'retry-after': 'Sat Nov 21 2026 12:00:30 GMT+0100' }, null],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after-ms': '0' }, 0],
    [{ 'retry-after-ms': '-250', 'retry-after': '1' }, 1000],
    [{ 'retry-after-ms': `${now}`, 'retry-after': '1' }, 1000],
    [{}, null],
  ])('%j', (headers, expected) => {
    expect(errorOf(429, headers).retryAfterMs).toBe(expected)
  })
})

describe('the limits in the headers of a 429', () => {
  const anthropic = (limit: string, waitMs: number, left: string): Fields => ({
    [`anthropic-ratelimit-${limit}-reset`]: rfc3339(waitMs),
    [`anthropic-ratelimit-${limit}-remaining`]: left,
  })
  test.each<[string, Fields, number | null]>([
    ['the exhausted limit', { ...anthropic('requests', minute, '0'), ...anthropic('tokens', hour, '9') }, minute],
    [
      'the longest of several exhausted limits',
      { ...anthropic('input-tokens', minute, '0'), ...anthropic('output-tokens', hour, '0') },
      hour,
    ],
    [
      'the latest if none is exhausted',
      { ...anthropic('input-tokens', minute, '3'), ...anthropic('tokens', hour, '9') },
      hour,
    ],
    ['no requests of which some are left', { ...anthropic('requests', hour, '3') }, null],
    [
      'tokens of which too few are left, and not a day of requests',
      {
        'x-ratelimit-reset-requests-day': '33011.4',
        'x-ratelimit-remaining-requests-day': '900',
        'x-ratelimit-reset-tokens-minute': '11',
        'x-ratelimit-remaining-tokens-minute': '250',
      },
      11_000,
    ],
    ['an exhausted limit before one without data', { ...anthropic('requests', 1, '0'), 'ratelimit-reset': '60' }, 1],
    ['none that has passed', anthropic('requests', -1000, '0'), null],
    ['a subscription', { 'anthropic-ratelimit-unified-reset': unixSeconds(5 * hour) }, 5 * hour],
    [
      'a subscription with remaining quota',
      {
        'anthropic-ratelimit-unified-reset': unixSeconds(5 * hour),
        'anthropic-ratelimit-unified-status': 'allowed_warning',
        ...anthropic('requests', minute, '0'),
      },
      minute,
    ],
    [
      'an exhausted subscription',
      {
        'anthropic-ratelimit-unified-reset': unixSeconds(5 * hour),
        'anthropic-ratelimit-unified-status': 'rejected',
        ...anthropic('requests', minute, '7'),
      },
      5 * hour,
    ],
    [
      'an exhausted subscription before a limit without data',
      {
        'anthropic-ratelimit-unified-reset': unixSeconds(minute),
        'anthropic-ratelimit-unified-status': 'rejected',
        'x-ratelimit-reset': '3600',
      },
      minute,
    ],
    ['requests of OpenAI', { 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-remaining-requests': '0' }, 1000],
    ['a duration', { 'x-ratelimit-reset-tokens': '6m0s' }, 6 * minute],
    ['a long duration', { 'x-ratelimit-reset-tokens': '1d2h3m4.5s' }, 26 * hour + 3 * minute + 4500],
    ['milliseconds', { 'x-ratelimit-reset-tokens': '120ms' }, 120],
    ['an empty duration', { 'x-ratelimit-reset-tokens': '0s' }, null],
    ['unknown units', { 'x-ratelimit-reset-tokens': '3 fortnights' }, null],
    ['seconds with a fraction', { 'x-ratelimit-reset-tokens-minute': '11.382867' }, 11_383],
    ['seconds from now', { 'x-ratelimit-reset': '77' }, 77_000],
    ['Unix seconds', { 'x-ratelimit-reset': unixSeconds(minute) }, minute],
    ['Unix milliseconds', { 'x-ratelimit-reset': `${now + minute}` }, minute],
    ['Unix seconds that have passed', { 'x-ratelimit-reset': unixSeconds(-minute) }, null],
    ['Unix nanoseconds', { 'x-ratelimit-reset': `${now}000000` }, null],
    ['a date of HTTP', { 'x-ratelimit-reset': 'Sat, 21 Nov 2026 12:01:00 GMT' }, minute],
    ['RFC 3339 with an offset', { 'ratelimit-reset': '2026-11-21T14:01:00+02:00' }, minute],
    ['RFC 3339 without a zone', { 'ratelimit-reset': '2026-11-21T12:01:00' }, null],
    ['a year', { 'ratelimit-reset': '31536000' }, 31_536_000_000],
    ['a negative duration', { 'ratelimit-reset': '-60' }, null],
    ['a number with an exponent', { 'ratelimit-reset': '6e1' }, null],
    ['two of one name', { 'ratelimit-reset': '60, 120' }, 120_000],
    ['retry-after before all', { 'retry-after': '2', ...anthropic('requests', hour, '0') }, 2000],
    ['retry-after that has passed', { 'retry-after': unixSeconds(-5000), 'ratelimit-reset': '60' }, minute],
    [
      'the clock of the service',
      { 'ratelimit-reset': rfc3339(-hour + minute), date: 'Sat, 21 Nov 2026 11:00:00 GMT' },
      minute,
    ],
  ])('%s', (_name, headers, expected) => {
    expect(errorOf(429, headers)).toMatchObject({ kind: 'rate_limit', retryAfterMs: expected })
  })
})

describe('the body of a 429', () => {
  const retryInfo = (retryDelay: string): JsonObject => ({
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
    ],
  })
  const router = (metadata: JsonObject): JsonObject => said({ code: 429, metadata })
  test.each<[string, unknown, number | null]>([
    ['a plan of ChatGPT', said({ type: 'usage_limit_reached', resets_in_seconds: 3600 }), hour],
    ['its time', said({ type: 'usage_limit_reached', resets_at: (now + hour) / 1000 }), hour],
    ['its span before its time', said({ resets_in_seconds: 60, resets_at: (now + hour) / 1000 }), minute],
    ['a time in milliseconds', said({ resets_at: now + hour }), hour],
    ['a time as a text', said({ resets_at: rfc3339(hour) }), hour],
    ['a time that has passed', said({ resets_at: (now - hour) / 1000 }), null],
    ['a time in 1970', said({ resets_at: 3600 }), null],
    ['a negative duration', said({ resets_in_seconds: -3600 }), null],
    ['nothing', said({ resets_in_seconds: 0 }), null],
    ['an exponent', said({ resets_in_seconds: 1e30 }), null],
    ['another type', said({ resets_in_seconds: [3600], retry_after: null, resets_at: {} }), null],
    ['RetryInfo', [{ error: { message: 'Slow down.', ...retryInfo('34s') } }], 34_000],
    ['RetryInfo with a fraction', said(retryInfo('34.074824224s')), 34_075],
    ['invalid RetryInfo', said(retryInfo('soon')), null],
    ['RetryInfo twice', [{ error: { message: 'Please retry in 9s.', ...retryInfo('34s') } }], 34_000],
    ['seconds', said({ retry_after: 7.5 }), 7500],
    ['seconds as a text', said({ retry_after: '7' }), 7000],
    ['seconds next to the error', { detail: 'Request was throttled.', status: 429, retry_after: 5 }, 5000],
    ['seconds without any words', { retry_after: 5 }, 5000],
    ['milliseconds', said({ retry_after_ms: 350 }), 350],
    ['a router', router({ headers: { 'X-RateLimit-Reset': `${now + hour}`, 'X-RateLimit-Remaining': '0' } }), hour],
    ['a router with numbers', router({ headers: { 'X-RateLimit-Reset': now + hour } }), hour],
    ['a router with seconds', router({ retry_after_seconds: 12 }), 12_000],
    ['a router, from its upstream service', router({ raw: JSON.stringify(said(retryInfo('34s'))) }), 34_000],
    ['a router that repeats retry-after', router({ headers: { 'Retry-After': '9', 'X-RateLimit-Reset': '60' } }), 9000],
    ['text', said({ message: 'Please try again in 6m0s.' }), 6 * minute],
  ])('%s', (_name, body, expected) => {
    expect(errorOf(429, {}, body)).toMatchObject({ kind: 'rate_limit', retryAfterMs: expected })
  })

  test('takes precedence over limits in headers, which say when they are fully reset', () => {
    const headers = { 'x-ratelimit-reset-requests': '8h', 'x-ratelimit-remaining-requests': '0' }
    expect(errorOf(429, headers, said({ message: 'Try again in 7.2s.' })).retryAfterMs).toBe(7200)
  })
})

describe('words', () => {
  test.each<[string, number | null]>([
    ['Please try again in 20s. Visit the page.', 20_000],
    ['Please try again in 1m2.5s.', 62_500],
    ['Please try again in 350ms.', 350],
    ['Please retry after 26 seconds.', 26_000],
    ['Please retry in 33.04s.', 33_040],
    ['try again in 1 hour 5 minutes please', 65 * minute],
    ['Try again in 3 days, 1 hour and 5 minutes.', 73 * hour + 5 * minute],
    ['Your quota will reset after 18h31m10s.', 18 * hour + 31 * minute + 10_000],
    ['Your rate limit resets in ~5s.', 5000],
    ['Please wait for 30 seconds before retrying.', 30_000],
    ['You have 3 requests a minute. Retry after 20s.', 20_000],
    ['Please try again in 5 minutes 3 times.', 5 * minute],
    ['Please try again in 5 minutes or in 3 hours.', 5 * minute],
    ['Please try again in 5 minutes (3 hours at most).', 5 * minute],
    ['Please try again later.', null],
    ['try again in 2 fortnights', null],
    ['try again in . s', null],
    ['try again in 0s', null],
    ['try again in -5s', null],
    ['try again in 1e9 seconds', null],
    [`try again in ${'9'.repeat(400)} seconds`, null],
    ['', null],
    ['You will regain access on 2026-12-01 at 00:00 UTC.', Date.UTC(2026, 11, 1) - now],
    ['Resets at 2026-11-21T12:01:00Z.', minute],
    ['Resets at 2026-11-21 14:01:00 +02:00', minute],
    ['Try again at 2026-11-21 12:01:00 (UTC).', minute],
    ['Try again at 5:00 PM UTC.', 5 * hour],
    ['Try again at 12:30 AM (UTC)', 12.5 * hour],
    ['Try again after 17:00 GMT', 5 * hour],
    // It may have just passed, or be tomorrow.
    ['Try again at 11:59 AM UTC', null],
    ['Try again at 10:59 AM UTC', 23 * hour - minute],
    // The time zone or the day is unknown.
    ['Try again at 5:00 PM.', null],
    ['Try again at 5:00 PM EST', null],
    ['Try again at 17:00 UTC+8', null],
    ['Try again at 2026-11-21 17:00:00 GMT+8', null],
    ['Your limit will reset at 2026-11-21 17:00:00.', null],
    ['Try again at 13:00 PM UTC', null],
    ['Try again at 25:00 UTC', null],
    ['Try again at 5 UTC', null],
    ['Resets at 2026-11-20T12:01:00Z.', null],
    ['Resets on 2026-12-01.', null],
    ['Try again on Dec 1st, 2026 5:00 PM', null],
  ])('%s', (message, expected) => {
    expect(messageWaitMs(message, now)).toBe(expected)
  })
})

describe('sets a time by kind of error', () => {
  const usedUp = { 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '0' }
  const hasRoom = { 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '5' }
  const later = said({ retry_after: 30 })

  test.each([400, 401, 402, 403, 404, 500, 502])('for %i only from retry-after', (status) => {
    expect(errorOf(status, usedUp, later).retryAfterMs).toBeNull()
    expect(errorOf(status, { 'retry-after': '9', ...usedUp }, later).retryAfterMs).toBe(9000)
  })

  test.each([503, 529])('for %i from its body, and from an exhausted limit', (status) => {
    expect(errorOf(status, hasRoom, later).retryAfterMs).toBe(30_000)
    expect(errorOf(status, usedUp).retryAfterMs).toBe(minute)
    expect(errorOf(status, hasRoom).retryAfterMs).toBeNull()
    expect(errorOf(status, { 'x-ratelimit-reset': '60' }).retryAfterMs).toBeNull()
  })

  test('for an error under a success only from its body', () => {
    expect(errorOf(200, usedUp, said({ code: 429, retry_after: 30 })).retryAfterMs).toBe(30_000)
    expect(errorOf(200, usedUp, said({ code: 429 })).retryAfterMs).toBeNull()
    expect(errorOf(200, {}, said({ code: 402, retry_after: 30 })).retryAfterMs).toBeNull()
  })

  const cap = { message: 'You have reached your spend limit.' }
  const quota = { message: 'You exceeded your current quota.', code: 'insufficient_quota' }
  const plan = { message: 'The usage limit has been reached', type: 'usage_limit_reached' }
  test.each<[string, Fields, JsonObject, ModelErrorJson['kind'], number | null]>([
    ['a cap without a time', {}, cap, 'billing_error', null],
    ['a cap with a time that has passed', { 'x-ratelimit-reset': unixSeconds(-60) }, cap, 'billing_error', null],
    ['a cap, with a limit that has quota left', hasRoom, cap, 'billing_error', null],
    ['a cap, with an exhausted limit', usedUp, cap, 'rate_limit', minute],
    ['a cap with a time', {}, { ...cap, resets_in_seconds: 60 }, 'rate_limit', minute],
    ['a quota by its name', usedUp, quota, 'billing_error', null],
    ['a quota by its name with a time', {}, { ...quota, resets_in_seconds: 60 }, 'rate_limit', minute],
    ['a plan without a time', {}, plan, 'billing_error', null],
    ['a plan with a time', {}, { ...plan, resets_at: (now + hour) / 1000 }, 'rate_limit', hour],
    [
      'a request that never fits',
      usedUp,
      { message: 'Request too large for m on tokens per min (TPM): Limit 3, Requested 4. Please try again in 9s.' },
      'prompt_too_long',
      null,
    ],
  ])('%s', (_name, headers, error, kind, retryAfterMs) => {
    expect(errorOf(429, headers, { error })).toMatchObject({ kind, retryAfterMs })
  })
})

const eventStream = { 'content-type': 'text/event-stream' }

describe('takes the time of an error in a stream from its body', () => {
  const inStream = async (model: (url: string) => Model, event: string, headers: Fields = {}) => {
    const server = await startRawServer(
      (response) => void response.writeHead(200, { ...eventStream, ...headers }).end(event),
    )
    return recordOf((await call(model(server.url))).error)
  }
  const messages = (error: JsonObject): string => `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`

  test('of the Messages API', async () => {
    const limited = { type: 'rate_limit_error', message: 'Slow down.', retry_after: 30 }
    expect(await inStream(modelAt, messages(limited))).toMatchObject({ kind: 'rate_limit', retryAfterMs: 30_000 })
    const plan = { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_in_seconds: 60 }
    expect(await inStream(modelAt, messages(plan))).toMatchObject({ kind: 'rate_limit', retryAfterMs: minute })
    const broken = { type: 'api_error', message: 'Try again in 5s.' }
    expect(await inStream(modelAt, messages(broken))).toMatchObject({ kind: 'server_error', retryAfterMs: null })
  })

  test('of chat completions', async () => {
    const model = (url: string): Model => openaiCompatible({ model: 'm', baseUrl: `${url}/v1`, apiKey: 'key' })
    const error = { code: 429, message: 'Slow down.', metadata: { headers: { 'X-RateLimit-Reset': '30' } } }
    const record = await inStream(model, `data: ${JSON.stringify({ id: 'x', choices: [], error })}\n\n`)
    expect(record).toMatchObject({ kind: 'rate_limit', retryAfterMs: 30_000 })
  })

  test('by the clock of the service', async () => {
    const error = { type: 'rate_limit_error', message: 'Slow down.', resets_at: now / 1000 + 3600 }
    const { retryAfterMs } = await inStream(modelAt, messages(error), { date: new Date(now).toUTCString() })
    // By our clock that hour has long passed, or is far away.
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(hour)
  })
})

describe('a model of the AI SDK', () => {
  const thrownBy = async (error: object) =>
    recordOf((await call(fromAiSdk(throwingModel(Object.assign(new Error('slow down'), error))))).error)
  const callFailure = { name: 'AI_APICallError', statusCode: 429, isRetryable: true, url: 'http://service' }

  test('takes the time from headers and body of its error', async () => {
    const responseHeaders = { 'x-ratelimit-reset-requests': '6m0s', 'x-ratelimit-remaining-requests': '0' }
    expect(await thrownBy({ ...callFailure, responseHeaders })).toMatchObject({ retryAfterMs: 6 * minute })
    const responseBody = JSON.stringify(said({ resets_in_seconds: 60 }))
    expect(await thrownBy({ ...callFailure, responseBody })).toMatchObject({ retryAfterMs: minute })
    expect(await thrownBy({ ...callFailure, statusCode: 403, responseHeaders, responseBody })).toMatchObject({
      retryAfterMs: null,
    })
  })

  test('takes the time of a gateway from the response behind it', async () => {
    const cause = Object.assign(new Error('429'), { ...callFailure, responseHeaders: { 'retry-after': '7' } })
    const error = { name: 'GatewayRateLimitError', statusCode: 429, isRetryable: true, cause }
    expect(await thrownBy(error)).toMatchObject({ kind: 'rate_limit', retryAfterMs: 7000 })
  })

  test('takes the time from an error part', async () => {
    const error = { type: 'rate_limit_error', message: 'Please try again in 20s.' }
    const { error: thrown } = await call(fromAiSdk(scriptedParts([{ type: 'error', error }])))
    expect(recordOf(thrown)).toMatchObject({ kind: 'rate_limit', retryAfterMs: 20_000 })
  })
})

describe('for any message', () => {
  const odd = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.double(),
    fc.bigInt().map(String),
    fc.constantFrom('NaN', 'Infinity', '-1', '1e999', '0x10', '٣', '12:00', rfc3339(minute), unixSeconds(minute)),
    fc.stringMatching(/^[\d.:smhd ,TZ+-]{0,30}$/),
    fc.date({ noInvalidDate: false }).map(String),
  )
  const names = fc.constantFrom(
    'retry-after',
    'retry-after-ms',
    'date',
    'x-ratelimit-reset',
    'x-ratelimit-remaining',
    'ratelimit-reset',
    'anthropic-ratelimit-unified-reset',
    'anthropic-ratelimit-unified-status',
    'x-ratelimit-reset-tokens',
  )
  const headers = fc.dictionary(names, odd.map(String))
  const fields = fc.constantFrom(
    'resets_at',
    'resets_in_seconds',
    'retry_after',
    'retry_after_ms',
    'message',
    'details',
    'metadata',
    'headers',
    'raw',
    '@type',
    'retryDelay',
    'error',
    'code',
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      odd,
      odd.map((text) => `Try again in ${String(text)}`),
      odd.map((text) => `Resets at ${String(text)} UTC`),
      fc.constantFrom('type.googleapis.com/google.rpc.RetryInfo', null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fields, tie('value')),
    ),
  }))
  const body = fc.oneof(
    fc.string(),
    value.map((error) => JSON.stringify({ error })),
    value.map((error) => JSON.stringify(error)),
  )
  const refused = [400, 401, 402, 403, 500]
  const status = fc.constantFrom(200, 429, 503, 529, ...refused)

  test('returns a nonnegative wait, or none', () => {
    fc.assert(
      fc.property(fc.record({ status, headers, body }), (drawnAnswer) => {
        const source = { get: (name: string) => drawnAnswer.headers[name] ?? null }
        const answer = { ...drawnAnswer, headers: source, url: 'http://service', nowMs: now }
        const { retryAfterMs } = serviceError(answer, labels)
        const asks = 'retry-after' in drawnAnswer.headers || 'retry-after-ms' in drawnAnswer.headers
        const mayHaveOne = asks || !refused.includes(drawnAnswer.status)
        expect(retryAfterMs === null || (mayHaveOne && Number.isFinite(retryAfterMs) && retryAfterMs >= 0)).toBe(true)
      }),
      { numRuns: drawn(20_000) },
    )
  })

  type Form = (waitMs: number) => readonly [Fields, unknown]
  const atTime = (waitMs: number): Date => new Date(now + waitMs)
  const inHeader =
    (name: string, form: (waitMs: number) => string): Form =>
    (waitMs) => [{ [name]: form(waitMs) }, 'Too many requests.']
  const inBody =
    (form: (waitMs: number) => JsonObject): Form =>
    (waitMs) => [{}, said(form(waitMs))]
  const goDuration = (waitMs: number): string => {
    const hours = Math.floor(waitMs / hour)
    return `${hours}h${Math.floor((waitMs % hour) / minute)}m${(waitMs % minute) / 1000}s`
  }
  const forms: Readonly<Record<string, Form>> = {
    'retry-after in seconds': inHeader('retry-after', (waitMs) => String(waitMs / 1000)),
    'retry-after as a date': inHeader('retry-after', (waitMs) => atTime(waitMs).toUTCString()),
    'retry-after-ms': inHeader('retry-after-ms', String),
    'RFC 3339': inHeader('anthropic-ratelimit-tokens-reset', (waitMs) => atTime(waitMs).toISOString()),
    'Unix seconds': inHeader('anthropic-ratelimit-unified-reset', (waitMs) => String(Math.ceil((now + waitMs) / 1000))),
    'Unix milliseconds': inHeader('x-ratelimit-reset', (waitMs) => String(now + waitMs)),
    'a duration': inHeader('x-ratelimit-reset-requests', goDuration),
    'seconds from now': inHeader('ratelimit-reset', (waitMs) => String(Math.ceil(waitMs / 1000))),
    resets_at: inBody((waitMs) => ({ resets_at: Math.ceil((now + waitMs) / 1000) })),
    resets_in_seconds: inBody((waitMs) => ({ resets_in_seconds: Math.ceil(waitMs / 1000) })),
    retry_after: inBody((waitMs) => ({ retry_after: waitMs / 1000 })),
    RetryInfo: inBody((waitMs) => ({
      details: [{ '@type': 'x/google.rpc.RetryInfo', retryDelay: `${waitMs / 1000}s` }],
    })),
    'headers of a router': inBody((waitMs) => ({ metadata: { headers: { 'X-RateLimit-Reset': now + waitMs } } })),
    'words with a span': inBody((waitMs) => ({ message: `Please try again in ${goDuration(waitMs)}.` })),
    'words with a time': inBody((waitMs) => ({ message: `Try again at ${atTime(waitMs).toISOString()}.` })),
  }

  // From a second, below which some forms round to zero, to a year.
  const waits = fc.oneof(fc.integer({ min: 1000, max: 10 * minute }), fc.integer({ min: 1000, max: 365 * 24 * hour }))
  test.each(Object.entries(forms))('parses %s with an error of at most a second', (_name, form) => {
    fc.assert(
      fc.property(waits, fc.integer({ min: -2 * hour, max: 2 * hour }), (waitMs, skewMs) => {
        const [own, error] = form(waitMs)
        // Our clock is wrong. The clock of the service gives the time.
        const { retryAfterMs } = errorOf(429, { date: new Date(now).toUTCString(), ...own }, error, now + skewMs)
        expect(Math.abs((retryAfterMs ?? Infinity) - waitMs)).toBeLessThanOrEqual(1000)
      }),
      { numRuns: drawn(2000) },
    )
  })
})
