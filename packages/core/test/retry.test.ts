// Tests R-REQ-1 to R-REQ-4.
import { describe, expect, test } from 'vitest'
import { ModelError, RetriesExhaustedError } from '../src/index.ts'
import type { ModelErrorInit, ModelErrorJson } from '../src/entries/adapters.ts'
import { overloadsBeforeFallback, retryDelayMs } from '../src/request/ask-model.ts'
import { run } from './support/harness.ts'

const recordedError = (init: Partial<ModelErrorInit> = {}): ModelErrorJson =>
  new ModelError({ kind: 'server_error', message: 'x', ...init }).toRecord()

describe('the delay before a retry', () => {
  test.each([
    [1, 200],
    [2, 400],
    [3, 800],
    [4, 2_000],
    [5, 2_000],
    [10, 2_000],
  ])('after attempt %i is %i ms and up to a quarter more', (attempt, base) => {
    for (const key of ['a', 'b', 'c', 'run1/retry:1.1']) {
      const delay = retryDelayMs(attempt, recordedError(), key)
      expect(delay).toBeGreaterThanOrEqual(base)
      expect(delay).toBeLessThan(base * 1.25)
      expect(retryDelayMs(attempt, recordedError(), key)).toBe(delay)
    }
    expect(
      new Set(Array.from({ length: 20 }, (_, index) => retryDelayMs(attempt, recordedError(), `key ${index}`))).size,
    ).toBeGreaterThan(5)
  })

  test("is what the service requested, and never less than the policy's own wait", () => {
    expect(retryDelayMs(1, recordedError({ retryAfterMs: 30_000 }), 'k')).toBe(30_000)
    const own = retryDelayMs(9, recordedError(), 'k')
    const asked = [0, -5, Number.NaN, 1_999, null].map((retryAfterMs) => recordedError({ retryAfterMs }))
    expect(asked.map((error) => retryDelayMs(9, error, 'k'))).toEqual([own, own, own, own, own])
  })

  test('switches to a fallback model after three overloads', () => {
    expect(overloadsBeforeFallback).toBe(3)
  })
})

describe('which failures are retried', () => {
  test.each([
    ['rate_limit', true],
    ['overloaded', true],
    ['server_error', true],
    ['timeout', true],
    ['connection', true],
    ['authentication_failed', false],
    ['billing_error', false],
    ['invalid_request', false],
    ['model_not_found', false],
    ['prompt_too_long', false],
    ['image', false],
    ['unknown', false],
  ] as const)('%s: %s, unless the error says otherwise', async (kind, retried) => {
    const attempts = async (init: Partial<ModelErrorInit> = {}) =>
      (await run([{ error: { kind, message: 'x', status: 400, ...init } }, 'answer'])).model.requests.length
    expect(await attempts()).toBe(retried ? 2 : 1)
    expect(await attempts({ retryable: !retried })).toBe(retried ? 1 : 2)
  })

  test('an error other than ModelError is never retried', async () => {
    const { terminal, model } = await run(() => { throw new TypeError('adapter bug') }) // prettier-ignore
    expect([terminal.reason, terminal.signal.toJSON(), model.requests.length]).toEqual([
      'model_error',
      {
        reason: 'error',
        message: 'adapter bug',
        context: { kind: 'unknown', status: null, attempts: 1, requestId: null },
        source: 'model',
      },
      1,
    ])
  })
})

describe('attempts', () => {
  test('are attempts of one turn, reported one by one, with waits between', async () => {
    const failing = { error: { kind: 'server_error', message: 'x', status: 500 } } as const
    const { events, terminal, transitions } = await run([failing, failing, 'answer'])
    const retries = events.flatMap((event) => (event.type === 'retry' ? [event] : []))
    expect(retries.map(({ request, attempt, maxRetries }) => [request, attempt, maxRetries])).toEqual([
      [1, 1, 10],
      [1, 2, 10],
    ])
    expect([transitions, terminal.summary.turns, terminal.summary.requests]).toEqual([[], 1, 3])
    expect(terminal.durationMs).toBe(retries.reduce((sum, { delayMs }) => sum + delayMs, 0))
  })

  test('are throttled even when a service requests an immediate retry', async () => {
    const atOnce = { error: { kind: 'rate_limit', message: 'x', status: 429, retryAfterMs: 0 } } as const
    const { terminal } = await run(() => atOnce)
    expect(terminal.durationMs).toBeGreaterThanOrEqual(200 + 400 + 800 + 7 * 2_000)
  })

  test('run out after maxRetries more than the first', async () => {
    for (const maxRetries of [0, 1, 4]) {
      const { terminal, model } = await run(() => ({ error: { kind: 'connection', message: 'reset' } }), { maxRetries })
      expect([model.requests.length, terminal.reason, terminal.signal.reason]).toEqual([
        maxRetries + 1,
        'model_error',
        maxRetries === 0 ? 'error' : 'retry_limit',
      ])
      expect(terminal.error instanceof RetriesExhaustedError).toBe(maxRetries > 0)
    }
  })

  test('have one idempotency key each, and never another', async () => {
    const { model } = await run([{ error: { kind: 'server_error', message: 'x' } }, 'answer'])
    expect(model.requests.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'session/run1/model:1.1',
      'session/run1/model:1.2',
    ])
  })
})

