import { outputSchema, query } from '@halting/core'
import type { ContentBlock, JsonObject, MessageContent, QueryOptions, RunEvent, Tool } from '@halting/core'
import { expect } from 'vitest'
import { createPrices } from '../../../src/index.ts'
import type { Column } from './columns.ts'
import { startFake } from './fake.ts'
import type { AnsweredBy, Fake } from './fake.ts'
import { pricedAs } from './service.ts'
import type { Service } from './service.ts'
import { signature } from './wire.ts'
import type { Reply } from './wire.ts'

/** Runs use `query`, so that the tests show what a program gets. */
interface Ran {
  readonly fake: Fake
  readonly events: readonly RunEvent[]
  readonly result: JsonObject
  /** The requests, as they were sent. */
  readonly requests: readonly string[]
}

const look: Tool<{ at: string }> = {
  name: 'Look',
  description: 'Looks',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  readOnly: true,
  execute: ({ at }) => `a stone at ${at}`,
}

interface RunOptions {
  readonly prompt?: MessageContent
  readonly options?: Omit<QueryOptions, 'model'>
  readonly onEvent?: (event: RunEvent) => void
}

async function run(
  service: Service,
  by: AnsweredBy,
  replies: readonly Reply[],
  { prompt = 'What lies there?', options = {}, onEvent }: RunOptions = {},
): Promise<Ran> {
  const { wire, pathAtAimock } = service
  const fake = await startFake({ wire, by, ...(pathAtAimock !== undefined && { pathAtAimock }) }, replies)
  const events: RunEvent[] = []
  let result: JsonObject | undefined
  const messages = query({
    prompt,
    options: {
      system: 'Be brief.',
      maxTurns: 5,
      ...options,
      model: service.modelAt(fake.url),
      onEvent: (event) => {
        events.push(event)
        onEvent?.(event)
      },
    },
  })
  // The messages are JSON.
  for await (const message of messages) if (message.type === 'result') result = message as unknown as JsonObject
  if (result === undefined) throw new Error('no result')
  return { fake, events, result, requests: fake.bodies.map(String) }
}

const bluePoint = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const redPoint = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const call = (id: string, at: string) => ({ id, name: 'Look', input: { at } })
const done = { subtype: 'success', is_error: false }

