// The functions that create a model, with a name and options or with options alone, and the properties of such a model.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConfigurationError, run, type Model } from '@halting/core'
import { modelFacts } from '@halting/core/adapters'
import { anthropic, createPrices, openai, openaiCompatible, openaiResponses } from '../src/index.ts'
import { fromAiSdk } from '../src/ai-sdk/index.ts'

const usage = {
  input_tokens: 1_000,
  output_tokens: 1_000,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}
const baseUrl = 'http://127.0.0.1:9/v1'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** The facts of a model, without its functions. */
function factsOf(model: Model): unknown {
  return { ...modelFacts(model), prices: undefined, cost: model.prices?.cost(model.id, usage) }
}

/** The headers of one request of a model. */
async function headersOf(make: (fetch: typeof globalThis.fetch) => Model): Promise<Headers> {
  let headers = new Headers()
  const model = make((_url, init) => {
    headers = new Headers(init?.headers)
    return Promise.resolve(new Response('{}', { status: 400 }))
  })
  const request = { system: '', messages: [], tools: [], maxOutputTokens: 10, idempotencyKey: 'k' }
  await model.call(request, { signal: new AbortController().signal, emit: () => undefined }).catch(() => undefined)
  return headers
}

describe('accepts a name and options, or only options', () => {
  test.each([
    [
      'anthropic',
      anthropic('claude-sonnet-4-5', { apiKey: 'k', webSearch: false }),
      anthropic({ model: 'claude-sonnet-4-5', apiKey: 'k', webSearch: false }),
    ],
    ['openai', openai('gpt-5'), openai({ model: 'gpt-5' })],
    ['openaiResponses', openaiResponses('gpt-5', { id: 'mine' }), openaiResponses({ model: 'gpt-5', id: 'mine' })],
    ['openaiCompatible', openaiCompatible('tiny', { baseUrl }), openaiCompatible({ model: 'tiny', baseUrl })],
  ])('%s', (_name, short, long) => {
    expect(factsOf(short)).toEqual(factsOf(long))
  })

  test.each([
    ['undefined', undefined],
    ['a number', 4],
    ['null', null],
    ['a list', ['gpt-5']],
    ['no name', {}],
    ['an empty name', ''],
    ['a name that is not a string', { model: 4 }],
    ['invalid options', 'gpt-5', 'key'],
    ['options after options', { model: 'gpt-5' }, {}],
  ])('rejects %s and shows a valid call', (_what, ...given) => {
    for (const make of [anthropic, openai, openaiResponses, openaiCompatible]) {
      const call = (): unknown => Reflect.apply(make, undefined, given)
      expect(call).toThrow(ConfigurationError)
      expect(call).toThrow(new RegExp(`${make.name}\\('[a-z0-9.-]+', \\{ .* \\}\\) or ${make.name}\\(\\{ model: `))
    }
  })

  test('asks for the address of a service without one', () => {
    const call = (...given: unknown[]): unknown => Reflect.apply(openaiCompatible, undefined, given)
    const right = "openaiCompatible needs baseUrl, the address of the service: openaiCompatible('tiny', { baseUrl:"
    expect(() => call('tiny')).toThrow(right)
    expect(() => call({ model: 'tiny' })).toThrow(right)
  })
})

describe('prices', () => {
  test.each([
    anthropic('claude-sonnet-4-5'),
    openai('gpt-5'),
    openaiResponses('gpt-5'),
    openaiCompatible('anthropic/claude-sonnet-4-5', { baseUrl }),
    fromAiSdk({
      specificationVersion: 'v3',
      provider: 'openai',
      modelId: 'gpt-5',
      doStream: () => Promise.reject(new Error('unused')),
    }),
  ])('come from the snapshot with $id', ({ id, prices }) => {
    const expected = createPrices()
    expect(prices?.cost(id, usage)).toBeGreaterThan(0)
    expect(prices?.cost(id, usage)).toBe(expected.cost(id, usage))
    expect(prices?.leastPerToken?.(id)).toBe(expected.leastPerToken?.(id))
  })

  test('are missing for a model that the snapshot does not know', () => {
    const { id, prices } = openaiCompatible('tiny', { baseUrl })
    expect(prices?.cost(id, usage)).toBeUndefined()
    expect(prices?.worstCase(id, { inputTokens: 1, outputTokens: 1 })).toBeUndefined()
  })
})

describe('the key of the environment', () => {
  test("is sent to the service's own address by default", async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-of-the-environment')
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-environment-1')
    expect((await headersOf((fetch) => anthropic('claude-sonnet-4-5', { fetch }))).get('x-api-key')).toBe(
      'sk-ant-of-the-environment',
    )
    expect((await headersOf((fetch) => openai('gpt-5', { fetch }))).get('authorization')).toBe(
      'Bearer sk-of-the-environment-1',
    )
  })

  test('is read when a request needs it, and reported by its variable if it is missing', async () => {
    for (const [variable, make] of [
      ['ANTHROPIC_API_KEY', () => anthropic('claude-sonnet-4-5')],
      ['OPENAI_API_KEY', () => openai('gpt-5')],
    ] as const) {
      vi.stubEnv(variable, '')
      const model = make()
      const outcome = await run({ model, prompt: 'go' })
      expect([outcome.reason, outcome.message]).toEqual([
        'model_error',
        `Could not get an API key: ${variable} is not set. Set it, or pass apiKey.`,
      ])
      // An invalid key shows that the variable is read, without a request.
      vi.stubEnv(variable, '“key”')
      expect((await run({ model, prompt: 'go' })).message).toContain('A character in the API key cannot be sent')
    }
  })

  test('is sent nowhere else, and never replaces an explicit key', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-of-the-environment')
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-environment-1')
    const elsewhere = await headersOf((fetch) => anthropic('claude-sonnet-4-5', { fetch, baseUrl }))
    expect(elsewhere.get('x-api-key')).toBeNull()
    const compatible = await headersOf((fetch) => openaiCompatible('gpt-5', { fetch, baseUrl }))
    expect(compatible.get('authorization')).toBeNull()
    const token = await headersOf((fetch) => anthropic('claude-sonnet-4-5', { fetch, authToken: 'of-the-caller-12' }))
    expect([token.get('x-api-key'), token.get('authorization')]).toEqual([null, 'Bearer of-the-caller-12'])
  })
})

test.each(['baseURL', 'base_url', 'api_key', 'defaultHeaders'])(
  'rejects an option of another library, and sends no key to the default address: %s',
  (theirs) => {
    for (const make of [anthropic, openai, openaiCompatible]) {
      const given = { baseUrl, [theirs]: 'http://127.0.0.1:9' }
      expect(() => make('some-model', given)).toThrow(
        new RegExp(`has no option ${theirs}: it is (baseUrl|apiKey|headers)`),
      )
    }
  },
)
