import type { JsonObject, ModelMessage } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { folder } from './support/ai-sdk-providers.ts'
import { startFake } from './support/features/fake.ts'
import type { PackageTitle } from './support/features/package-rows.ts'
import { packageServices } from './support/features/package-services.ts'
import { scenarios } from './support/features/scenarios.ts'
import { shownBy } from './support/features/service.ts'
import { signature } from './support/features/wire.ts'
import type { Reply } from './support/features/wire.ts'
import { call, requestOf } from './support/call.ts'

// Tests R-TABLE-2 and R-TABLE-3 of docs/spec: the features of each service through a provider package of the AI SDK, as
// complete runs of `query`. `npm run providers` installs the packages and runs these.

/** A model of a row, with a server that gives these answers. */
async function modelOf(title: PackageTitle, replies: readonly Reply[]) {
  const service = services.find((one) => one.title === title)
  if (service === undefined) throw new Error(`no row ${title}`)
  const fake = await startFake({ wire: service.wire, by: 'own' }, replies)
  return {
    model: service.modelAt(fake.url),
    bodies: () => fake.bodies.map((body) => JSON.parse(String(body)) as JsonObject),
  }
}

const services = folder === undefined ? [] : await packageServices()

describe.skipIf(folder === undefined).each(services.map((service) => [service.title, service] as const))(
  '%s',
  (_title, service) => {
    test.each(shownBy(service))('%s', async (column, by) => {
      await expect(scenarios[column](service, by)).resolves.toBe(undefined)
    })
  },
)

describe.skipIf(folder === undefined)('through the packages', () => {
  test('declares web search exactly for the models in the table', () => {
    const said = services.map(({ title, modelAt }) => [title, modelAt('http://127.0.0.1:1').webSearch !== undefined])
    expect(said).toEqual(services.map(({ title, cells }) => [title, typeof cells['web search'] === 'string']))
  })

  const thinking = { type: 'enabled', budgetTokens: 4000 } as const

  test.each<[PackageTitle, (body: JsonObject) => unknown, unknown]>([
    [
      'Microsoft Foundry, Claude',
      ({ max_tokens: most, thinking: how }) => [most, how],
      [9000, { type: 'enabled', budget_tokens: 4000 }],
    ],
    [
      'Vertex AI, Claude',
      ({ max_tokens: most, thinking: how }) => [most, how],
      [9000, { type: 'enabled', budget_tokens: 4000 }],
    ],
    [
      'Amazon Bedrock',
      ({ inferenceConfig, additionalModelRequestFields }) => [inferenceConfig, additionalModelRequestFields],
      [{ maxTokens: 9000 }, { thinking: { type: 'enabled', budget_tokens: 4000 } }],
    ],
    [
      'Google Gemini',
      ({ generationConfig }) => generationConfig,
      { maxOutputTokens: 9000, thinkingConfig: { includeThoughts: true, thinkingBudget: 4000 } },
    ],
    [
      'Vertex AI, Gemini',
      ({ generationConfig }) => generationConfig,
      { maxOutputTokens: 9000, thinkingConfig: { includeThoughts: true, thinkingBudget: 4000 } },
    ],
  ])("keeps the thinking budget of %s within the reply's tokens", async (title, sent, expected) => {
    const { model, bodies } = await modelOf(title, [{ text: 'So.' }])
    const { error } = await call(model, { request: requestOf({ maxOutputTokens: 9000, thinking }) })
    expect(error).toBe(undefined)
    expect(sent(bodies()[0]!)).toMatchObject(expected as object)
  })

  test('stores nothing at Azure OpenAI and xAI', async () => {
    for (const title of ['Azure OpenAI', 'xAI'] as const) {
      const { model, bodies } = await modelOf(title, [{ text: 'So.' }])
      await call(model)
      expect(bodies()[0]).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
    }
  })

  test('converts an image of Google Gemini to a block, and sends it back', async () => {
    const { model, bodies } = await modelOf('Google Gemini', [{ text: 'Here.', made: 'AAAA' }, { text: 'Blue.' }])
    const asked: ModelMessage = { role: 'user', content: 'Draw.' }
    const { reply } = await call(model, { request: requestOf({ messages: [asked] }) })
    const content = reply!.message.content
    expect(content[1]).toMatchObject({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
    })
    const answer: ModelMessage = { role: 'assistant', content, by: model.id }
    await call(model, { request: requestOf({ messages: [asked, answer, asked] }) })
    expect(bodies()[1]!.contents).toMatchObject([
      { role: 'user' },
      {
        role: 'model',
        parts: [
          { text: 'Here.' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: signature },
        ],
      },
      { role: 'user', parts: [{ text: 'Draw.' }] },
    ])
  })
})