test('a model error is data on record, and an error for the code that catches it', () => {
  const error = new ModelError({
    kind: 'overloaded',
    message: 'busy',
    status: 529,
    retryAfterMs: 5,
    requestId: 'req',
    cause: new Error('x'),
  })
  expect(error.toRecord()).toEqual({
    kind: 'overloaded',
    message: 'busy',
    status: 529,
    retryable: true,
    retryAfterMs: 5,
    requestId: 'req',
    usage: null,
    billed: 'nothing',
  })
  expect([
    recordedError().billed,
    recordedError({ status: 500 }).billed,
    recordedError({ status: 500, billed: 'unknown' }).billed,
  ]).toEqual(['unknown', 'nothing', 'unknown'])
  const details = { kind: error.kind, status: error.status, requestId: error.requestId }
  expect([error.code, error.name, error.toJSON()]).toEqual([
    'model',
    'ModelError',
    { code: 'model', message: 'busy', details },
  ])
})

test.each<[string, object, Partial<ModelErrorJson>]>([
  ['waits without end', { retryAfterMs: Infinity }, { retryAfterMs: Number.MAX_SAFE_INTEGER }],
  ['waits that are not a number', { retryAfterMs: Number.NaN }, { retryAfterMs: null }],
  ['waits as text', { retryAfterMs: '5' }, { retryAfterMs: null }],
  ['negative waits', { retryAfterMs: -5 }, { retryAfterMs: 0 }],
  ['an unknown kind', { kind: 'odd' }, { kind: 'unknown', retryable: false }],
  ['an invalid status', { status: 'x', requestId: {} }, { status: null, requestId: null }],
  ['an invalid message', { message: { of: 1n } }, {}],
  ['a usage that JSON cannot represent', { usage: { input_tokens: 1n } }, {}],
  ['a decisive field of another type', { retryable: 'yes', billed: 7 }, { retryable: false, billed: 'unknown' }],
])('a model error is on record as JSON, also with %s', (_what, init, recorded) => {
  const error = new ModelError({ kind: 'server_error', message: 'x', ...init })
  expect(error.toRecord()).toMatchObject(recorded)
  expect(JSON.parse(JSON.stringify(error.toRecord()))).toEqual(error.toRecord())
  expect(JSON.parse(JSON.stringify(error))).toEqual(error.toJSON())
})

test.each<[string, unknown, unknown]>([
  ['both figures', { used: 210_000, limit: 200_000 }, { used: 210_000, limit: 200_000 }],
  ['only the limit', { used: null, limit: 200_000, more: 1 }, { used: null, limit: 200_000 }],
  ['an invalid count', { used: 0.5, limit: 200_000 }, { used: null, limit: 200_000 }],
  ['a count below one', { used: 0, limit: 8 }, { used: null, limit: 8 }],
  ['a limit of zero', { used: 5, limit: 0 }, undefined],
  ['a negative limit', { used: 5, limit: -1 }, undefined],
  ['a fractional limit', { used: 5, limit: 1.5 }, undefined],
  ['a limit without end', { used: 5, limit: Infinity }, undefined],
  ['a limit as text', { used: 5, limit: '200000' }, undefined],
  ['no figure', {}, undefined],
  ['null', null, undefined],
  ['a list', [5, 8], undefined],
])('the reported window of a service is on record: %s', (_what, reportedWindow, recorded) => {
  // Plain JavaScript code can pass any value.
  const contextLimit = reportedWindow as NonNullable<ModelErrorInit['contextLimit']>
  const error = new ModelError({ kind: 'prompt_too_long', message: 'x', contextLimit })
  expect([error.contextLimit, error.toRecord().contextLimit]).toEqual([recorded, recorded])
  expect('contextLimit' in error.toRecord()).toBe(recorded !== undefined)
  expect(new ModelError(error.toRecord()).toRecord()).toEqual(error.toRecord())
})

