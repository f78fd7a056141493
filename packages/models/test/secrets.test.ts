// Tests R-WIRE-10 of docs/spec: no output has a secret that gives access to a model.
import { inspect } from 'node:util'
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { ConfigurationError } from '@halting/core'
import type { RunEvent, Model } from '@halting/core'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { anthropic, commandCredentials, modelFromEnvironment, openaiCompatible, openaiResponses } from '../src/index.ts'
import type { ServiceOptions } from '../src/service/endpoint.ts'
import { drawn, sampled } from './support/deep.ts'
import { runTo } from './support/fault-run.ts'
import { call } from './support/call.ts'
import { startRawServer } from './support/raw-server.ts'
import { scriptedParts, throwingModel } from './support/scripted-parts.ts'

afterEach(() => vi.unstubAllEnvs())

const signs = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'.split('')
const plain = fc.string({ unit: fc.constantFrom(...signs), minLength: 24, maxLength: 60 })
/** Keys as sent in a header: most ASCII characters. */
const anyKey = fc.oneof(
  plain,
  plain.map((key) => `sk-ant-${key}`),
  fc.string({ unit: fc.constantFrom(...signs, ...'-_.+/=&<>"\\\'%!'.split('')), minLength: 16, maxLength: 80 }),
)
/** Keys that nobody would mistake for a word. */
const telling = fc
  .tuple(fc.constantFrom('', 'sk-', 'sk-ant-api03-', 'gsk_', 'xai-', 'AIza'), plain)
  .map(([prefix, key]) => `${prefix}${key}7a`)

const protocols = ['messages', 'chat', 'responses'] as const
const places = ['apiKey', 'authToken', 'header', 'query', 'helper'] as const

/** What a service does with the received key. */
const echoes: Readonly<
  Record<
    string,
    (key: string) => {
      readonly status: number
      readonly type: string
      readonly body: string
      readonly requestId?: string
    }
  >
> = {
  'a 401': (key) => ({
    status: 401,
    type: 'application/json',
    body: JSON.stringify({
      type: 'error',
      error: { type: 'authentication_error', message: `invalid key ${key}!`, code: key },
    }),
  }),
  'a 401 in an unknown format': (key) => ({ status: 401, type: 'text/plain', body: `unknown: ${key}` }),
  'a page': (key) => ({
    status: 403,
    type: 'text/html',
    body: `<p>Key <b>${key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</b> is blocked`,
  }),
  'a truncated page': (key) => ({ status: 500, type: 'text/html', body: `${'x'.repeat(190)} ${key}` }),
  'a 404': (key) => ({ status: 404, type: 'text/plain', body: encodeURIComponent(key) }),
  'a redirect': (key) => ({
    status: 307,
    type: 'text/plain',
    body: '',
    location: `https://else.example/?k=${encodeURIComponent(key)}`,
  }),
  'a long message': (key) => ({
    status: 400,
    type: 'application/json',
    body: JSON.stringify({ error: { message: `${'y'.repeat(2_990)}${key}${'z'.repeat(980)}${key}` } }),
  }),
  'an id': (key) => ({ status: 529, type: 'application/json', body: '{}', requestId: encodeURIComponent(key) }),
  'a stream': (key) => ({
    status: 200,
    type: 'text/event-stream',
    body: `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: key, message: `${key} is wrong` } })}\n\n`,
  }),
  'a response that failed': (key) => ({
    status: 200,
    type: 'text/event-stream',
    body: `data: ${JSON.stringify({ type: 'response.failed', response: { error: { code: key, message: `no ${key}` } } })}\n\n`,
  }),
  'a stream in an unknown format': (key) => ({
    status: 200,
    type: 'text/event-stream',
    body: `event: error\ndata: no ${key}\n\n`,
  }),
  'a complete reply': (key) => ({
    status: 200,
    type: 'application/json',
    body: JSON.stringify({ error: { message: key, metadata: { raw: `{"message":${JSON.stringify(key)}}` } } }),
  }),
  'a type': () => ({ status: 200, type: 'text/html', body: '<p>Welcome' }),
}

/** All output of a run, as a program may print it. */
async function outputOf(model: Model): Promise<string> {
  const { error, updates } = await call(model)
  const run = await runTo('go', { model, maxRetries: 1 })
  const events: readonly RunEvent[] = run.events
  const look = { depth: 12, maxStringLength: null, maxArrayLength: null, showHidden: true } as const
  const thrown = error instanceof Error ? [error.message, error.stack, JSON.stringify(error)] : []
  return [
    inspect([error, updates], look),
    ...thrown,
    JSON.stringify([events, run.messages, run.terminal]),
    inspect(run.terminal, look),
  ].join('\n')
}

