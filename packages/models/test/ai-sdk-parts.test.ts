import type { Json, JsonObject, ModelMessage, ModelRequest } from '@halting/core'
import { startRun, streamRun } from '@halting/core'
import { anthropic } from '../src/index.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import type { AiSdkOptions } from '../src/ai-sdk/index.ts'
import { call, requestOf } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf } from './support/recordings.ts'
import { finish, scriptedParts, text, usage } from './support/scripted-parts.ts'

// Tests R-WIRE-12c and R-WIRE-12f to R-WIRE-12k of docs/spec: the parts of version 4 other than text and calls.

const asked: ModelMessage = { role: 'user', content: 'hi' }

function modelOf(parts: readonly unknown[], provider = 'test.chat') {
  return { ...scriptedParts(parts, { provider }), specificationVersion: 'v4' as const }
}

async function contentOf(parts: readonly unknown[]) {
  return (await call(fromAiSdk(modelOf(parts)))).reply!.message.content
}

/** The options of one call, limited to the fields that these tests read. */
interface Options {
  readonly maxOutputTokens: number
  readonly reasoning?: string
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
  readonly prompt: readonly { readonly role: string; readonly providerOptions?: Json }[]
  readonly tools?: readonly { readonly providerOptions?: Json }[]
}

async function optionsFor(
  provider: string,
  request: Partial<ModelRequest>,
  { version = 'v4', modelId = 'm', ...options }: AiSdkOptions & { version?: 'v3' | 'v4'; modelId?: string } = {},
): Promise<Options> {
  const model = { ...scriptedParts([...text('ok'), finish()], { provider }), modelId }
  await call(fromAiSdk({ ...model, specificationVersion: version }, options), { request: requestOf(request) })
  return model.calls[0] as unknown as Options
}

test('records no usage that is nested without end', async () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)
  const raw = { iterations: [deep], server_tool_use: deep, cache_creation: deep }
  const parts = [...text('ok'), finish('stop', { usage: { ...usage, raw } })]
  const { reply, updates } = await call(fromAiSdk(modelOf(parts)))
  expect(reply?.message.usage).toMatchObject({ input_tokens: 7 })
  expect(JSON.stringify([reply, updates])).not.toContain('"a"')
})

describe('provider warnings', () => {
  const topK = { type: 'unsupported', feature: 'topK', details: 'Use topP.' }
  const warned = (warnings: readonly unknown[]) => [{ type: 'stream-start', warnings }, ...text('ok'), finish()]

  test('become notices of the run, each once per model', async () => {
    const model = fromAiSdk(modelOf(warned([topK, topK, { type: 'other', message: 'Slow today.' }])))
    const notices: string[] = []
    for (let runs = 0; runs < 2; runs++) {
      const run = streamRun(startRun({ prompt: 'hi' }), { model, maxTurns: 2 })
      for await (const event of run) if (event.type === 'notice') notices.push(event.message)
    }
    expect(notices).toEqual([
      'test.chat does not support "topK" for this model: Use topP.',
      'test.chat warns: Slow today.',
    ])
  })

  test.each<[unknown, string]>([
    [{ type: 'unsupported', feature: 'seed' }, 'test.chat does not support "seed" for this model'],
    [{ type: 'unsupported-setting', setting: 'seed' }, 'test.chat does not support "seed" for this model'],
    [
      { type: 'compatibility', feature: 'reasoning', details: 'mapped to low' },
      'test.chat handles "reasoning" differently for this model: mapped to low',
    ],
    [
      { type: 'deprecated', setting: 'user', message: 'Use safetyIdentifier.' },
      'test.chat reports that the option "user" is deprecated: Use safetyIdentifier.',
    ],
    [{ type: 'new', message: 'Hm.' }, 'test.chat warns: Hm.'],
  ])('%j', async (warning, words) => {
    const { reply } = await call(fromAiSdk(modelOf(warned([warning, null, {}, { type: 'unsupported' }]))))
    expect(reply?.warnings).toEqual([words])
  })
})

