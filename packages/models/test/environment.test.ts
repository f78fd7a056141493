import { ConfigurationError } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { anthropic, localServices, MissingKeyError, modelFromEnvironment } from '../src/index.ts'
import { call } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings } from './support/recordings.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { messageItem, replyEvents } from './support/responses-service.ts'

const key = { ANTHROPIC_API_KEY: 'key' }

/** The error that a program gets before anything runs. */
function refusal(make: () => unknown): string {
  try {
    make()
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
  return 'accepted'
}

describe('selects the model by its name', () => {
  test.each([
    ['claude-sonnet-4-5', {}, 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4-5', {}, 'claude-sonnet-4-5'],
    ['anthropic/our-deployment', {}, 'our-deployment'],
    [undefined, { ANTHROPIC_MODEL: 'claude-opus-5' }, 'claude-opus-5'],
    ['claude-haiku-4-5', { ANTHROPIC_MODEL: 'claude-opus-5' }, 'claude-haiku-4-5'],
    [undefined, {}, 'claude-sonnet-5-5'],
  ])('selects %s with %j', (name, env, id) => {
    expect(modelFromEnvironment(name, { ...key, ...env }).id).toBe(id)
  })

  const openAiKey = { OPENAI_API_KEY: 'key' }
  test.each([
    ['gpt-5', openAiKey, 'openai/gpt-5', 400_000],
    ['o3', openAiKey, 'openai/o3', 200_000],
    ['openai/gpt-5', openAiKey, 'openai/gpt-5', 400_000],
    ['openai/gpt-5', { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }, 'openai/gpt-5', 400_000],
    [
      'openai-compatible/org/model',
      { OPENAI_BASE_URL: 'https://vllm.example/v1' },
      'openai-compatible/org/model',
      128_000,
    ],
    ['ollama/qwen3:8b', {}, 'ollama/qwen3:8b', 128_000],
    ['openrouter/some/model', { OPENROUTER_API_KEY: 'key' }, 'openrouter/some/model', 128_000],
  ])('selects %s with %j as a model of its service', (name, env, id, contextWindow) => {
    expect(modelFromEnvironment(name, env as Record<string, string>)).toMatchObject({ id, contextWindow })
  })

  test.each(['sonnets', 'anthropic/', 'openai/', 'opal', 'nobody/model', ''])(
    'rejects %j and lists what is supported',
    (name) => {
      expect(refusal(() => modelFromEnvironment(name, key))).toBe(
        `No supported service has a model "${name}". Write claude-… or gpt-…, or put the service before the name: ` +
          'anthropic/, openai/, openai-compatible/, ollama/, llamacpp/, vllm/, lmstudio/, openrouter/, groq/, deepseek/, mistral/, ' +
          'xai/, google/, moonshotai/. openai-compatible/ is whatever OPENAI_BASE_URL points to.',
      )
    },
  )
})

describe("a service with OpenAI's protocols", () => {
  test.each([
    ['gpt-5', {}, 'No key for openai/gpt-5. Set OPENAI_API_KEY.'],
    ['gpt-5', key, 'No key for openai/gpt-5. Set OPENAI_API_KEY.'],
    ['groq/llama', {}, 'No key for groq/llama. Set GROQ_API_KEY.'],
    [
      'openai-compatible/mine',
      { OPENAI_API_KEY: 'key' },
      'openai-compatible/mine needs the address of its service. Set OPENAI_BASE_URL, like http://localhost:8000/v1.',
    ],
  ])('rejects %s with %j: %s', (name, env, message) => {
    expect(refusal(() => modelFromEnvironment(name, env as Record<string, string>))).toBe(message)
  })

  const requestTo = async (name: string, envAt: (url: string) => Record<string, string>) => {
    const seen: Record<string, unknown>[] = []
    const server = await startRawServer((response, request) => {
      seen.push({ url: request.url, ...request.headers })
      beginStream(response)
      if (request.url?.endsWith('/responses') === true) response.end(responsesBytes(replyEvents([messageItem('hi')])))
      else response.end('data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    })
    const { reply } = await call(modelFromEnvironment(name, envAt(server.url)))
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'hi' }])
    return { headers: seen[0], body: JSON.parse(server.bodies[0]!.toString()) as object }
  }

  test('is reached at its address with its key, organization and project', async () => {
    const { headers, body } = await requestTo('openai/gpt-5', (url) => ({
      OPENAI_BASE_URL: `${url}/v1/`,
      OPENAI_API_KEY: 'key',
      OPENAI_ORG_ID: 'org',
      OPENAI_PROJECT_ID: 'project',
      ANTHROPIC_API_KEY: 'not for them',
      ANTHROPIC_CUSTOM_HEADERS: 'X-Team: not for them',
    }))
    expect(headers).toMatchObject({
      url: '/v1/responses',
      authorization: 'Bearer key',
      'openai-organization': 'org',
      'openai-project': 'project',
    })
    expect(JSON.stringify(headers)).not.toContain('not for them')
    expect(body).toMatchObject({ model: 'gpt-5', max_output_tokens: 100, store: false, stream: true })
  })

  test.each([
    ['openai/gpt-5', '/v1/responses', {}],
    ['openai/gpt-5', '/v1/chat/completions', { HALTING_OPENAI_API: 'chat_completions' }],
    ['openai-compatible/gpt-5', '/v1/chat/completions', {}],
    ['openai-compatible/gpt-5', '/v1/responses', { HALTING_OPENAI_API: 'responses' }],
  ] as const)('is reached for %s at %s with %j', async (name, path, more) => {
    const { headers } = await requestTo(name, (url) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: 'key',
      ...more,
    }))
    expect(headers).toMatchObject({ url: path })
  })

  test('uses the API of the program before that of the variable, and rejects any other', () => {
    const env = { OPENAI_API_KEY: 'key', HALTING_OPENAI_API: 'responses' }
    const openai = { api: 'chat_completions' } as const
    expect(modelFromEnvironment('gpt-5', env).webSearch).toBeDefined()
    expect(modelFromEnvironment('gpt-5', env, { openai }).webSearch).toBeUndefined()
    expect(refusal(() => modelFromEnvironment('gpt-5', { ...env, HALTING_OPENAI_API: 'chat' }))).toBe(
      'HALTING_OPENAI_API must be responses or chat_completions, not "chat".',
    )
  })

  test.each([
    ['its address', (url: string) => url],
    ['its host and port', (url: string) => url.replace('http://', '')],
    ['every address', (url: string) => url.replace('http://127.0.0.1', '0.0.0.0')],
    ['its port', (url: string) => url.replace('http://127.0.0.1', '')],
    ['its address with a path', (url: string) => `${url}/v1/`],
  ])('finds Ollama where OLLAMA_HOST says: %s', async (_name, written) => {
    const { headers, body } = await requestTo('ollama/qwen3:8b', (url) => ({ OLLAMA_HOST: written(url) }))
    expect(headers).toMatchObject({ url: '/v1/chat/completions' })
    expect(headers).not.toHaveProperty('authorization')
    expect(body).toMatchObject({ model: 'qwen3:8b' })
  })
})