/** The forms of the key in the output. Even a part of it is too much if a text was truncated. */
function leaksOf(output: string, key: string): readonly string[] {
  const forms = [
    key,
    encodeURIComponent(key),
    JSON.stringify(key).slice(1, -1),
    inspect(key).slice(1, -1),
    Buffer.from(key).toString('base64'),
    key.slice(0, 10),
    key.slice(-10),
  ]
  return forms.filter((form) => output.includes(form))
}

function modelWith(
  protocol: (typeof protocols)[number],
  place: (typeof places)[number],
  url: string,
  key: string,
): Model {
  const options: ServiceOptions & { readonly baseUrl: string; readonly model: string } = {
    model: 'some-model',
    baseUrl: place === 'query' ? `${url}/?key=${encodeURIComponent(key)}` : url,
    ...(place === 'apiKey' && { apiKey: key }),
    ...(place === 'authToken' && { authToken: key }),
    ...(place === 'header' && { headers: { 'x-gateway-token': key } }),
    ...(place === 'helper' && { credentials: () => ({ apiKey: key, authToken: key }) }),
  }
  return { messages: anthropic, chat: openaiCompatible, responses: openaiResponses }[protocol](options)
}

describe('a key that a service repeats', () => {
  const cases = protocols.flatMap((protocol) =>
    places.flatMap((place) => Object.keys(echoes).map((echo) => ({ protocol, place, echo }))),
  )
  test.each(sampled(cases, { deep: 1, quick: 3 }))(
    'is redacted in $protocol, $place: in $echo',
    async ({ protocol, place, echo }) => {
      let key = ''
      const server = await startRawServer((response) => {
        const { status, type, body, requestId, location } = { location: undefined, ...echoes[echo]!(key) } as {
          readonly status: number
          readonly type: string
          readonly body: string
          readonly requestId?: string
          readonly location?: string
        }
        response.writeHead(status, {
          'content-type': type,
          ...(requestId !== undefined && { 'request-id': requestId }),
          ...(location !== undefined && { location }),
        })
        response.end(body)
      })
      await fc.assert(
        fc.asyncProperty(anyKey, async (drawnKey) => {
          key = drawnKey
          expect(leaksOf(await outputOf(modelWith(protocol, place, server.url, key)), key)).toEqual([])
        }),
        { numRuns: drawn(12) },
      )
    },
  )
})

describe('a key of an unreachable service', () => {
  test.each(protocols.flatMap((protocol) => places.map((place) => ({ protocol, place }))))(
    'is redacted in $protocol, $place: where nothing listens, and behind a proxy that requires a password',
    async ({ protocol, place }) => {
      await fc.assert(
        fc.asyncProperty(anyKey, async (key) => {
          expect(leaksOf(await outputOf(modelWith(protocol, place, 'http://127.0.0.1:9', key)), key)).toEqual([])
          vi.stubEnv('HTTP_PROXY', `http://user:${encodeURIComponent(key)}@127.0.0.1:9`)
          expect(leaksOf(await outputOf(modelWith(protocol, place, 'http://service.example', key)), key)).toEqual([])
          vi.unstubAllEnvs()
        }),
        { numRuns: drawn(8) },
      )
    },
  )

  test("is redacted if the host's `fetch` repeats it", async () => {
    await fc.assert(
      fc.asyncProperty(anyKey, async (key) => {
        const fetch = (input: unknown, init?: RequestInit): Promise<Response> =>
          Promise.reject(
            Object.assign(new TypeError(`fetch failed: ${String(input)}`), {
              init,
              cause: new Error(JSON.stringify(init?.headers)),
            }),
          )
        for (const place of ['apiKey', 'authToken', 'query'] as const) {
          const options = {
            model: 'm',
            fetch,
            baseUrl: `https://service.example/${place === 'query' ? `?api_key=${encodeURIComponent(key)}` : ''}`,
            ...(place !== 'query' && { [place]: key }),
          }
          expect(leaksOf(await outputOf(anthropic(options)), key)).toEqual([])
          expect(leaksOf(await outputOf(openaiCompatible(options)), key)).toEqual([])
        }
      }),
      { numRuns: drawn(8) },
    )
  })
})

