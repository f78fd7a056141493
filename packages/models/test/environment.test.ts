import { ConfigurationError } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { anthropic, modelFromEnvironment } from '../src/index.ts'
import { call } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings } from './support/recordings.ts'

const key = { ANTHROPIC_API_KEY: 'key' }

/** What a program is told before anything runs. */
function refusal(make: () => unknown): string {
  try {
    make()
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
  return 'accepted'
}

describe('the name chooses the model', () => {
  test.each([
    ['claude-sonnet-4-5', {}, 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4-5', {}, 'claude-sonnet-4-5'],
    ['anthropic/our-deployment', {}, 'our-deployment'],
    [undefined, { ANTHROPIC_MODEL: 'claude-opus-5' }, 'claude-opus-5'],
    ['claude-haiku-4-5', { ANTHROPIC_MODEL: 'claude-opus-5' }, 'claude-haiku-4-5'],
    [undefined, {}, 'claude-sonnet-5-5'],
  ])('%s with %j', (name, env, id) => {
    expect(modelFromEnvironment(name, { ...key, ...env }).id).toBe(id)
  })

  test.each(['gpt-5', 'openai/gpt-5', 'ollama/qwen', 'sonnet', 'anthropic/', ''])(
    '%j is refused with what is supported',
    (name) => {
      expect(refusal(() => modelFromEnvironment(name, key))).toBe(
        `No supported service has a model "${name}". Supported are Anthropic models: claude-…, or anthropic/ with any name ` +
          'that the service at ANTHROPIC_BASE_URL knows.',
      )
    },
  )
})

describe('a key is needed', () => {
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

describe('what no request can be made with is told before anything runs, without repeating a secret', () => {
  test.each([
    [{ ANTHROPIC_BASE_URL: 'gateway.example' }, /^The base URL "gateway\.example" is not the address/],
    [{ ANTHROPIC_BASE_URL: 'ftp://gateway.example' }, /is not the address/],
    [{ ANTHROPIC_BASE_URL: 'https://me:secret@gateway.example' }, /holds a user name or password/],
    [{ ANTHROPIC_API_KEY: '“secret”' }, /^A character in the API key cannot be sent/],
    [{ ANTHROPIC_AUTH_TOKEN: 'sec\nret' }, /^A character in the token cannot be sent/],
    [{ ANTHROPIC_CUSTOM_HEADERS: 'secret' }, /is no header/],
    [{ ANTHROPIC_CUSTOM_HEADERS: 'X Y: secret' }, /is no name for a header/],
    [{ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '0' }, /^CLAUDE_CODE_MAX_OUTPUT_TOKENS must be a whole number above 0, not "0"/],
    [{ API_TIMEOUT_MS: '10s' }, /^API_TIMEOUT_MS must be/],
  ])('%j', (env, expected) => {
    const message = refusal(() => modelFromEnvironment('claude-opus-5', { ...key, ...env }))
    expect(message).toMatch(expected)
    expect(message).not.toContain('secret')
  })
})

test('sizes come from the snapshot, the environment and the program, the last one first', () => {
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

test('requests go where the environment says, with its headers', async () => {
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