test('does not wait for a service that requests an endless wait', async () => {
  const { terminal, clock } = await run([{ error: { kind: 'rate_limit', message: 'x', retryAfterMs: Infinity } }])
  expect([terminal.reason, clock.now()]).toEqual(['model_error', 0])
})

describe('a reply without content', () => {
  test.each([
    ['no block', { text: '' }],
    ['white space', { text: ' \n' }],
  ] as const)('(%s) is requested once more, and charged both times', async (_what, empty) => {
    const { model, terminal, state, events } = await run([empty, 'answer'])
    expect([model.requests.length, terminal.reason, terminal.summary.assistantMessages]).toEqual([2, 'completed', 1])
    expect(state.spent.requests).toBe(2)
    const retry = events.find(({ type }) => type === 'retry')
    expect(retry).toMatchObject({ attempt: 1, delayMs: 0, error: { message: 'The reply was empty.' } })
  })

  test('is no answer when the second is empty too, and that is reported', async () => {
    const { model, terminal, events } = await run([{ text: '' }, { text: '' }, 'never'])
    expect([model.requests.length, terminal.reason]).toEqual([2, 'no_answer'])
    expect(events.filter(({ type }) => type === 'notice')).toEqual([
      { type: 'notice', message: 'The model returned an empty reply.' },
    ])
  })

  test('is not requested again without retries', async () => {
    const { model, events } = await run([{ text: '' }, 'never'], { maxRetries: 0 })
    expect(model.requests.length).toBe(1)
    expect(events.some(({ type }) => type === 'notice')).toBe(true)
  })

  test('is not a reply that was truncated, paused or refused', async () => {
    for (const stopReason of ['max_tokens', 'refusal'] as const) {
      const { events } = await run([{ text: '', stopReason }, 'answer', 'answer'])
      expect(events.some((event) => event.type === 'retry')).toBe(false)
    }
  })
})

describe('a service that was never reached', () => {
  const nowhere = { error: { kind: 'connection', message: 'No address is known.', neverConnected: true } } as const
  const calls = (count: number) => Array.from({ length: count }, () => nowhere)

  test('is tried twice again, and each attempt is reported at once', async () => {
    const { terminal, model, events } = await run(() => nowhere)
    expect([model.requests.length, terminal.reason]).toEqual([3, 'model_error'])
    expect(terminal.error).toMatchObject({ code: 'retries_exhausted', attempts: 3 })
    const retries = events.flatMap((event) => (event.type === 'retry' ? [event] : []))
    expect(retries.map(({ attempt, maxRetries, error }) => [attempt, maxRetries, error.message])).toEqual([
      [1, 2, 'No address is known.'],
      [2, 2, 'No address is known.'],
    ])
    expect(terminal.durationMs).toBeLessThan(1_000)
  })

  test('is not tried more often than maxRetries', async () => {
    for (const maxRetries of [0, 1]) {
      expect((await run(() => nowhere, { maxRetries })).model.requests.length).toBe(maxRetries + 1)
    }
  })

  test('no longer counts as such once it answered, even with an error', async () => {
    const failed = { error: { kind: 'server_error', message: 'x', status: 500 } } as const
    const { model, terminal } = await run([failed, ...calls(9), 'answer'])
    expect([model.requests.length, terminal.reason]).toEqual([11, 'completed'])
  })

  test('no longer counts as such in a later turn', async () => {
    const { model, terminal } = await run([{ toolCalls: [{ name: 'Nothing' }] }, ...calls(9), 'answer'])
    expect([model.requests.length, terminal.reason]).toEqual([11, 'completed'])
  })
})

describe('a reply that breaks because of its content', () => {
  const broken = (fingerprint: string) => ({ error: { kind: 'connection', message: 'x', fingerprint } }) as const

  test('is not requested a third time when it breaks twice the same way', async () => {
    const { model, terminal } = await run(() => broken('same'))
    expect([model.requests.length, terminal.reason]).toEqual([2, 'model_error'])
  })

  test('also with another failure in between', async () => {
    const failed = { error: { kind: 'server_error', message: 'x', status: 500 } } as const
    expect((await run([broken('a'), failed, broken('a'), 'answer'])).model.requests.length).toBe(3)
  })

  test('is requested again while it breaks in different ways', async () => {
    const { model, terminal } = await run([broken('a'), broken('b'), broken('c'), 'answer'])
    expect([model.requests.length, terminal.reason]).toEqual([4, 'completed'])
  })
})