export const scenarios: { readonly [C in Column]: (service: Service, by: AnsweredBy) => Promise<void> } = {
  text: async (service, by) => {
    const { result, requests, fake } = await run(service, by, [{ text: 'A stone, “ü”.' }])
    expect(result).toMatchObject({ ...done, result: 'A stone, “ü”.' })
    expect(requests).toHaveLength(1)
    expect(requests[0]).toContain('What lies there?')
    expect(requests[0]).toContain('Be brief.')
    const { header, begins } = service.signIn ?? { header: 'authorization', begins: 'Bearer key' }
    expect(fake.headers[0]?.[header]?.slice(0, begins.length)).toBe(begins)
  },

  tools: async (service, by) => {
    const replies = [{ calls: [call('call00001', 'x')] }, { text: 'Done.' }]
    const { result, requests } = await run(service, by, replies, { options: { tools: [look] } })
    expect(result).toMatchObject({ ...done, result: 'Done.', num_turns: 2 })
    expect(requests).toHaveLength(2)
    expect(requests[0]).toContain('"Look"')
    expect(requests[1]!.indexOf('a stone at x')).toBeGreaterThan(requests[1]!.indexOf('What lies there?'))
    if (service.hasCallIds !== false) expect(requests[1]!.split('call00001').length - 1).toBeGreaterThan(1)
  },

  'parallel calls': async (service, by) => {
    const replies = [{ calls: [call('call00001', 'x'), call('call00002', 'y')] }, { text: 'Done.' }]
    const { result, requests } = await run(service, by, replies, { options: { tools: [look] } })
    expect(result).toMatchObject({ ...done, result: 'Done.', num_turns: 2 })
    const [x, y] = ['a stone at x', 'a stone at y'].map((text) => requests[1]!.indexOf(text))
    expect(x).toBeGreaterThan(0)
    expect(y).toBeGreaterThan(x!)
  },

  'reasoning carried over': async (service, by) => {
    const replies = [{ reasoning: 'Hm, a place.', calls: [call('call00001', 'x')] }, { text: 'Done.' }]
    const { result, requests, events } = await run(service, by, replies, { options: { tools: [look] } })
    expect(result).toMatchObject({ ...done, result: 'Done.' })
    const thoughts = events.flatMap((event) =>
      event.type === 'model_update' && event.update.type === 'thinking_delta' ? [event.update.text] : [],
    )
    expect(thoughts.join('')).toBe('Hm, a place.')
    const carried = by === 'aimock' ? service.carriedByAimock : service.carried
    expect(requests[0]).not.toContain(carried ?? signature)
    expect(requests[1]).toContain(carried ?? signature)
  },

  images: async (service, by) => {
    const image = (data: string): ContentBlock => ({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data },
    })
    const shoot: typeof look = { ...look, execute: () => ({ content: [image(redPoint)] }) }
    const prompt = [{ type: 'text' as const, text: 'What is this?' }, image(bluePoint)]
    const replies = [{ calls: [call('call00001', 'x')] }, { text: 'Points.' }]
    const { result, requests } = await run(service, by, replies, { prompt, options: { tools: [shoot] } })
    expect(result).toMatchObject({ ...done, result: 'Points.' })
    expect(requests).toHaveLength(2)
    expect(requests[0]).toContain(bluePoint)
    // Each image is sent once, in the result of the tool or after it.
    for (const data of [bluePoint, redPoint]) {
      expect(requests[1]!.split(data).length - 1).toBe(1)
      // It is not part of JSON inside a text.
      expect(requests[1]).not.toContain(`\\"${data}`)
    }
  },

  PDFs: async (service, by) => {
    const data = Buffer.from('%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF').toString(
      'base64',
    )
    const pdf: ContentBlock = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }
    const prompt = [{ type: 'text' as const, text: 'What is this?' }, pdf]
    const { result, requests } = await run(service, by, [{ text: 'A page.' }], { prompt })
    expect(result).toMatchObject({ ...done, result: 'A page.' })
    expect(requests[0]).toContain(data)
  },

  cache: async (service, by) => {
    const prices = createPrices({ [pricedAs]: { input: 3, output: 15, cacheRead: 0.3 } })
    const usage = { input: 1000, output: 200, cached: 800 }
    const { result, requests } = await run(service, by, [{ text: 'A stone.', usage }], { options: { prices } })
    expect(result).toMatchObject({
      ...done,
      usage: { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 200 },
    })
    expect(result.total_cost_usd).toBeCloseTo(0.00384, 9)
    if (service.cacheMark !== undefined) expect(requests[0]).toContain(service.cacheMark)
  },

  'structured output': async (service, by) => {
    const output = outputSchema(numbers, { jsonSchema: { type: 'object', properties: { n: { type: 'number' } } } })
    const replies = [{ text: 'Four.' }, { text: '{"n":4}' }]
    const { result, requests } = await run(service, by, replies, { options: { output } })
    expect(result).toMatchObject({ ...done, structured_output: { n: 4 } })
    expect(requests).toHaveLength(2)
    expect(requests[1]).toContain('Four.')
  },

  'web search': async (service, by) => {
    const found = 'https://stones.example/'
    const keepsToDomains = service.modelAt('http://127.0.0.1:1').webSearch?.domains !== 'none'
    let blocks = ''
    const search: Tool = {
      name: 'Search',
      description: 'Searches',
      inputSchema: { type: 'object' },
      readOnly: true,
      asksModel: true,
      execute: async (_input, { ask }) => {
        const reply = await ask?.({
          system: 'Search.',
          messages: [{ role: 'user', content: 'stones' }],
          maxOutputTokens: 100,
          webSearch: { maxUses: 2, ...(keepsToDomains && { allowedDomains: ['stones.example'] }) },
        })
        blocks = JSON.stringify(reply)
        return 'found'
      },
    }
    const prices = createPrices({ [pricedAs]: { input: 3, output: 15, webSearch: 10 } })
    const usage = { input: 1000, output: 200 }
    const { result, requests } = await run(
      service,
      by,
      [
        { calls: [{ id: 'call00001', name: 'Search', input: {} }], usage },
        { text: 'Stones.', found, usage },
        { text: 'Done.', usage },
      ],
      { options: { prices, tools: [search] } },
    )
    expect(result).toMatchObject({ ...done, result: 'Done.' })
    expect(requests[1]).toContain(service.searchTool)
    expect(requests[1]?.includes('stones.example')).toBe(keepsToDomains)
    expect(requests[2]).not.toContain(service.searchTool)
    expect(blocks).toContain(found)
    // Three requests, and the fee of one search.
    expect(result.total_cost_usd).toBeCloseTo(0.018 + 0.01, 9)
  },

  abort: async (service, by) => {
    const controller = new AbortController()
    const replies = [{ text: 'stone '.repeat(200), isSlow: true as const }]
    const { result, fake } = await run(service, by, replies, {
      options: { signal: controller.signal },
      onEvent: (event) => {
        if (event.type === 'model_update' && event.update.type === 'text_delta') controller.abort()
      },
    })
    expect(result).toMatchObject({ is_error: true })
    await fake.released()
  },

  errors: async (service, by) => {
    const slowDown = { error: { status: 429, message: 'Slow down', type: 'rate_limit_error' } }
    const again = await run(service, by, [slowDown, { text: 'A stone.' }])
    expect(again.result).toMatchObject({ ...done, result: 'A stone.' })
    expect(kindsIn(again.events)).toEqual(['rate_limit'])
    const wrongKey = { error: { status: 401, message: 'Wrong key', type: 'authentication_error' } }
    const refused = await run(service, by, [wrongKey])
    expect(refused.result).toMatchObject({ is_error: true })
    expect(JSON.stringify(refused.result)).toContain('authentication_failed')
    expect(refused.requests).toHaveLength(1)
  },

  money: async (service, by) => {
    const prices = createPrices({ [pricedAs]: { input: 3, output: 15 } })
    const usage = { input: 1000, output: 200 }
    const replies = [
      { calls: [call('call00001', 'x')], usage },
      { text: 'Done.', usage },
    ]
    const { result } = await run(service, by, replies, { options: { prices, tools: [look] } })
    expect(result).toMatchObject({ ...done, usage: { input_tokens: 2000, output_tokens: 400 } })
    expect(result.total_cost_usd).toBeCloseTo(0.012, 9)
  },
}

const numbers = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof value === 'object' && value !== null && 'n' in value && typeof value.n === 'number'
        ? { value: { n: value.n } }
        : { issues: [{ message: 'n must be a number' }] },
  },
}

function kindsIn(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'retry' ? [event.error.kind] : []))
}
