import { certificate, createMemorySteps, streamRun, startRun } from '@halting/core'
import type { AnyTool, Json, JsonObject, RunOptions, Model, Prices, EndingReason } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { anthropic, openaiCompatible, openaiResponses } from '../../src/index.ts'
import { anyTerms, lastBehaviour } from './billing-behaviour.ts'
import type { ReplyBehaviour, Terms } from './billing-behaviour.ts'
import { chatWire } from './billing-chat-wire.ts'
import { messagesWire } from './billing-messages-wire.ts'
import { priceOf } from './billing-meter.ts'
import { anyAccount, passesOf, replyPasses, sumOf, tellChat, tellMessages, tellResponses } from './billing-passes.ts'
import type { Declared, DrawnAccount, Pass } from './billing-passes.ts'
import { makeReply } from './billing-reply.ts'
import { responsesWire } from './billing-responses-wire.ts'

/** All random values of one sequence of requests. */
export interface Sequence {
  readonly model: string
  readonly speaks: 'messages' | 'chat' | 'responses'
  readonly terms: Terms
  readonly requests: readonly { readonly reply: ReplyBehaviour; readonly account: DrawnAccount }[]
  readonly currency: 'usd' | 'tokens'
  /** The budget, as a multiple of the estimated highest cost of a first request. */
  readonly budget: number
  readonly maxSearches: number
  readonly compacts: boolean
  readonly advises: boolean
}

const anyReply: fc.Arbitrary<ReplyBehaviour> = fc
  .record({
    what: fc.constantFrom<ReplyBehaviour['what']>('calls', 'calls', 'calls', 'text'),
    bytes: fc.nat(400),
    hidden: fc.constantFrom(0, 0.5, 1),
    searches: fc.nat(2),
    found: fc.constantFrom(0, 0.01, 0.3, 1),
    cache: fc.constantFrom<ReplyBehaviour['cache']>('kept', 'forgotten', 'none'),
    isWrittenForAnHour: fc.boolean(),
  })
  .map((drawn) => ({ ...lastBehaviour, ...drawn, calls: ['read'] as const }))

export const anySequence: fc.Arbitrary<Sequence> = fc.record({
  model: fc.constantFrom('claude-haiku-4-5', 'claude-opus-5-5', 'tiered'),
  speaks: fc.oneof(
    { weight: 3, arbitrary: fc.constant('messages' as const) },
    { weight: 1, arbitrary: fc.constantFrom('chat' as const, 'responses' as const) },
  ),
  terms: anyTerms,
  requests: fc.array(fc.record({ reply: anyReply, account: anyAccount }), { minLength: 1, maxLength: 6 }),
  currency: fc.constantFrom('usd', 'tokens'),
  budget: fc.double({ min: 0.5, max: 10, noNaN: true }),
  maxSearches: fc.constantFrom(0, 0, 2),
  compacts: fc.boolean(),
  advises: fc.boolean(),
})

/** One request with its bill, and with the cost that the run assumed. */
export interface Settled {
  readonly picodollars: bigint
  readonly tokens: number
  readonly passes: readonly Pass[]
  readonly account: DrawnAccount
  readonly granted: Amount
  readonly charged: Amount & { readonly known: boolean }
}

interface Amount {
  readonly nanos: number
  readonly tokens: number
}

export interface RunOutcome {
  readonly reason: EndingReason
  /** In nano-dollars or tokens, depending on the sequence. */
  readonly limit: number
  readonly requests: readonly Settled[]
  readonly notices: readonly string[]
  readonly committed: Amount
  /** The most tokens according to the certificate. */
  readonly mostTokens: number
  readonly modelUsage: { readonly [model: string]: { readonly input: number; readonly output: number } }
}

const contextWindow = 30_000
const maxOutputTokens = 2_000
const adviser = { model: 'claude-opus-5-5', uses: 2, outputTokens: 1_024 } as const

const inputSchema = { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] } as const
const read: AnyTool = {
  name: 'read',
  description: 'Reads.',
  inputSchema,
  readOnly: true,
  execute: () => 'what is in there\n'.repeat(6),
}

/**
 * Runs a sequence against a service in this process that bills by its own price list. `sabotage` breaks something, to
 * verify that this is detected.
 */
