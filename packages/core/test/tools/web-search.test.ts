// Tests R-SEARCH-1 to R-SEARCH-5: the reservation for a question with web search covers the maximum bill.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject, textOf, type CompactionReply } from '../../src/entries/adapters.ts'
import {
  resume,
  startRun,
  streamRun,
  type AssistantMessage,
  type ContentBlock,
  type Model,
  type ModelRequest,
  type Prices,
  type RunOptions,
  type StepRecord,
  type Tool,
  type WebSearchUse,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, reader, resultTexts, run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** A dollar a token, and a hundred for each search. */
const fee = 100
const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output, server_tool_use: uses }) =>
    input + output + fee * (uses?.web_search_requests ?? 0),
  worstCase: (_model, { inputTokens, outputTokens, serverToolUses = 0 }) =>
    inputTokens + outputTokens + fee * serverToolUses,
}

const found: ContentBlock = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [{ type: 'web_search_result', url: 'https://a.example/1', title: 'One' }],
}

/** A service that searches as often as it may for each request, and bills what it read each time. */
function searching(modelParts: Partial<Model> = {}) {
  const requests: ModelRequest[] = []
  const model: Model = {
    id: 'searching',
    contextWindow: 3_000,
    maxOutputTokens: 500,
    webSearch: { domains: 'allowed and blocked' },
    ...modelParts,
    async call(request) {
      requests.push(request)
      const uses = request.webSearch?.maxUses ?? 0
      const message: AssistantMessage = {
        role: 'assistant',
        id: `msg_${requests.length}`,
        model: 'searching',
        content: uses === 0 ? [{ type: 'text', text: 'none' }] : [found, { type: 'text', text: 'One says so.' }],
        stop_reason: 'end_turn',
        usage: {
          input_tokens: 100 + uses * 3_000,
          output_tokens: 20,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          server_tool_use: { web_search_requests: uses },
        },
      }
      return { message }
    },
  }
  return { model, requests }
}

const replyText = (reply: CompactionReply): string =>
  reply.kind === 'answered'
    ? `${textOf(reply.message.content)} ${JSON.stringify(reply.message.content.map(({ type }) => type))}`
    : reply.kind === 'failed'
      ? reply.error.message
      : reply.kind

function world(webSearch: WebSearchUse | undefined, service = searching(), overrides: Partial<RunOptions> = {}) {
  const search: Tool = {
    ...reader('Search', async (_input, { ask }) => {
      const question = { system: 'Search.', messages: [{ role: 'user', content: 'x' }], maxOutputTokens: 100 } as const
      const reply = await ask?.({ ...question, model: service.model, ...(webSearch !== undefined && { webSearch }) })
      return reply === undefined ? 'nobody to ask' : replyText(reply)
    }),
    asksModel: true,
  }
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls('Search')),
    { maxOutputTokens: 500, contextWindow: 200_000 },
  )
  const options: RunOptions = {
    model,
    models: [service.model],
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [search],
    ...overrides,
  }
  return { options, requests: service.requests, model }
}

const startAny = (options: RunOptions) => streamRun(startRun({ prompt: 'go' }), options)
const searchedTwice = { server_tool_use: { web_search_requests: 2 } }

/** The reservation for the question. */
function grantIn(records: readonly StepRecord[]): { readonly tokens: number; readonly nanos: number } {
  for (const record of records) {
    const intent = record.type === 'intent' ? record.intent : null
    if (!isJsonObject(intent) || intent['model'] !== 'searching') continue
    return { tokens: Number(intent['tokens']), nanos: Number(intent['nanos']) }
  }
  throw new Error('the question was not asked')
}