describe('the sources of a reply', () => {
  const page = { type: 'source', sourceType: 'url', id: '1', url: 'https://a.example/', title: 'A' }
  const book = {
    type: 'source',
    sourceType: 'document',
    id: '2',
    mediaType: 'application/pdf',
    title: 'B',
    filename: 'b.pdf',
  }

  test('become one block after the others, without duplicates', async () => {
    const untitled = { ...page, id: '3', url: 'https://c.example/', title: undefined }
    const content = await contentOf([
      page,
      ...text('So.'),
      book,
      { ...page, id: '9' },
      untitled,
      { ...page, url: 3 },
      finish(),
    ])
    expect(content).toMatchObject([
      { type: 'text', text: 'So.' },
      {
        type: 'ai_sdk_sources',
        sources: [
          { type: 'url', url: 'https://a.example/', title: 'A' },
          { type: 'document', title: 'B', filename: 'b.pdf', media_type: 'application/pdf' },
          { type: 'url', url: 'https://c.example/' },
        ],
      },
    ])
  })

  test('do not make a reply without content', async () => {
    const { error } = await call(fromAiSdk(modelOf([page, finish('other')])))
    expect(error).toMatchObject({ message: expect.stringContaining('without a reason') as string })
  })

  const cited = [
    ...text('So.').slice(0, 2),
    {
      type: 'text-end',
      id: '0',
      citations: [
        { source: page, startIndex: 0, endIndex: 3, citedText: 'so it is' },
        { source: book },
        { source: { type: 'source', sourceType: 'url', id: '4' } },
      ],
      providerMetadata: { test: { itemId: 'i' } },
    },
    finish(),
  ]

  test('become citations of the text that they support', async () => {
    const citations = [
      { type: 'web_search_result_location', url: 'https://a.example/', title: 'A', cited_text: 'so it is' },
      { type: 'document_citation', title: 'B', filename: 'b.pdf', media_type: 'application/pdf', cited_text: '' },
    ]
    expect(await contentOf(cited)).toMatchObject([{ type: 'text', text: 'So.', citations }])
  })

  test('are not sent to other services, which would reject them', async () => {
    const content = await contentOf([...cited.slice(0, -1), page, finish()])
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf([]))
    })
    const model = anthropic({ model: 'claude-test', baseUrl: server.url, apiKey: 'key' })
    await call(model, { request: requestOf({ messages: [asked, { role: 'assistant', content }, asked] }) })
    const { messages } = JSON.parse(String(server.bodies[0])) as { readonly messages: readonly Json[] }
    expect(messages[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'So.' }] })
  })
})

describe('the end of a reply', () => {
  test('has the stop sequence, the reason of a refusal and the container of Anthropic', async () => {
    const anthropic = {
      stopSequence: 'END',
      stopDetails: { type: 'refusal', category: 'bio' },
      container: { id: 'cnt_1', expiresAt: '2100-01-01T00:00:00Z', skills: null },
    }
    const { reply } = await call(
      fromAiSdk(modelOf([...text('ok'), finish('stop', { providerMetadata: { anthropic } })], 'anthropic.messages')),
    )
    expect(reply?.message).toMatchObject({
      stop_sequence: 'END',
      stop_details: { type: 'refusal', category: 'bio' },
      container: { id: 'cnt_1', expires_at: '2100-01-01T00:00:00Z' },
    })
  })

  test('names the container in the next request of the same model, unless the options do', async () => {
    const answer: ModelMessage = {
      role: 'assistant',
      content: [{ type: 'text', text: 'ok' }],
      container: { id: 'cnt_1' },
      by: 'm',
    }
    const messages = [asked, answer, asked]
    const mine = { anthropic: { container: { id: 'mine' }, effort: 'low' } }
    expect((await optionsFor('anthropic.messages', { messages })).providerOptions).toEqual({
      anthropic: { container: { id: 'cnt_1' } },
    })
    expect((await optionsFor('anthropic.messages', { messages }, { providerOptions: mine })).providerOptions).toEqual(
      mine,
    )
    expect((await optionsFor('anthropic.messages', { messages }, { id: 'other' })).providerOptions).toBe(undefined)
    expect((await optionsFor('openai.chat', { messages })).providerOptions).toBe(undefined)
  })
})

