import type { Json, JsonObject } from '@halting/core'
import * as fc from 'fast-check'
import type { Bill } from './billing-meter.ts'
import type { Reply } from './billing-wire.ts'

/** One pass of a request, as the service bills it. */
export interface Pass {
  readonly type: 'message' | 'compaction' | 'advisor_message'
  readonly model: string
  readonly bill: Bill
}

/** What a service does in addition to a reply, and how it reports everything. */
export interface DrawnAccount {
  /** A summary of the conversation before the reply, as a share of its longest possible output. */
  readonly compaction: number | null
  /** Questions to the adviser, each as a share of its longest possible output. */
  readonly advice: readonly number[]
  /** The share of each of these prompts that is in the cache. */
  readonly cached: number
  /** Executed although no option declares it. */
  readonly hides: 'nothing' | 'compaction' | 'advice'
  readonly isByPass: boolean
  /** How a count that is reported twice changes from the first report to the last. */
  readonly course: 'level' | 'rising' | 'falling' | 'end_only'
  readonly tier: 'standard' | 'priority' | null
  /** An invalid value instead of a count. */
  readonly garbage: Json | undefined
}

const share = fc.oneof(fc.constant(0), fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true }))

export const anyAccount: fc.Arbitrary<DrawnAccount> = fc.record({
  compaction: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, share),
  advice: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(share, { maxLength: 2 })),
  cached: share,
  hides: fc.oneof(
    { weight: 20, arbitrary: fc.constant('nothing' as const) },
    fc.constantFrom('compaction' as const, 'advice' as const),
  ),
  isByPass: fc.boolean(),
  course: fc.constantFrom('level', 'rising', 'falling', 'end_only'),
  tier: fc.constantFrom('standard', 'priority', null),
  garbage: fc.oneof(
    { weight: 20, arbitrary: fc.constant(undefined) },
    fc.constantFrom<Json>(-1, 2.5, 100_000_001, 'ten', [], {}),
  ),
})

/** The additional passes that a request may have according to its options. */
export interface Declared {
  readonly compactionTokens: number | null
  readonly adviser: { readonly model: string; readonly uses: number; readonly outputTokens: number } | null
}

/** A hidden pass is expensive: a long text by an expensive model. */
const hidden = { model: 'claude-fable-5', inputTokens: 20_000, outputTokens: 3_000 } as const

/** All passes of a request: those of the reply, and the additional ones. */
export function passesOf(reply: Reply, drawn: DrawnAccount, declared: Declared): readonly Pass[] {
  const [prompt = 0] = reply.reads
  const passes: Pass[] = []
  const beside = (type: Pass['type'], model: string, tokens: number, output: number): void => {
    const read = Math.floor(tokens * drawn.cached)
    passes.push({ type, model, bill: billOf({ input: tokens - read, read, output }) })
  }
  if (drawn.compaction !== null && declared.compactionTokens !== null)
    beside('compaction', reply.model, prompt, Math.floor(declared.compactionTokens * drawn.compaction))
  if (drawn.hides === 'compaction') beside('compaction', reply.model, hidden.inputTokens, hidden.outputTokens)
  if (drawn.hides === 'advice') beside('advisor_message', hidden.model, hidden.inputTokens, hidden.outputTokens)
  const asked: Pass[] = []
  const { adviser } = declared
  if (adviser !== null) {
    for (const part of drawn.advice.slice(0, adviser.uses)) {
      const output = Math.floor(adviser.outputTokens * part)
      beside('advisor_message', adviser.model, prompt, output)
      // The model that was asked reads the advice.
      asked.push({ type: 'message', model: reply.model, bill: billOf({ input: prompt + output }) })
    }
  }
  return [...passes, ...asked, ...replyPasses(reply)]
}

/** The passes of the reply alone. Each search causes another one. */
export function replyPasses({ reads, bill, model }: Reply): readonly Pass[] {
  const [prompt = 0, ...again] = reads
  const first = billOf({ ...bill, input: prompt - bill.read - bill.write5m - bill.write1h, output: 0 })
  const bills = [first, ...again.map((input) => billOf({ input }))]
  const last = bills.length - 1
  return bills.map((each, index) => ({
    type: 'message',
    model,
    bill: { ...each, output: index === last ? bill.output : 0, searches: index === 0 ? bill.searches : 0 },
  }))
}