describe('a question that searches the web', () => {
  test('reaches the model with its bounds, and the tool with the blocks of the reply', async () => {
    const webSearch = { maxUses: 2, allowedDomains: ['a.example'] }
    const { options, requests } = world(webSearch)
    const { terminal, state } = await run([], options as never)
    expect(requests.map((request) => request.webSearch)).toEqual([webSearch])
    expect(resultTexts({ state })).toEqual(['One says so. ["web_search_tool_result","text"]'])
    expect(terminal.summary.modelUsage['searching']).toMatchObject({
      costUsd: 6_120 + 2 * fee,
      usage: { server_tool_use: { web_search_requests: 2 } },
    })
  })

  test('is reserved with a fee and another full read for each search', async () => {
    const reservedFor = async (maxUses: number | undefined) => {
      const { options } = world(maxUses === undefined ? undefined : { maxUses }, searching(), { maxBudgetUsd: 1e6 })
      const { steps } = await run([], options as never)
      return grantIn(steps.records)
    }
    const without = await reservedFor(undefined)
    const [one, three] = [await reservedFor(1), await reservedFor(3)]
    expect(one.tokens - without.tokens).toBe(3_000)
    expect(three.tokens - without.tokens).toBe(9_000)
    expect(three.nanos - without.nanos).toBe((9_000 + 3 * fee) * 1e9)
  }) // prettier-ignore

  test('reserves once more per search for a pass that a long request triggers', async () => {
    const pass = { model: 'searching', uses: 1, inputTokens: 1_000, outputTokens: 50, fromInputTokens: 1 }
    const reserved = async (webSearch: WebSearchUse | undefined): Promise<number> => {
      const service = searching({ extraPasses: [pass] })
      const { steps } = await run([], world(webSearch, service, { maxTotalTokens: 1e9 }).options as never)
      return grantIn(steps.records).tokens
    }
    // One more search: the window read again, a pass that reads 1,000 and writes 50, and all of it read again after the pass.
    expect((await reserved({ maxUses: 2 })) - (await reserved({ maxUses: 1 }))).toBeGreaterThanOrEqual(3_000 + 1_050)
  })

  test.each([
    ['a model that cannot', { webSearch: undefined as never }, { maxUses: 1 }, 'searching cannot search the web.'],
    ['a list that it cannot apply', { webSearch: { domains: 'none' } }, { maxUses: 1, allowedDomains: ['a.example'] }, 'The web search of searching cannot keep to a list of allowed domains.'],
    ['blocked domains that it cannot apply', { webSearch: { domains: 'allowed' } }, { maxUses: 1, blockedDomains: ['a.example'] }, 'The web search of searching cannot keep to a list of blocked domains.'],
    ['no number of searches', {}, { maxUses: 0 }, 'maxUses of webSearch must be a whole number from 1 to 100.'],
    ['unlimited searches', {}, { maxUses: Infinity }, 'maxUses of webSearch must be a whole number from 1 to 100.'],
    ['both lists', {}, { maxUses: 1, allowedDomains: ['a'], blockedDomains: ['b'] }, 'webSearch takes either allowedDomains or blockedDomains, not both.'],
    ['an empty list', {}, { maxUses: 1, allowedDomains: [] }, 'allowedDomains of webSearch must be a list of domains that is not empty.'],
  ] as const)('%s is not asked, with the reason', async (_, modelParts, webSearch, expectedError) => {
    const { options, requests } = world(webSearch, searching(modelParts))
    const { state, terminal } = await run([], options as never)
    expect([resultTexts({ state }), requests, terminal.reason]).toEqual([[expectedError], [], 'completed'])
  }) // prettier-ignore

  test('a model with an invalid list of domains is rejected', async () => {
    const { options } = world({ maxUses: 1 }, searching({ webSearch: { domains: 'all' as never } }))
    expect(() => startAny(options)).toThrow("webSearch.domains must be 'allowed and blocked', 'allowed' or 'none'")
  })

  test('is answered from the record after a kill, and paid once', async () => {
    const webSearch = { maxUses: 2 }
    const completeRun = await run([], world(webSearch).options as never)
    for (let count = 1; count < completeRun.steps.records.length; count++) {
      const records = await killedAfter(count, { ...world(webSearch).options, maxBudgetUsd: 1e6 })
      const isAnswered = records.some((record) => record.type === 'result' && /\/asked\/[^/]+$/.test(record.key))
      const wasOpen = records.some((record) => record.type === 'intent' && /\/asked\/[^/]+$/.test(record.key))
      const after = world(webSearch)
      const { terminal, state } = await resume(records, { ...after.options, maxBudgetUsd: 1e6 }).loop.ended
      expect([count, after.requests.length]).toEqual([count, isAnswered ? 0 : 1])
      expect(resultTexts({ state })).toEqual(['One says so. ["web_search_tool_result","text"]'])
      // A question that was open when the process died is charged at its reservation, without a usage.
      const paid = isAnswered || !wasOpen ? terminal.summary.modelUsage['searching']?.usage : searchedTwice
      expect(paid).toMatchObject(searchedTwice)
    }
  }) // prettier-ignore

  test('exceeds no budget, however many searches it may make', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 500, max: 80_000 }), async (maxUses, usd) => {
        const { options } = world({ maxUses }, searching(), { maxBudgetUsd: usd })
        const { terminal } = await run([], options as never)
        expect(terminal.committedUsd).toBeLessThanOrEqual(usd)
      }),
      { numRuns: 40 },
    )
  })
})
