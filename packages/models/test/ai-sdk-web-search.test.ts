// Tests R-SEARCH-33 to R-SEARCH-36 of docs/spec: web search through provider packages of the AI SDK.
import { describe, expect, onTestFinished, test } from 'vitest'
import type { WebSearchUse } from '@halting/core'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { createPrices } from '../src/index.ts'
import { startScriptedServer } from '../src/scripted/index.ts'
import { createAnthropic } from './support/ai-sdk-providers.ts'
import { call, requestOf } from './support/call.ts'
import { finish, scriptedParts, text } from './support/scripted-parts.ts'

const allowed: WebSearchUse = { maxUses: 3, allowedDomains: ['a.example'] }
const blocked: WebSearchUse = { maxUses: 3, blockedDomains: ['b.example'] }

interface Asked {
  readonly provider: string
  readonly providerOptions?: NonNullable<Parameters<typeof fromAiSdk>[1]>['providerOptions']
  readonly modelId?: string
  readonly parts?: readonly unknown[]
  readonly use?: WebSearchUse
}

async function asked({ provider, providerOptions, modelId = 'test-model', parts = [...text('ok'), finish()], use = { maxUses: 3 } }: Asked) {
  const scripted = scriptedParts(parts, { provider })
  const model = fromAiSdk({ ...scripted, modelId }, { providerOptions })
  const { reply, error } = await call(model, { request: requestOf({ webSearch: use }) })
  const [options] = scripted.calls
  return { domains: model.webSearch?.domains, tools: options?.tools, options: options?.providerOptions, usage: reply?.message.usage, error }
} // prettier-ignore

describe('the web search of a provider', () => {
  test.each([
    ['anthropic.messages', 'allowed and blocked', allowed, { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3, allowedDomains: ['a.example'] } }],
    ['vertex.anthropic.messages', 'allowed and blocked', blocked, { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3, blockedDomains: ['b.example'] } }],
    ['openai.responses', 'allowed', allowed, { type: 'provider', id: 'openai.web_search', name: 'web_search', args: { filters: { allowedDomains: ['a.example'] } } }],
    ['xai.responses', 'allowed and blocked', blocked, { type: 'provider', id: 'xai.web_search', name: 'web_search', args: { excludedDomains: ['b.example'] } }],
  ] as const)('%s', async (provider, domains, use, tool) => {
    expect(await asked({ provider, use })).toMatchObject({ domains, tools: [tool] })
  }) // prettier-ignore

  test.each([
    ['google.generative-ai', 'gemini-3.8-flash', 'none'],
    ['google.vertex.chat', 'gemini-2.5-pro', 'none'],
    ['google.generative-ai', 'gemini-flash-latest', 'none'],
    ['google.generative-ai', 'gemma-4-31b-it', undefined],
    ['google.generative-ai', 'gemini-1.5-pro', undefined],
    ['amazon-bedrock', 'anthropic.claude-sonnet-5-5', undefined],
    ['bedrock.anthropic.messages', 'claude-sonnet-5-5', undefined],
    ['openai.chat', 'gpt-5', undefined],
    ['mistral.chat', 'mistral-large', undefined],
  ])('%s, %s', async (provider, modelId, domains) => {
    const tool = { type: 'provider', id: 'google.google_search', name: 'google_search', args: {} }
    expect(await asked({ provider, modelId })).toMatchObject({ domains, tools: domains === undefined ? undefined : [tool] })
  }) // prettier-ignore

  test('is limited even if the tool has no maximum', async () => {
    expect((await asked({ provider: 'openai.responses' })).options).toMatchObject({ openai: { maxToolCalls: 3 } })
    // Tools in the options keep their own call limits.
    const providerOptions = { openai: { maxToolCalls: 2 } }
    expect((await asked({ provider: 'openai.responses', providerOptions })).options).toMatchObject({
      openai: { maxToolCalls: 5 },
    })
  })
})

