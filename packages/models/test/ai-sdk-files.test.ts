import type { ContentBlock, ModelMessage } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { call, requestOf } from './support/call.ts'
import { finish, scriptedParts, text } from './support/scripted-parts.ts'

// Tests R-WIRE-12d and R-WIRE-12e of docs/spec: files in tool results, and files that a model created.

interface Asked {
  readonly provider: string
  readonly modelId?: string
  readonly version?: 'v3' | 'v4'
}

interface Message {
  readonly role: string
  readonly content: readonly {
    readonly type: string
    readonly output?: { readonly type: string; readonly value: unknown }
  }[]
}

async function promptFor(messages: readonly ModelMessage[], { provider, modelId = 'm', version = 'v4' }: Asked) {
  const scripted = scriptedParts([...text('ok'), finish()], { provider })
  const model = { ...scripted, modelId, specificationVersion: version }
  await call(fromAiSdk(model), { request: requestOf({ messages }) })
  // The messages of both versions, limited to the fields that these tests read.
  return scripted.calls[0]?.prompt as unknown as readonly Message[]
}

const asked: ModelMessage = { role: 'user', content: 'hi' }
const png: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
const linked: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
const pdf: ContentBlock = {
  type: 'document',
  title: 'a.pdf',
  source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
}

function resultOf(content: readonly ContentBlock[], isError = false): readonly ModelMessage[] {
  return [
    asked,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'Shot', input: {} }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', content, ...(isError && { is_error: true }) }],
    },
  ]
}

const claude = { provider: 'anthropic.messages' }