describe('usage', () => {
  const usageOf = async (reported: object) => {
    const { reply } = await call(
      fromAiSdk(modelOf([...text('ok'), finish('stop', { usage: { ...usage, ...reported } })])),
    )
    return reply?.message.usage
  }
  const written = { inputTokens: { total: 100, noCache: 10, cacheRead: 30, cacheWrite: 60 } }

  test('includes what Bedrock cached for an hour, which costs more', async () => {
    const cacheDetails = [
      { inputTokens: 40, ttl: '1h' },
      { inputTokens: 20, ttl: '5m' },
    ]
    expect(await usageOf({ ...written, raw: { inputTokens: 10, cacheDetails } })).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 40 },
    })
  })

  test('ignores one-hour writes above the total', async () => {
    const raw = { cacheDetails: [{ inputTokens: 400, ttl: '1h' }, null, { inputTokens: 'x', ttl: '1h' }] }
    expect(await usageOf({ ...written, raw })).toMatchObject({
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 60 },
    })
  })

  test("includes Gemini's thoughts, which its candidates exclude", async () => {
    const raw = { promptTokenCount: 100, candidatesTokenCount: 5, thoughtsTokenCount: 20, totalTokenCount: 125 }
    const outputTokens = { total: 25, text: 5, reasoning: 20 }
    expect(await usageOf({ outputTokens, raw })).toMatchObject({ output_tokens: 25 })
  })
})

describe('the Responses API', () => {
  const optionsOf = async (provider: string, providerOptions?: Record<string, JsonObject>) =>
    (await optionsFor(provider, {}, { providerOptions })).providerOptions

  test('stores nothing at the service', async () => {
    expect(await optionsOf('openai.responses')).toEqual({ openai: { store: false } })
    expect(await optionsOf('azure.responses')).toEqual({ azure: { store: false } })
    expect(await optionsOf('xai.responses')).toEqual({ xai: { store: false } })
    expect(await optionsOf('azure.responses', { openai: { user: 'u' } })).toEqual({
      openai: { user: 'u', store: false },
    })
    expect(await optionsOf('openai.chat')).toBe(undefined)
  })

  test.each([{ store: true }, { previousResponseId: 'resp_1' }, { conversation: 'conv_1' }])(
    'respects explicit options: %j',
    async (openai) => {
      expect(await optionsOf('openai.responses', { openai })).toEqual({ openai })
    },
  )
})

describe('the cache of Bedrock', () => {
  const request: Partial<ModelRequest> = {
    system: 'S',
    messages: [asked],
    tools: [{ name: 'A', description: '', input_schema: { type: 'object' } }],
  }
  const mark = { bedrock: { cachePoint: { type: 'default' } } }

  test.each([
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['anthropic.claude-3-7-sonnet-20250219-v1:0', true],
    ['amazon.nova-pro-v1:0', true],
    ['anthropic.claude-3-haiku-20240307-v1:0', false],
    ['anthropic.claude-v2:1', false],
    ['meta.llama4-maverick-17b-instruct-v1:0', false],
  ])('is marked for %s: %s', async (modelId, isMarked) => {
    const { prompt, tools } = await optionsFor('amazon-bedrock', request, { modelId })
    expect(prompt.map(({ providerOptions }) => providerOptions)).toEqual(
      isMarked ? [mark, mark] : [undefined, undefined],
    )
    expect(tools?.[0]?.providerOptions).toBe(undefined)
  })
})

