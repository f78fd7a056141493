// Tests R-WIRE-11 of docs/spec: the rejection of a prompt includes the window size that the service reported.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openaiCompatible, openaiResponses } from '../src/openai/openai.ts'
import { serviceError, streamError } from '../src/service/service-error.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { refusals } from './support/context-limits.ts'
import { drawn } from './support/deep.ts'
import { startFaultServer } from './support/fault-server.ts'
import { startRawServer } from './support/raw-server.ts'

const labels = { name: 'the service', baseUrlSetting: 'URL', keySetting: 'KEY' }

function errorOf(status: number, body: string) {
  return serviceError({ status, headers: new Headers(), body, url: 'https://service.example', nowMs: 0 }, labels)
}

describe('reports limit and size of a refused request over HTTP', () => {
  const cases = refusals.map(([service, status, body, used, limit, includesOutput]) => ({
    service,
    status,
    body,
    said: limit === undefined ? undefined : { used, limit, ...(includesOutput && { includesOutput }) },
  }))
  test.each(cases)('$service, $status $body', async ({ status, body, said }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const server = await startRawServer(
      (response) => void response.writeHead(status, { 'content-type': type }).end(text),
    )
    const options = { model: 'm', baseUrl: `${server.url}/v1`, apiKey: 'key' }
    const models = [modelAt(server.url), openaiCompatible(options), openaiResponses(options)]
    for (const model of models) {
      const { kind, retryable, contextLimit } = recordOf((await call(model)).error)
      expect({ kind, retryable, contextLimit }).toEqual({
        kind: 'prompt_too_long',
        retryable: false,
        contextLimit: said,
      })
    }
  })

  test.each(['messages', 'chat', 'responses'] as const)('from the fault server, in %s', async (protocol) => {
    const plan = [{ answer: '400 prompt too long' }, { answer: '413' }] as const
    const server = await startFaultServer({ protocol, plan })
    try {
      const options = { model: 'm', baseUrl: `${server.url}/v1`, apiKey: 'key' }
      const models = {
        messages: modelAt(server.url),
        chat: openaiCompatible(options),
        responses: openaiResponses(options),
      }
      const model = models[protocol]
      const records = [recordOf((await call(model)).error), recordOf((await call(model)).error)]
      expect(records.map(({ kind, contextLimit }) => [kind, contextLimit])).toEqual([
        ['prompt_too_long', { used: 210_000, limit: 200_000 }],
        ['prompt_too_long', undefined],
      ])
    } finally {
      await server.close()
    }
  })

  test('in the middle of a stream', () => {
    const error = { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' }
    expect(streamError(error, null, 0)).toMatchObject({ kind: 'prompt_too_long', contextLimit: { used: 9, limit: 8 } })
    const inFields = { message: 'No.', type: 'exceed_context_size_error', n_ctx: 8, n_prompt_tokens: 9 }
    expect(streamError(inFields, null, 0).contextLimit).toEqual({ used: 9, limit: 8 })
  })

  test('with the excess, if that is all the service reports', () => {
    const { kind, contextLimit, excessTokens } = errorOf(
      400,
      '{"error":{"message":"prompt too long; exceeded max context length by 15935 tokens","type":"api_error"}}',
    )
    expect({ kind, contextLimit, excessTokens }).toEqual({
      kind: 'prompt_too_long',
      contextLimit: undefined,
      excessTokens: 15_935,
    })
  })

  test('under a success', () => {
    const body = '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum","type":"invalid_request_error"}}'
    expect(errorOf(200, body).contextLimit).toEqual({ used: 9, limit: 8 })
  })
})

describe('ignores figures in any other failure', () => {
  test.each([
    [400, 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.', 'invalid_request'],
    [401, "This model's maximum context length is 4096 tokens.", 'authentication_failed'],
    [429, "Slow down. This model's maximum context length is 4096 tokens.", 'rate_limit'],
    [429, 'Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.', 'rate_limit'],
    [400, 'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens', 'invalid_request'],
    [400, 'image exceeds the limit of 5 images', 'image'],
  ])('%i %s', (status, message, kind) => {
    const error = errorOf(status, JSON.stringify({ error: { message } }))
    expect([error.kind, error.contextLimit]).toEqual([kind, undefined])
  })
})

describe('for any message of a service', () => {
  const words = refusals.map(([, , body]) => (typeof body === 'string' ? body : JSON.stringify(body)))
  const number = fc.oneof(
    fc.bigInt({ min: -1n, max: 10n ** 30n }).map(String),
    fc.constantFrom('0', '-5', '1e9', '1,0', '1,000,00', '128k', '1.5', 'NaN', '٣', "1'000", '00012'),
  )
  const mangled = fc
    .tuple(fc.constantFrom(...words), fc.array(number, { minLength: 1, maxLength: 4 }), fc.string({ maxLength: 20 }))
    .map(([text, numbers, tail]) => {
      let index = 0
      return text.replaceAll(/\d+/g, () => numbers[index++ % numbers.length] ?? '') + tail
    })

  test('throws nothing, and a limit is a positive integer', () => {
    fc.assert(
      fc.property(
        fc.oneof(mangled, fc.string({ unit: 'binary' }), fc.json()),
        fc.constantFrom(200, 400, 413, 429, 500),
        (body, status) => {
          for (const error of [
            errorOf(status, body),
            streamError(body, null, 0),
            errorOf(status, JSON.stringify({ error: body })),
          ]) {
            const { contextLimit } = error.toRecord()
            if (contextLimit === undefined) continue
            const { used, limit } = contextLimit
            expect(Number.isSafeInteger(limit) && limit > 0).toBe(true)
            expect(used === null || (Number.isSafeInteger(used) && used > 0)).toBe(true)
            expect(error.kind).toBe('prompt_too_long')
          }
        },
      ),
      { numRuns: drawn(4_000) },
    )
  })
})