describe('files in a tool result', () => {
  test('stay in it in order, if the package supports it', async () => {
    const prompt = await promptFor(resultOf([{ type: 'text', text: 'before' }, png, pdf, linked]), claude)
    expect(prompt.slice(2)).toEqual([
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'Shot',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'before' },
                { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' },
                { type: 'file', data: { type: 'data', data: 'BBBB' }, mediaType: 'application/pdf', filename: 'a.pdf' },
                {
                  type: 'file',
                  data: { type: 'url', url: new URL('https://example.com/a.png') },
                  mediaType: 'image/*',
                },
              ],
            },
          },
        ],
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
    ])
  })

  test('have the form of version 3 for a model of version 3', async () => {
    const prompt = await promptFor(resultOf([png, pdf, linked]), { ...claude, version: 'v3' })
    expect(prompt.at(-1)?.content[0]?.output?.value).toEqual([
      { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
      { type: 'file-data', data: 'BBBB', mediaType: 'application/pdf', filename: 'a.pdf' },
      { type: 'image-url', url: 'https://example.com/a.png' },
    ])
  })

  const bedrock = { provider: 'amazon-bedrock', modelId: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0' }
  const gemini3 = { provider: 'google.generative-ai', modelId: 'gemini-3-pro-preview' }
  test.each<[string, Asked, readonly ContentBlock[], boolean]>([
    ['an image for Bedrock', bedrock, [png, pdf], true],
    ['an address for Bedrock', bedrock, [linked], false],
    ['an image for another model of Bedrock', { ...bedrock, modelId: 'meta.llama4-maverick' }, [png], false],
    ['an image for Vertex', { provider: 'googleVertex.anthropic.messages' }, [png], true],
    ['an image for the Responses API', { provider: 'openai.responses' }, [png, linked, pdf], true],
    ['an image for Azure', { provider: 'azure.responses' }, [png], true],
    ['an image for xAI', { provider: 'xai.responses' }, [png], true],
    ['a PDF for xAI', { provider: 'xai.responses' }, [png, pdf], false],
    ['an image for Gemini 3', gemini3, [png, pdf], true],
    ['an address for Gemini 3', gemini3, [linked], false],
    ['an image for Gemini 2.5', { ...gemini3, modelId: 'gemini-2.5-pro' }, [png], false],
    ['an image for chat completions', { provider: 'openai.chat' }, [png], false],
    ['an image for Groq', { provider: 'groq.chat' }, [png], false],
    ['an image for Mistral', { provider: 'mistral.chat' }, [png], false],
    ['an image for an unknown package', { provider: 'new.chat' }, [png], false],
  ])('%s', async (_what, who, content, stays) => {
    const prompt = await promptFor(resultOf(content), who)
    const result = prompt.find(({ role }) => role === 'tool')?.content[0]
    expect(result?.output?.type).toBe(stays ? 'content' : 'text')
    expect(prompt.at(-1)?.role).toBe(stays ? 'tool' : 'user')
  })

  test('follow a result that is an error, which remains marked', async () => {
    const prompt = await promptFor(resultOf([{ type: 'text', text: 'no' }, png], true), claude)
    expect(prompt[2]?.content[0]?.output).toEqual({
      type: 'error-text',
      value: 'no\n[The file of this result follows below.]',
    })
    expect(prompt[3]?.content.map(({ type }) => type)).toEqual(['text', 'file'])
  })

  test('are sent once, to any model', async () => {
    const providers = [
      'anthropic.messages',
      'amazon-bedrock',
      'openai.responses',
      'xai.responses',
      'google.vertex.chat',
      'x.chat',
    ]
    const blocks = fc.constantFrom<ContentBlock>(png, pdf, linked, { type: 'text', text: 'words' })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...providers),
        fc.constantFrom('gemini-3-pro', 'anthropic.claude-sonnet-4-5', 'm'),
        fc.constantFrom('v3' as const, 'v4' as const),
        fc.array(blocks, { maxLength: 5 }),
        fc.boolean(),
        async (provider, modelId, version, content, isError) => {
          const prompt = await promptFor(resultOf(content, isError), { provider, modelId, version })
          const shown = JSON.stringify(prompt)
          const count = (piece: string) => shown.split(piece).length - 1
          expect(count('"AAAA"')).toBe(content.filter((block) => block === png).length)
          expect(count('"BBBB"')).toBe(content.filter((block) => block === pdf).length)
          expect(count('https://example.com/a.png')).toBe(content.filter((block) => block === linked).length)
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('a file that a model created', () => {
  const made = async (provider: string, metadata?: object) => {
    const parts = [
      ...text('Here it is.'),
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: 'AAAA' },
        ...(metadata !== undefined && { providerMetadata: metadata }),
      },
      finish(),
    ]
    const model = { ...scriptedParts(parts, { provider }), specificationVersion: 'v4' as const }
    return (await call(fromAiSdk(model, { id: 'maker' }))).reply!.message.content
  }

  const history = (content: readonly ContentBlock[], by?: string): readonly ModelMessage[] => [
    asked,
    { role: 'assistant', content, ...(by !== undefined && { by }) },
    { role: 'user', content: 'Is it blue?' },
  ]
  const file = { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' }
  const shownAgain = [
    { type: 'text', text: '[The image that you created earlier:]' },
    file,
    { type: 'text', text: 'Is it blue?' },
  ]

  test("becomes a block, and is sent back to Google's models with its signature", async () => {
    const google = { thoughtSignature: 'c2ln' }
    const content = await made('google.generative-ai', { google })
    expect(content[1]).toMatchObject({ type: 'image', source: { type: 'base64', data: 'AAAA' } })
    const prompt = await promptFor(history(content), { provider: 'google.generative-ai' })
    expect(prompt[1]?.content).toEqual([
      { type: 'text', text: 'Here it is.' },
      { ...file, providerOptions: { google } },
    ])
    expect(prompt[2]?.content).toEqual([{ type: 'text', text: 'Is it blue?' }])
  })

  test('is sent again in the next turn if the package would drop it', async () => {
    const content = await made('openrouter.chat')
    const prompt = await promptFor(history(content), { provider: 'openrouter.chat' })
    expect(prompt[1]?.content).toEqual([{ type: 'text', text: 'Here it is.' }])
    expect(prompt[2]?.content).toEqual(shownAgain)
  })

  test('is sent to another model without its signature', async () => {
    const content = await made('google.generative-ai', { google: { thoughtSignature: 'c2ln' } })
    const prompt = await promptFor(history(content, 'maker'), { provider: 'google.generative-ai', modelId: 'other' })
    expect(prompt[1]?.content).toEqual([{ type: 'text', text: 'Here it is.' }])
    expect(prompt[2]?.content).toEqual(shownAgain)
  })
})
