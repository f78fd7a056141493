// Failures of the Responses API, in a stream and instead of one: R-RESP-37b and R-RESP-37c of docs/spec.
import type { JsonObject } from '@halting/core'
import type { ModelErrorJson } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { openaiResponses } from '../src/openai/openai.ts'
import { call, recordOf } from './support/call.ts'
import { failures } from './support/chat-failures.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { created, done, ended, message } from './support/responses-read.ts'
import { responsesRecordings } from './support/responses-recordings.ts'

async function answerOf(events: readonly JsonObject[], headers: Readonly<Record<string, string>> = {}) {
  const server = await startRawServer((response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    beginStream(response)
    response.end(responsesBytes(events))
  })
  return call(openaiResponses({ model: 'm', baseUrl: server.url, apiKey: 'key' }))
}

type ServiceError = readonly [code: string, message: string, kind: ModelErrorJson['kind'], retryable: boolean]

const serviceErrors: readonly ServiceError[] = [
  ['server_error', 'An error occurred while processing your request.', 'server_error', true],
  ['rate_limit_exceeded', 'Rate limit reached for gpt-5 on tokens per min (TPM).', 'rate_limit', true],
  ['slow_down', 'Please slow down.', 'overloaded', true],
  ['server_is_overloaded', 'Our servers are currently overloaded.', 'overloaded', true],
  ['insufficient_quota', 'You exceeded your current quota.', 'billing_error', false],
  ['usage_not_included', 'To use this model, change your plan.', 'billing_error', false],
  ['context_length_exceeded', 'Your input exceeds the context window of this model.', 'prompt_too_long', false],
  ['invalid_prompt', 'Invalid prompt: it was flagged as violating our usage policy.', 'invalid_request', false],
  ['cyber_policy', 'This request was refused by our policy on cyber attacks.', 'invalid_request', false],
  ['bio_policy', 'This request was refused.', 'invalid_request', false],
  ['data_residency_mismatch', 'This region is not that of the project.', 'invalid_request', false],
  ['vector_store_timeout', 'It took too long.', 'timeout', true],
  ['image_too_large', 'It is too large.', 'image', false],
  ['failed_to_download_image', 'It could not be loaded.', 'image', false],
  ['image_content_policy_violation', 'It was refused.', 'image', false],
  ['invalid_api_key', 'Incorrect API key provided.', 'authentication_failed', false],
  ['model_not_found', 'The model `gpt-9` does not exist.', 'model_not_found', false],
  ['brand_new', 'Something broke.', 'server_error', true],
]

describe('an error in a stream has a kind by its name', () => {
  test.each(serviceErrors)('%s', async (code, said, kind, retryable) => {
    const error = { code, message: said }
    const shapes: readonly (readonly JsonObject[])[] = [
      [{ type: 'error', code, message: said, param: null, sequence_number: 3 }],
      [{ type: 'error', error: { type: code, code, message: said, param: null } }],
      [ended({ error, usage: null }, 'failed')],
    ]
    for (const shape of shapes) {
      const record = recordOf((await answerOf([created, ...shape])).error)
      expect(record).toMatchObject({ kind, retryable, billed: 'unknown', status: null })
      expect(record.message).toBe(`The service aborted its reply: ${said}`)
    }
  })

  test('in the recording', async () => {
    const { events } = responsesRecordings.find(({ name }) => name.startsWith('openai-error'))!
    expect(recordOf((await answerOf(events)).error).kind).toBe('billing_error')
  })

  test('with its retry time', async () => {
    const error = { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 7m12.5s.' }
    const record = recordOf((await answerOf([created, ended({ error }, 'failed')])).error)
    expect(record).toMatchObject({ kind: 'rate_limit', retryAfterMs: 432_500 })
  })

  test('with the context limit', async () => {
    const said =
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages."
    const error = { code: 'context_length_exceeded', message: said }
    const record = recordOf((await answerOf([created, ended({ error }, 'failed')])).error)
    expect(record.contextLimit).toEqual({ used: 204_308, limit: 128_000 })
  })

  test('and preserves complete content before it', async () => {
    const error = { code: 'server_error', message: 'It broke' }
    const { reply } = await answerOf([created, done(0, message('So.')), ended({ error }, 'failed')])
    expect(reply?.message).toMatchObject({ stop_reason: null, content: [{ type: 'text', text: 'So.' }] })
    expect(reply?.streamError).toMatchObject({ kind: 'server_error', retryable: true })
  })

  test('without any secret', async () => {
    const event = { type: 'error', code: 'invalid_api_key', message: 'Incorrect API key provided: secret-key-of-mine.' }
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(responsesBytes([created, event]))
    })
    const model = openaiResponses({ model: 'm', baseUrl: server.url, apiKey: 'secret-key-of-mine' })
    const { error, updates } = await call(model)
    expect(recordOf(error).message).not.toContain('secret-key')
    expect(JSON.stringify(updates)).not.toContain('secret-key')
  })
})

describe('an HTTP error has a kind by its status and message', () => {
  const services = failures.filter(([service]) => service === 'OpenAI')
  test.each(services.map(([, status, body, kind, retryable]) => ({ status, body, expected: { kind, retryable } })))(
    '$status $body',
    async ({ status, body, expected }) => {
      const server = await startRawServer((response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
      const model = openaiResponses({ model: 'm', baseUrl: server.url, apiKey: 'key' })
      expect(recordOf((await call(model)).error)).toMatchObject({ ...expected, status })
    },
  )

  test('also in a failed response that is not streamed', async () => {
    const { response: failed } = ended({ error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }, 'failed')
    const server = await startRawServer((response) => {
      const body = JSON.stringify({ object: 'response', ...(failed as JsonObject) })
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
    const model = openaiResponses({ model: 'm', baseUrl: server.url, apiKey: 'key' })
    expect(recordOf((await call(model)).error)).toMatchObject({
      kind: 'rate_limit',
      retryable: true,
      billed: 'unknown',
    })
  })
})