export async function runSequence(
  drawn: Sequence,
  prices: Prices,
  sabotage: (model: Model) => Model = (model) => model,
): Promise<RunOutcome> {
  const wire = { messages: messagesWire, chat: chatWire, responses: responsesWire }[drawn.speaks]
  const cache = new Set<string>()
  const served: Pick<Settled, 'passes' | 'account'>[] = []
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    const body: unknown = JSON.parse(await new Response(init?.body).text())
    const order = wire.read(isJsonObject(body) ? body : {})
    const number = served.length + 1
    const { reply: behaviour, account } = drawn.requests[served.length] ?? { reply: lastBehaviour, account: quiet }
    const { terms, maxSearches } = drawn
    const plain = makeReply({ order, behaviour, terms, wire, number, maxSearches, contextWindow, cache })
    const passes = {
      messages: () => passesOf(plain, account, declaredBy(drawn)),
      chat: () => chatPass(plain.model, plain.bill),
      // It reports no passes. If the price depends on the prompt length, that is the total length.
      responses: () => chatPass(plain.model, sumOf(replyPasses(plain))),
    }[drawn.speaks]()
    const isMore = passes.some(({ type }) => type !== 'message')
    // If the price depends on the prompt length, the length must be known.
    const isByPass = isMore || account.isByPass || (drawn.model === 'tiered' && passes.length > 1)
    const tell = {
      messages: tellMessages(passes, account, isByPass),
      chat: tellChat(sumOf(passes), account),
      responses: tellResponses(sumOf(passes), account),
    }[drawn.speaks]
    served.push({ passes, account })
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(wire.events({ ...plain, usage: 'reported', tell }).join(''), { headers })
  }
  const limit = limitOf(drawn, prices)
  const grants: Amount[] = []
  const charges: Settled['charged'][] = []
  const steps = createMemorySteps({
    onRecord(record) {
      if (record.type === 'intent' && isGrant(record.intent)) grants.push(amountOf(record.intent))
      if (record.type !== 'result' || !isJsonObject(record.value) || !isJsonObject(record.value['charge'])) return
      const { charge } = record.value
      charges.push({ ...amountOf(charge), known: charge['known'] === true })
    },
  })
  const options: RunOptions = {
    model: sabotage(modelOf(drawn, fetch)),
    system: 'You are of help. '.repeat(6),
    tools: [read],
    prices,
    maxTurns: 12,
    minUsefulTokens: 50,
    ...(drawn.currency === 'usd' ? { maxBudgetUsd: limit / 1e9 } : { maxTotalTokens: limit }),
    steps,
  }
  const running = streamRun(startRun({ prompt: 'Do it, please.' }), options)
  const notices: string[] = []
  for await (const event of running) if (event.type === 'notice') notices.push(event.message)
  const { terminal, state } = await running.ended
  const { nanos, unknownNanos, totalTokens, modelUsage } = state.spent
  const { tokens } = certificate(options)
  return {
    reason: terminal.reason,
    limit,
    notices,
    committed: { nanos: nanos + unknownNanos, tokens: totalTokens },
    mostTokens: tokens.bounded ? tokens.value : 0,
    modelUsage: Object.fromEntries(
      Object.entries(modelUsage).map(([model, { usage }]) => {
        const input = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        return [model, { input, output: usage.output_tokens }]
      }),
    ),
    requests: served.map(({ passes, account }, index) => ({
      passes,
      account,
      picodollars: passes.reduce((sum, { model, bill }) => sum + priceOf(model, bill), 0n),
      tokens: passes.reduce((sum, { bill }) => sum + bill.promptTokens + bill.output, 0),
      granted: grants[index] ?? { nanos: 0, tokens: 0 },
      charged: charges[index] ?? { nanos: 0, tokens: 0, known: false },
    })),
  }
}

const quiet: DrawnAccount = {
  compaction: null,
  advice: [],
  cached: 0,
  hides: 'nothing',
  isByPass: false,
  course: 'level',
  tier: null,
  garbage: undefined,
}

function chatPass(model: string, bill: Pass['bill']): readonly Pass[] {
  return [{ type: 'message', model, bill }]
}

function isGrant(intent: Json): intent is JsonObject {
  return isJsonObject(intent) && intent['granted'] === true
}

function amountOf({ nanos, tokens }: JsonObject): Amount {
  return { nanos: Number(nanos), tokens: Number(tokens) }
}

function declaredBy({ compacts, advises }: Sequence): Declared {
  return { compactionTokens: compacts ? maxOutputTokens : null, adviser: advises ? adviser : null }
}

function modelOf({ model, speaks, maxSearches, compacts, advises }: Sequence, fetch: typeof globalThis.fetch): Model {
  const common = { model, apiKey: 'key', contextWindow, maxOutputTokens, defaultOutputTokens: 600, fetch }
  const baseUrl = 'http://127.0.0.1:9/v1'
  if (speaks === 'chat') return openaiCompatible({ ...common, baseUrl })
  if (speaks === 'responses') {
    const searches = { serverTools: [{ type: 'web_search' }], extraBody: { max_tool_calls: maxSearches } }
    return openaiResponses({ ...common, baseUrl, ...(maxSearches > 0 && searches) })
  }
  const serverTools = [
    ...(maxSearches > 0 ? [{ type: 'web_search_20250305', name: 'web_search', max_uses: maxSearches }] : []),
    ...(advises
      ? [
          {
            type: 'advisor_20260301',
            name: 'advisor',
            model: adviser.model,
            max_uses: adviser.uses,
            max_tokens: adviser.outputTokens,
          },
        ]
      : []),
  ]
  const edits = [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 1 } }]
  return anthropic({
    ...common,
    baseUrl: 'http://127.0.0.1:9',
    serverTools,
    ...(compacts && { contextManagement: { edits } }),
  })
}

/** The estimated highest cost of a first request, multiplied by the random factor. */
function limitOf(drawn: Sequence, prices: Prices): number {
  const isMessages = drawn.speaks === 'messages'
  const searches = drawn.speaks === 'chat' ? 0 : drawn.maxSearches
  const questions = drawn.advises && isMessages ? adviser.uses : 0
  const extra = (drawn.compacts && isMessages ? 1 + searches + questions : 0) + questions
  const inputTokens = 2_500 + searches * contextWindow + extra * 8_000
  const outputTokens = 600 + (drawn.compacts ? maxOutputTokens : 0)
  if (drawn.currency === 'tokens') return Math.ceil(drawn.budget * (inputTokens + outputTokens))
  const usd = prices.worstCase(drawn.model, { inputTokens, outputTokens, serverToolUses: searches }) ?? 0
  const asked =
    prices.worstCase(adviser.model, { inputTokens: questions * 9_000, outputTokens: questions * 1_024 }) ?? 0
  return Math.ceil(drawn.budget * (usd + asked) * 1e9)
}