describe('local services', () => {
  test('are expected at their default ports, without a key', () => {
    expect(localServices({}).map(({ prefix, baseUrl, isOnThisMachine }) => [prefix, baseUrl, isOnThisMachine])).toEqual(
      [
        ['ollama', 'http://127.0.0.1:11434/v1', true],
        ['llamacpp', 'http://127.0.0.1:8080/v1', true],
        ['vllm', 'http://127.0.0.1:8000/v1', true],
        ['lmstudio', 'http://127.0.0.1:1234/v1', true],
      ],
    )
    for (const { prefix } of localServices({}))
      expect(modelFromEnvironment(`${prefix}/m`, {})).toMatchObject({ id: `${prefix}/m` })
  })

  test.each([
    ['http://gpu.example:8000/v1', false],
    ['http://localhost:9/v1', true],
    ['nonsense', false],
  ])('are expected where their variable says: %s', (baseUrl, isOnThisMachine) => {
    expect(localServices({ VLLM_BASE_URL: baseUrl })).toContainEqual({
      prefix: 'vllm',
      baseUrl,
      baseUrlVariable: 'VLLM_BASE_URL',
      isOnThisMachine,
    })
  })
})

test('report what is missing as data, too', () => {
  expect(() => modelFromEnvironment('groq/llama', {})).toThrow(
    expect.objectContaining({ code: 'configuration', model: 'groq/llama', keyVariables: ['GROQ_API_KEY'] }),
  )
  expect(() => modelFromEnvironment(undefined, {})).toThrow(MissingKeyError)
})

