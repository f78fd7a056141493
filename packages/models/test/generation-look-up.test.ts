// Tests R-BUD-21d of docs/spec: OpenRouter reports the cost of a reply afterwards.
import type { JsonObject, Model } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { openai, openaiCompatible } from '../src/openai/openai.ts'
import { call } from './support/call.ts'
import { chunk, finish } from './support/chat-read.ts'
import { chatBytes } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

const generation = {
  id: 'gen-1',
  model: 'z-ai/glm',
  total_cost: 0.0015,
  is_byok: false,
  upstream_inference_cost: 0.0012,
  tokens_prompt: 10,
  tokens_completion: 25,
  native_tokens_prompt: 12,
  native_tokens_completion: 30,
  native_tokens_reasoning: 5,
  native_tokens_cached: 4,
}

/** A model of OpenRouter whose requests go to this machine. `asked` has the requests. */
async function routed(status: number, body: unknown, hangs = false) {
  const server = await startRawServer((response, request) => {
    if (request.method === 'POST') {
      beginStream(response)
      response.end(
        chatBytes([
          { ...chunk({ content: 'Yes.' }), id: 'gen-1' },
          { ...finish('stop'), id: 'gen-1' },
        ]),
      )
      return
    }
    if (hangs) return
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const asked: { readonly url: string; readonly key: string | null; readonly method: string }[] = []
  const model = openaiCompatible({
    model: 'z-ai/glm',
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKey: 'sk-or-1',
    fetch: (url, init) => {
      const { url: address, headers, method } = new Request(url, init)
      asked.push({ url: address, key: headers.get('authorization'), method })
      return fetch(server.url, init)
    },
  })
  return { model, asked }
}

const lookUp = (model: Model, id = 'gen-1', signal = new AbortController().signal) =>
  model.lookUpUsage?.(id, { signal })

describe('a model of OpenRouter', () => {
  test('is queried by the id that it reported first, and returns cost and tokens', async () => {
    const { model, asked } = await routed(200, { data: generation })
    const { updates } = await call(model)
    const [first] = updates
    expect(first).toMatchObject({ type: 'api_event', event: { type: 'message_start', message: { id: 'gen-1' } } })
    expect(await lookUp(model)).toEqual({
      usd: 0.0015,
      usage: { input_tokens: 8, output_tokens: 30, cache_creation_input_tokens: 0, cache_read_input_tokens: 4 },
    })
    expect(asked.slice(1)).toEqual([
      { url: 'https://openrouter.ai/api/v1/generation?id=gen-1', key: 'Bearer sk-or-1', method: 'GET' },
    ])
  })

  test("adds the fee and the provider's cost for a user's own key", async () => {
    const data = { ...generation, is_byok: true, total_cost: 0.5, upstream_inference_cost: 2 }
    expect(await lookUp((await routed(200, { data })).model)).toMatchObject({ usd: 2.5 })
    const untold = { ...data, upstream_inference_cost: null }
    expect(await lookUp((await routed(200, { data: untold })).model)).not.toHaveProperty('usd')
  })

  test('returns normalized tokens if there are no native ones', async () => {
    const data: JsonObject = {
      ...generation,
      native_tokens_prompt: null,
      native_tokens_completion: null,
      native_tokens_cached: null,
    }
    expect(await lookUp((await routed(200, { data })).model)).toMatchObject({
      usage: { input_tokens: 10, output_tokens: 25, cache_read_input_tokens: 0 },
    })
  })

  test.each([
    ['an id that it does not know', 404, { error: { code: 404, message: 'Generation gen-1 not found' } }],
    ['another generation', 200, { data: { ...generation, id: 'gen-2' } }],
    ['a page', 200, '<html>'],
    ['an answer without data', 200, { data: null }],
    ['a refused key', 401, { error: { message: 'No auth' } }],
  ])('returns nothing for %s', async (_what, status, body) => {
    expect(await lookUp((await routed(status, body)).model)).toBeUndefined()
  })

  test('returns no tokens for invalid counts', async () => {
    const data = { ...generation, native_tokens_prompt: 1.5 }
    expect(await lookUp((await routed(200, { data })).model)).toEqual({ usd: 0.0015 })
  })

  test('is not queried for an id of another kind', async () => {
    const { model, asked } = await routed(200, { data: generation })
    expect(await lookUp(model, 'chat-1')).toBeUndefined()
    expect(asked).toEqual([])
  })

  test('is not waited for after an abort', async () => {
    const { model, asked } = await routed(200, '', true)
    const abort = new AbortController()
    const answer = lookUp(model, 'gen-1', abort.signal)
    abort.abort(new Error('late'))
    await expect(answer).rejects.toThrow('late')
    expect(asked.length).toBeLessThanOrEqual(1)
  })
})

test('is the only kind that is queried', () => {
  const others = ['https://api.openai.com/v1', 'http://localhost:11434/v1', 'https://notopenrouter.ai/api/v1']
  for (const baseUrl of others)
    expect(openaiCompatible({ model: 'm', baseUrl, apiKey: 'k' })).not.toHaveProperty('lookUpUsage')
  expect(openai({ model: 'gpt-5', apiKey: 'k' })).not.toHaveProperty('lookUpUsage')
})