function billOf(counts: Partial<Bill>): Bill {
  const bill = { input: 0, read: 0, write5m: 0, write1h: 0, output: 0, searches: 0, ...counts }
  return { ...bill, promptTokens: bill.input + bill.read + bill.write5m + bill.write1h }
}

/** The sum of the passes of the reply. */
export function sumOf(passes: readonly Pass[]): Bill {
  const sum = (count: keyof Bill): number => passes.reduce((all, { bill }) => all + bill[count], 0)
  return billOf({
    input: sum('input'),
    read: sum('read'),
    write5m: sum('write5m'),
    write1h: sum('write1h'),
    output: sum('output'),
    searches: sum('searches'),
  })
}

/**
 * The usage reports of the Messages API. They include a list of passes if there are additional ones, or if the random
 * account asks for it.
 */
export function tellMessages(passes: readonly Pass[], drawn: DrawnAccount, isByPass: boolean) {
  const sum = sumOf(passes.filter(({ type }) => type === 'message'))
  // At the start only the first prompt of the requested model is known.
  const first = passes.find(({ type }) => type !== 'advisor_message')?.bill ?? sum
  return (place: 'start' | 'end'): JsonObject => {
    if (place === 'start' && drawn.course === 'end_only') return {}
    const countOf = (count: number): number => onCourse(count, place, drawn)
    const { input, read, write5m, write1h } = isByPass && place === 'start' ? first : sum
    const usage = {
      input_tokens: countOf(input),
      output_tokens: place === 'start' ? 0 : sum.output,
      cache_read_input_tokens: countOf(read),
      cache_creation_input_tokens: countOf(write5m + write1h),
      cache_creation: { ephemeral_5m_input_tokens: countOf(write5m), ephemeral_1h_input_tokens: countOf(write1h) },
      server_tool_use: { web_search_requests: countOf(sum.searches) },
      ...(drawn.tier !== null && { service_tier: drawn.tier }),
      ...(isByPass && place === 'end' && { iterations: passes.map((pass) => iterationOf(pass)) }),
    }
    return drawn.garbage !== undefined && place === 'end' ? { ...usage, input_tokens: drawn.garbage } : usage
  }
}

function iterationOf({ type, model, bill }: Pass): JsonObject {
  return {
    type,
    ...(type === 'advisor_message' && { model }),
    input_tokens: bill.input,
    output_tokens: bill.output,
    cache_read_input_tokens: bill.read,
    cache_creation_input_tokens: bill.write5m + bill.write1h,
    cache_creation: { ephemeral_5m_input_tokens: bill.write5m, ephemeral_1h_input_tokens: bill.write1h },
  }
}

/** The usage reports of chat completions: one with the finish reason, one after it. */
export function tellChat(bill: Bill, drawn: DrawnAccount) {
  return (place: 'start' | 'end'): JsonObject => {
    if (place === 'start' && drawn.course === 'end_only') return {}
    const countOf = (count: number): number => onCourse(count, place, drawn)
    const prompt = countOf(bill.input + bill.read + bill.write5m)
    return {
      prompt_tokens: drawn.garbage !== undefined && place === 'end' ? drawn.garbage : prompt,
      completion_tokens: countOf(bill.output),
      prompt_tokens_details: { cached_tokens: countOf(bill.read), cache_write_tokens: countOf(bill.write5m) },
    }
  }
}

/** The usage reports of the Responses API: the one in its last event counts. */
export function tellResponses(bill: Bill, drawn: DrawnAccount) {
  return (place: 'start' | 'end'): JsonObject => {
    if (place === 'start' && drawn.course === 'end_only') return {}
    const input = bill.input + bill.read + bill.write5m
    return {
      input_tokens: drawn.garbage !== undefined && place === 'end' ? drawn.garbage : input,
      output_tokens: place === 'start' ? 0 : bill.output,
      input_tokens_details: { cached_tokens: bill.read, cache_write_tokens: bill.write5m },
    }
  }
}

/** The highest count is billed. */
function onCourse(count: number, place: 'start' | 'end', { course }: DrawnAccount): number {
  const isLow = (course === 'rising' && place === 'start') || (course === 'falling' && place === 'end')
  return isLow ? Math.floor(count / 3) : count
}