describe('thinking', () => {
  const enabled = { type: 'enabled', budgetTokens: 4000 } as const
  const request = { maxOutputTokens: 10_000, thinking: enabled }

  test('is sent to Anthropic and Bedrock as a budget, which their packages add to the tokens of the reply', async () => {
    expect(await optionsFor('anthropic.messages', request)).toMatchObject({
      maxOutputTokens: 6000,
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 4000 } } },
    })
    expect(await optionsFor('amazon-bedrock', request)).toMatchObject({
      maxOutputTokens: 6000,
      providerOptions: { bedrock: { reasoningConfig: { type: 'enabled', budgetTokens: 4000 } } },
    })
  })

  test('is sent to Google as a budget, instead of a level', async () => {
    const google = { thinkingConfig: { thinkingLevel: 'high', includeThoughts: false }, safetySettings: [] }
    expect(await optionsFor('google.generative-ai', request, { providerOptions: { google } })).toMatchObject({
      maxOutputTokens: 10_000,
      providerOptions: {
        google: { thinkingConfig: { includeThoughts: false, thinkingBudget: 4000 }, safetySettings: [] },
      },
    })
    expect((await optionsFor('google.vertex.chat', request)).providerOptions).toEqual({
      vertex: { thinkingConfig: { includeThoughts: true, thinkingBudget: 4000 } },
    })
  })

  test('removes its options when it is disabled', async () => {
    const providerOptions = { anthropic: { thinking: { type: 'adaptive' }, effort: 'low' }, other: { a: 1 } }
    const off = { thinking: { type: 'disabled' } } as const
    expect(await optionsFor('anthropic.messages', off, { providerOptions })).toMatchObject({
      reasoning: 'none',
      providerOptions: { anthropic: { effort: 'low' }, other: { a: 1 } },
    })
    const options = await optionsFor('anthropic.messages', off, { version: 'v3' })
    expect(options).not.toHaveProperty('reasoning')
    expect(options).not.toHaveProperty('providerOptions')
  })

  test('preserves how adaptive thinking is shown', async () => {
    const providerOptions = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000, display: 'omitted' } } }
    const adaptive = { thinking: { type: 'adaptive' } } as const
    expect((await optionsFor('anthropic.messages', adaptive, { providerOptions })).providerOptions).toEqual({
      anthropic: { thinking: { type: 'adaptive', display: 'omitted' } },
    })
  })

  test('is ignored for a provider with a level and no budget', async () => {
    const providerOptions = { openai: { reasoningEffort: 'low' } }
    const options = await optionsFor('openai.chat', request, { providerOptions })
    expect(options).toMatchObject({ maxOutputTokens: 10_000, providerOptions })
    expect(options).not.toHaveProperty('reasoning')
  })

  test('never makes a reply longer than allowed, whatever sets the budget', async () => {
    const budget = fc.integer({ min: 1, max: 40_000 })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<[string, string, string]>(
          ['anthropic.messages', 'anthropic', 'thinking'],
          ['bedrock.anthropic.messages', 'anthropic', 'thinking'],
          ['amazon-bedrock', 'bedrock', 'reasoningConfig'],
          ['amazon-bedrock', 'amazonBedrock', 'reasoningConfig'],
        ),
        fc.integer({ min: 1, max: 40_000 }),
        fc.option(fc.oneof(budget, fc.constant('none given'))),
        fc.option(budget),
        async ([provider, name, field], maxOutputTokens, given, asked) => {
          const config = { type: 'enabled', ...(typeof given === 'number' && { budgetTokens: given }) }
          const sent = await optionsFor(
            provider,
            { maxOutputTokens, ...(asked !== null && { thinking: { type: 'enabled', budgetTokens: asked } }) },
            { providerOptions: { other: { a: 1 }, ...(given !== null && { [name]: { [field]: config } }) } },
          )
          const { other, ...reported } = sent.providerOptions ?? {}
          expect(other).toEqual({ a: 1 })
          const found = Object.values(reported).flatMap((options) => Object.values(options))
          // The package sends its own limit plus the budget.
          const budgets = found.map((options) => Number((options as JsonObject).budgetTokens))
          expect(sent.maxOutputTokens).toBeGreaterThan(0)
          expect(sent.maxOutputTokens + (budgets[0] ?? 0)).toBe(maxOutputTokens)
          expect(budgets.every((tokens) => tokens >= 1024)).toBe(true)
        },
      ),
      { numRuns: 200 },
    )
  })
})
