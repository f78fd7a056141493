import { encodeEventStreamFrame } from '@copilotkit/aimock'
import type { Json, JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { folder } from './support/ai-sdk-providers.ts'
import { call, recordOf } from './support/call.ts'
import type { PackageTitle } from './support/features/package-rows.ts'
import { packageServices } from './support/features/package-services.ts'
import { written } from './support/features/wire.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

// Tests R-WIRE-12a and R-WIRE-12m of docs/spec: rejections of services through their packages. `npm run providers` runs
// these.

const services = folder === undefined ? [] : await packageServices()

function modelAt(title: PackageTitle, url: string) {
  const service = services.find((one) => one.title === title)
  if (service === undefined) throw new Error(`no row ${title}`)
  return service.modelAt(url)
}

const aws = (message: string): Json => ({ message })
const google = (code: number, status: string, message: string, details: readonly Json[] = []): Json => ({
  error: { code, message, status, details },
})
const openAi = (message: string, code: string): Json => ({
  error: { message, type: 'invalid_request_error', param: null, code },
})
const refused = { billed: 'nothing' } as const

const answers: readonly (readonly [PackageTitle, number, Json, JsonObject])[] = [
  ['Amazon Bedrock', 400, aws('Input is too long for requested model.'), { kind: 'prompt_too_long', retryable: false }],
  ['Amazon Bedrock', 429, aws('Too many tokens, please wait before trying again.'), { kind: 'rate_limit' }],
  [
    'Amazon Bedrock',
    403,
    aws("You don't have access to the model with the specified model ID."),
    { kind: 'authentication_failed', retryable: false },
  ],
  ['Amazon Bedrock', 400, aws('The provided model identifier is invalid.'), { kind: 'model_not_found' }],
  ['Amazon Bedrock', 400, aws('Malformed input request'), { kind: 'invalid_request', retryable: false }],
  [
    'Google Gemini',
    429,
    google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' },
    ]),
    { kind: 'rate_limit', retryAfterMs: 7000, retryable: true },
  ],
  [
    'Google Gemini',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
    { kind: 'prompt_too_long', contextLimit: { used: 1_200_000, limit: 1_048_576 } },
  ],
  [
    'Google Gemini',
    503,
    google(503, 'UNAVAILABLE', 'The model is overloaded.'),
    { kind: 'overloaded', retryable: true },
  ],
  ['Google Gemini', 400, google(400, 'INVALID_ARGUMENT', 'API key not valid.'), { kind: 'authentication_failed' }],
  ['Vertex AI, Gemini', 403, google(403, 'PERMISSION_DENIED', 'Permission denied'), { kind: 'authentication_failed' }],
  [
    'Azure OpenAI',
    404,
    openAi('The API deployment for this resource does not exist.', 'DeploymentNotFound'),
    { kind: 'model_not_found' },
  ],
  [
    'Azure OpenAI',
    429,
    openAi('Requests have exceeded call rate limit. Please retry after 6 seconds.', '429'),
    { kind: 'rate_limit', retryAfterMs: 6000 },
  ],
  [
    'xAI',
    400,
    {
      code: 'invalid-argument',
      error: "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    },
    { kind: 'prompt_too_long', contextLimit: { used: 200_000, limit: 131_072 } },
  ],
  ['xAI', 400, { code: 'invalid', error: 'Incorrect API key provided: ke***y.' }, { kind: 'authentication_failed' }],
  ['Groq', 498, openAi('Flex tier capacity exceeded', 'capacity_exceeded'), { kind: 'overloaded', retryable: true }],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: 3051,
    },
    { kind: 'prompt_too_long', contextLimit: { limit: 32_768 } },
  ],
]

describe.skipIf(folder === undefined)('an error response', () => {
  test.each(answers)('of %s is recognized: %i %j', async (title, status, body, expected) => {
    const server = await startRawServer((response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
    const { error } = await call(modelAt(title, server.url))
    expect(recordOf(error)).toMatchObject({ status, ...refused, ...expected })
  })
})

describe.skipIf(folder === undefined)('an error in a stream', () => {
  const late = { status: null, billed: 'unknown' }

  test.each([
    ['throttlingException', 'Slow down', { kind: 'rate_limit', retryable: true }],
    ['serviceUnavailableException', 'Busy', { kind: 'overloaded', retryable: true }],
    ['internalServerException', 'Ouch', { kind: 'server_error', retryable: true }],
    ['modelStreamErrorException', 'Ouch', { kind: 'server_error', retryable: true }],
    ['validationException', 'Input is too long for requested model.', { kind: 'prompt_too_long', retryable: false }],
    ['validationException', 'Malformed', { kind: 'invalid_request', retryable: false }],
  ])('of Bedrock is recognized: %s %s', async (type, message, expected) => {
    const headers = { ':message-type': 'exception', ':exception-type': type, ':content-type': 'application/json' }
    const exception = encodeEventStreamFrame(headers, Buffer.from(JSON.stringify({ message })))
    const { contentType, bytes } = written('bedrock', { text: 'So' })
    // Up to the end of the text, without any part of the message end.
    const text = bytes.subarray(0, Buffer.from(bytes).indexOf('messageStop') - 30)
    const failing = async (pieces: readonly Uint8Array[]) => {
      const server = await startRawServer((response) => {
        beginStream(response, { 'content-type': contentType })
        response.end(Buffer.concat(pieces))
      })
      return call(modelAt('Amazon Bedrock', server.url))
    }
    expect(recordOf((await failing([exception])).error)).toMatchObject({ ...late, ...expected })
    const { reply, error } = await failing([frames(text), exception])
    expect(recordOf(error ?? reply?.streamError)).toMatchObject({ ...late, ...expected })
    expect(reply?.message.content).toMatchObject([{ type: 'text', text: 'So' }])
  })

  const overloaded = { error: { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' } }
  const slowDown = { error: { message: 'Slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded' } }
  test.each<PackageTitle>(['Google Gemini', 'Azure OpenAI', 'xAI', 'Groq', 'Mistral'])(
    'of %s is recognized, even if its package has no schema for it',
    async (title) => {
      for (const [event, kind] of [
        [overloaded, 'overloaded'],
        [slowDown, 'rate_limit'],
      ] as const) {
        const server = await startRawServer((response) => {
          beginStream(response)
          response.end(`data: ${JSON.stringify(event)}\n\n`)
        })
        const { error } = await call(modelAt(title, server.url))
        expect(recordOf(error)).toMatchObject({ ...late, kind, retryable: true })
      }
    },
  )
})

/** The complete frames at the start of these bytes. Each starts with its length. */
function frames(bytes: Uint8Array): Uint8Array {
  const view = Buffer.from(bytes)
  let end = 0
  while (end + 4 <= view.length && end + view.readUInt32BE(end) <= view.length) end += view.readUInt32BE(end)
  return view.subarray(0, end)
}