const grounded = (...webSearchQueries: readonly string[]) =>
  finish('stop', { providerMetadata: { google: { groundingMetadata: { webSearchQueries } } } })
const own = (id: string, type: string): readonly unknown[] => [
  { type: 'tool-call', toolCallId: id, toolName: 'web_search', input: '{}', providerExecuted: true },
  { type: 'tool-result', toolCallId: id, toolName: 'web_search', result: { action: { type } } },
]

describe('counts searches that the service does not report', () => {
  test.each<[string, Asked, number | undefined]>([
    ['each query, of Gemini 3 and later', { provider: 'google.generative-ai', modelId: 'gemini-3.8-flash', parts: [...text('x'), grounded('a', 'b')] }, 2],
    ['one, of a request to an earlier one', { provider: 'google.generative-ai', modelId: 'gemini-2.5-pro', parts: [...text('x'), grounded('a', 'b')] }, 1],
    ['none, without a search', { provider: 'google.generative-ai', modelId: 'gemini-2.5-pro', parts: [...text('x'), grounded()] }, undefined],
    ['calls, and not those that open a page', { provider: 'openai.responses', parts: [...own('1', 'search'), ...own('2', 'openPage'), ...own('3', 'search'), ...text('x'), finish()] }, 2],
    ['calls without further details', { provider: 'xai.responses', parts: [...own('1', ''), ...text('x'), finish()] }, 1],
  ])('%s', async (_, what, searches) => {
    const { usage, error } = await asked(what)
    expect([error, usage?.server_tool_use?.web_search_requests]).toEqual([undefined, searches])
  }) // prettier-ignore

  test("does not override the service's count, or complete unknown usage", async () => {
    const raw = { server_tool_use: { web_search_requests: 5 } }
    const reported = { inputTokens: { total: 1 }, outputTokens: { total: 1 }, raw }
    const parts = [...own('1', 'search'), ...text('x'), finish('stop', { usage: reported })]
    expect((await asked({ provider: 'anthropic.messages', parts })).usage?.server_tool_use).toEqual(raw.server_tool_use)
    const untold = [...own('1', 'search'), ...text('x'), finish('stop', { usage: { inputTokens: {}, outputTokens: {} } })]
    expect((await asked({ provider: 'xai.responses', parts: untold })).usage?.server_tool_use).toBeUndefined()
  }) // prettier-ignore
})

test('uses the tool of our own adapter through @ai-sdk/anthropic, and returns results with the fee', async () => {
  const server = await startScriptedServer({
    replies: [
      {
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [{ type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'e', page_age: null }],
          },
          'Found.',
        ],
        usage: { input_tokens: 40, output_tokens: 9, server_tool_use: { web_search_requests: 2 } },
      },
    ],
  })
  onTestFinished(() => server.close())
  const model = fromAiSdk(createAnthropic({ baseURL: `${server.url}/v1`, apiKey: 'key' })('claude-haiku-4-5'))
  const { reply, error } = await call(model, { request: requestOf({ webSearch: allowed }) })
  expect(error).toBeUndefined()
  expect(server.requests[0]?.body['tools']).toMatchObject([
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] },
  ])
  expect(reply?.message.usage.server_tool_use).toEqual({ web_search_requests: 2 })
  expect(JSON.stringify(reply?.message.content)).toContain('https://a.example/')
}) // prettier-ignore

test('knows the fees of other services', () => {
  const searched = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, server_tool_use: { web_search_requests: 100 } } // prettier-ignore
  const fee = (id: string) => createPrices().cost(id, searched)
  expect(fee('google/gemini-2.5-pro')).toBe(3.5)
  expect(fee('google/gemini-3.8-flash')).toBe(1.4)
  expect(fee('google/gemini-flash-latest')).toBe(3.5)
  expect(fee('google/gemma-4-31b-it')).toBe(0)
  expect(fee('xai/grok-4.6')).toBe(1)
})