describe('a key in a field that is meant for something else', () => {
  const quiet = async (make: () => unknown): Promise<string> => {
    try {
      await make()
    } catch (thrown) {
      if (!(thrown instanceof ConfigurationError)) throw thrown
      return `${thrown.message} ${inspect(thrown)}`
    }
    return ''
  }

  test("is not shown as a model's name", async () => {
    await fc.assert(
      fc.asyncProperty(telling, async (key) => {
        const env = { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key, OPENROUTER_API_KEY: key }
        for (const name of [
          key,
          `openai/${key}`,
          `openrouter/some/${key}`,
          `anthropic/${key}`,
          `nobody/${key}`,
          ` ${key} `,
        ]) {
          const output = await quiet(() => modelFromEnvironment(name, env))
          expect(output).toContain('not shown here')
          expect(leaksOf(output, key)).toEqual([])
        }
        expect(leaksOf(await quiet(() => modelFromEnvironment(key, {})), key)).toEqual([])
        expect(leaksOf(await quiet(() => modelFromEnvironment(undefined, { ANTHROPIC_MODEL: key })), key)).toEqual([])
        expect(leaksOf(await quiet(() => anthropic({ model: key, apiKey: key })), key)).toEqual([])
      }),
      { numRuns: drawn(100) },
    )
  })

  test('is not shown in an invalid address, or as one', async () => {
    await fc.assert(
      fc.asyncProperty(telling, async (key) => {
        const addresses = [
          key,
          `ht!tp://gw.example/?key=${key}`,
          `https//user:${key}@gw.example`,
          `https//gw.example/${key}/v1`,
          `https://user:${key}@gw.example`,
          `gw.example?token=${key}`,
          `ftp://${key}@gw`,
          `file:///${key}`,
        ]
        for (const baseUrl of addresses) {
          expect(leaksOf(await quiet(() => anthropic({ model: 'm', baseUrl })), key)).toEqual([])
          expect(leaksOf(await quiet(() => openaiCompatible({ model: 'm', baseUrl, apiKey: key })), key)).toEqual([])
        }
      }),
      { numRuns: drawn(100) },
    )
  })

  test('is not shown as a header, or an invalid one', async () => {
    await fc.assert(
      fc.asyncProperty(telling, async (key) => {
        expect(leaksOf(await quiet(() => anthropic({ model: 'm', apiKey: `${key}\n${key}` })), key)).toEqual([])
        expect(leaksOf(await quiet(() => anthropic({ model: 'm', headers: { [`${key} `]: 'x' } })), key)).toEqual([])
        expect(
          leaksOf(
            await quiet(() =>
              modelFromEnvironment('claude-x', { ANTHROPIC_CUSTOM_HEADERS: `${key} a: x`, ANTHROPIC_API_KEY: 'k' }),
            ),
            key,
          ),
        ).toEqual([])
      }),
      { numRuns: drawn(100) },
    )
  })

  test('is not shown in the errors of a key helper', async () => {
    await fc.assert(
      fc.asyncProperty(telling, async (key) => {
        for (const command of [
          `echo ${key} >&2`,
          `echo ${key}; echo 'bad ${key}' >&2; exit 1`,
          `echo "token=${key}," >&2; exit 1`,
          key,
        ]) {
          const model = anthropic({
            model: 'm',
            baseUrl: 'http://127.0.0.1:9',
            credentials: commandCredentials(command),
          })
          const { error } = await call(model)
          expect(error).toBeInstanceOf(Error)
          expect(leaksOf(`${inspect(error, { depth: 9, showHidden: true })} ${JSON.stringify(error)}`, key)).toEqual([])
        }
      }),
      { numRuns: drawn(8) },
    )
  })
})

describe('the AI SDK', () => {
  test('redacts a key in headers, in the environment, or of a known shape', async () => {
    await fc.assert(
      fc.asyncProperty(plain, async (drawnKey) => {
        const key = `sk-${drawnKey}`
        const thrown = Object.assign(new Error(`wrong ${key}`), {
          name: 'AI_APICallError',
          statusCode: 401,
          isRetryable: false,
          url: `https://s.example/?key=${key}`,
          requestBodyValues: { key },
          responseHeaders: { 'x-request-id': key },
          responseBody: JSON.stringify({ error: { message: `no ${key}` } }),
        })
        const part = { type: 'error', error: { type: 'x', message: key } } as unknown as LanguageModelV3StreamPart
        const strange = { type: 'strange', key } as unknown as LanguageModelV3StreamPart
        expect(
          leaksOf(
            await outputOf(fromAiSdk(throwingModel(thrown), { headers: { authorization: `Bearer ${key}` } })),
            key,
          ),
        ).toEqual([])
        expect(leaksOf(await outputOf(fromAiSdk(throwingModel(thrown))), key)).toEqual([])
        expect(leaksOf(await outputOf(fromAiSdk(scriptedParts([strange, part]))), key)).toEqual([])
        vi.stubEnv('SOME_API_KEY', drawnKey)
        expect(leaksOf(await outputOf(fromAiSdk(throwingModel(new Error(`no: ${drawnKey}`)))), drawnKey)).toEqual([])
        vi.unstubAllEnvs()
      }),
      { numRuns: drawn(20) },
    )
  })
})