describe('requires a key', () => {
  const said = /^No key for claude-opus-5\. Set ANTHROPIC_API_KEY/
  test.each([
    [{}, said],
    [{ ANTHROPIC_API_KEY: ' ' }, said],
    [{ ANTHROPIC_BASE_URL: 'https://gateway.example' }, said],
    [key, /^accepted$/],
    [{ ANTHROPIC_AUTH_TOKEN: 'token' }, /^accepted$/],
    [{ ANTHROPIC_CUSTOM_HEADERS: 'Authorization: Basic abc' }, /^accepted$/],
    [{ ANTHROPIC_BASE_URL: 'http://127.0.0.1:8080' }, /^accepted$/],
    [{ ANTHROPIC_BASE_URL: 'http://localhost:8080/v' }, /^accepted$/],
    [{ ANTHROPIC_BASE_URL: 'http://[::1]:8080' }, /^accepted$/],
  ])('%j', (env, expected) => {
    expect(refusal(() => modelFromEnvironment('claude-opus-5', env))).toMatch(expected)
  })
})

describe('reports invalid settings before anything runs, without repeating a secret', () => {
  test.each([
    [{ ANTHROPIC_BASE_URL: 'gateway.example' }, /^The base URL "gateway\.example" is not the address/],
    [{ ANTHROPIC_BASE_URL: 'ftp://gateway.example' }, /is not the address/],
    [{ ANTHROPIC_BASE_URL: 'https://me:secret@gateway.example' }, /contains a user name or password/],
    [{ ANTHROPIC_API_KEY: '“secret”' }, /^A character in the API key cannot be sent/],
    [{ ANTHROPIC_AUTH_TOKEN: 'sec\nret' }, /^A character in the token cannot be sent/],
    [{ ANTHROPIC_CUSTOM_HEADERS: 'secret' }, /is not a header/],
    [{ ANTHROPIC_CUSTOM_HEADERS: 'X Y: secret' }, /is not a valid header name/],
    [{ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '0' }, /^CLAUDE_CODE_MAX_OUTPUT_TOKENS must be a whole number above 0, not "0"/],
    [{ API_TIMEOUT_MS: '10s' }, /^API_TIMEOUT_MS must be/],
  ])('%j', (env, expected) => {
    const message = refusal(() => modelFromEnvironment('claude-opus-5', { ...key, ...env }))
    expect(message).toMatch(expected)
    expect(message).not.toContain('secret')
  })
})

test('takes sizes from the snapshot, the environment and the program, in rising precedence', () => {
  const sizes = (env: Record<string, string>, settings = {}) => {
    const { contextWindow, maxOutputTokens, defaultOutputTokens } = modelFromEnvironment(
      'claude-sonnet-4-5',
      { ...key, ...env },
      settings,
    )
    return [contextWindow, maxOutputTokens, defaultOutputTokens]
  }
  expect(sizes({})).toEqual([200_000, 64_000, 32_000])
  expect(sizes({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000', CLAUDE_CODE_MAX_CONTEXT_TOKENS: '50000' })).toEqual([
    50_000, 64_000, 8000,
  ])
  expect(sizes({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '999999' })).toEqual([200_000, 64_000, 64_000])
  expect(sizes({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000' }, { defaultOutputTokens: 9000, apiKey: undefined })).toEqual([
    200_000, 64_000, 9000,
  ])
  expect(anthropic({ model: 'claude-opus-5-5' })).toMatchObject({ contextWindow: 1_000_000, maxOutputTokens: 128_000 })
})

test('sends requests where the environment says, with its headers', async () => {
  const seen: Record<string, unknown>[] = []
  const server = await startRawServer((response, request) => {
    seen.push(request.headers)
    beginStream(response)
    response.end(bytesOf(recordings[0]!.events))
  })
  const model = modelFromEnvironment('claude-opus-5', {
    ANTHROPIC_AUTH_TOKEN: 'token',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_CUSTOM_HEADERS: 'X-Team: ants: and bees\nX-Empty:\n',
  })
  await call(model)
  expect(seen[0]).toMatchObject({ authorization: 'Bearer token', 'x-team': 'ants: and bees', 'x-empty': '' })
  expect(JSON.parse(server.bodies[0]!.toString())).toMatchObject({ model: 'claude-opus-5' })
})