test('redacts a key with tag characters completely', async () => {
  const key = 'abcdefghij<klm>nopqrstuvw7'
  const server = await startRawServer((response) => {
    response.writeHead(401, { 'content-type': 'text/plain' })
    response.end(`unknown: ${key}`)
  })
  expect(
    leaksOf(await outputOf(anthropic({ model: 'm', baseUrl: `${server.url}/?key=${encodeURIComponent(key)}` })), key),
  ).toEqual([])
})

test('does not redact a word instead of a key', () => {
  expect(anthropic({ model: 'scripted', apiKey: 'scripted', baseUrl: 'http://127.0.0.1:9' }).id).toBe('scripted')
})

test('leaves other texts unchanged', async () => {
  const server = await startRawServer((response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'request-id': 'req_011CSHoEeqs5C35K2UUqR7Fy' })
    response.end('{"error":{"message":"the key claude-sonnet-4-5-20250929 wants api-version 2024-02-01 … and a key"}}')
  })
  const model = anthropic({ model: 'm', apiKey: 'key', baseUrl: `${server.url}/?api-version=2024-02-01` })
  const { error } = await call(model)
  expect(error).toMatchObject({
    message: '400: the key claude-sonnet-4-5-20250929 wants api-version 2024-02-01 … and a key',
    requestId: 'req_011CSHoEeqs5C35K2UUqR7Fy',
  })
})

describe('recognizes a key', () => {
  const spelled = (form: (code: string) => string) => (key: string) =>
    [...Buffer.from(key)].map((code) => form(code.toString(16))).join('')
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const forms: readonly (readonly [string, (key: string) => string])[] = [
    ['in capitals', (key) => key.toUpperCase()],
    ['in small letters', (key) => key.toLowerCase()],
    ['percent-encoded', spelled((code) => `%${code}`)],
    ['percent-encoded in small letters', (key) => encodeURIComponent(key).toLowerCase()],
    ['escaped twice', spelled((code) => `\\u00${code}`)],
    ['with escaped strokes', (key) => key.replaceAll('/', '\\/')],
    ['as entities', spelled((code) => `&#x${code};`)],
    ['as entities in tens', (key) => [...Buffer.from(key)].map((code) => `&#${code};`).join('')],
    ['in hexadecimal digits', (key) => Buffer.from(key).toString('hex')],
    ['in base64', base64],
    ['in base64 without its end', (key) => base64(key).replaceAll('=', '')],
    ['in base64 for addresses', (key) => Buffer.from(key).toString('base64url')],
    ['in base64 with a name before it', (key) => base64(`user:${key}`)],
    ['in base64 as a header', (key) => base64(`Bearer ${key}`)],
    ['by its beginning', (key) => `${key.slice(0, 14)}... is no key`],
    ['by its end', (key) => `...${key.slice(-14)} is no key`],
  ]
  const keys = ['sk-ant-api03-SecretKeyabcdef1234567890XYZ', 'corp.Gateway/Secret+Key=0987']
  test.each(keys.flatMap((key) => forms.map(([name, form]) => [name, key, form] as const)))(
    'in %s: %s',
    async (_name, key, form) => {
      const said = form(key)
      const server = await startRawServer((response) => {
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: `no ${said} here`, type: 'authentication_error' } }))
      })
      const { error } = await call(anthropic({ model: 'claude-test', apiKey: key, baseUrl: server.url }))
      const output = inspect(error)
      expect(output).toContain('***')
      expect(output).not.toContain(said)
      for (let at = 0; at + 14 <= said.length; at++) expect(output).not.toContain(said.slice(at, at + 14))
    },
  )

  test('and leaves ordinary words, even if they have parts of one', async () => {
    const message = 'The local development server at http://localhost:8080/v1 takes no claude-test: check the key'
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', 'http://localhost:8080/v1/credentials.json')
    const server = await startRawServer((response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
    })
    for (const apiKey of ['local', 'development', 'local-development-key-1', 'check-the-local-key-that-is-mine']) {
      const { error } = await call(anthropic({ model: 'claude-test', apiKey, baseUrl: server.url }))
      expect(String(error)).toContain(message)
    }
  })
})
