import { inputTokensOf, noUsage, type Usage, type UsageIteration } from './messages.ts'

/** The billed usage of one model within a request. */
export type BilledPart = { readonly model: string; readonly usage: Usage }

// Spec R-BUD-14.
/**
 * Splits the usage of a request whose passes are reported: one part per pass, because prices depend on the prompt size,
 * plus one for the difference to the totals. `asked` is the requested model, `named` the service's name of the model
 * that answered.
 */
export function billedParts(usage: Usage, asked: string, named: string): readonly BilledPart[] {
  const { iterations = [] } = usage
  // Another model answered instead: the totals are those of that model.
  const fallback = iterations.findLast(({ type }) => type === 'fallback_message')?.model ?? ''
  const modelOf = ({ type, model }: UsageIteration): string => {
    const isAsked = type === 'message' || (model ?? '') === '' || (fallback === '' && model === named)
    return isAsked ? asked : (model ?? asked)
  }
  const parts: BilledPart[] = []
  const hours = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  let hoursLeft = hours
  let inReply = noUsage
  let inAll = noUsage
  for (const entry of iterations) {
    const isReply = isReplyPass(entry)
    // A separate pass may not report the lifetime of its cache writes. The more expensive lifetime is assumed then.
    const counts = countsOf(entry, isReply ? hoursLeft : hours > 0 ? Infinity : 0)
    if (isReply) {
      hoursLeft -= Math.min(hoursLeft, counts.cache_creation?.ephemeral_1h_input_tokens ?? 0)
      inReply = plainSum(inReply, counts, 1)
    }
    const model = modelOf(entry)
    if (model === asked) inAll = plainSum(inAll, counts, 1)
    parts.push({ model, usage: counts })
  }
  // Some routers include every pass in the totals.
  const totalsPart = differenceToTotals(usage, hasSameCounts(usage, inAll) ? inAll : inReply, hoursLeft)
  if (totalsPart !== undefined) parts.push({ model: fallback === '' ? asked : fallback, usage: totalsPart })
  return parts
}

/** All prompt tokens of a request, including those of passes outside the reply. */
export function promptTokensOf(usage: Usage): number {
  let tokens = inputTokensOf(usage)
  for (const entry of usage.iterations ?? []) if (!isReplyPass(entry)) tokens += inputTokensOf(countsOf(entry, 0))
  return tokens
}

/** The length of the conversation after the last pass of a reply: tokens read and written. */
export interface LastPass {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Undefined if the requested model did not make the last pass, or the reply contains no pass. */
export function lastPassOf(usage: Usage): LastPass | undefined {
  const last = usage.iterations?.findLast((entry) => isReplyPass(entry) || entry.type === 'compaction')
  if (last === undefined) return { inputTokens: inputTokensOf(usage), outputTokens: usage.output_tokens }
  if (last.type !== 'message') return undefined
  return { inputTokens: inputTokensOf(countsOf(last, 0)), outputTokens: last.output_tokens }
}

function isReplyPass({ type }: UsageIteration): boolean {
  return type === 'message' || type === 'fallback_message'
}

/** @param hours Maximum number of tokens cached for one hour, if the pass itself does not report them. */
function countsOf(entry: UsageIteration, hours: number): Usage {
  const { input_tokens, output_tokens, cache_read_input_tokens: cacheReads } = entry
  const cacheWrites = entry.cache_creation_input_tokens ?? 0
  const counts = { ...noUsage, input_tokens, output_tokens, cache_read_input_tokens: cacheReads ?? 0 }
  return withCacheWrites(counts, cacheWrites, entry.cache_creation?.ephemeral_1h_input_tokens ?? hours)
}

function withCacheWrites(counts: Usage, cacheWrites: number, hours: number): Usage {
  const hour = Math.min(cacheWrites, hours)
  const usage = { ...counts, cache_creation_input_tokens: cacheWrites }
  if (hour === 0) return usage
  return {
    ...usage,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrites - hour, ephemeral_1h_input_tokens: hour },
  }
}

function plainSum(a: Usage, b: Usage, sign: 1 | -1): Usage {
  return {
    input_tokens: Math.max(0, a.input_tokens + sign * b.input_tokens),
    output_tokens: Math.max(0, a.output_tokens + sign * b.output_tokens),
    cache_creation_input_tokens: Math.max(0, a.cache_creation_input_tokens + sign * b.cache_creation_input_tokens),
    cache_read_input_tokens: Math.max(0, a.cache_read_input_tokens + sign * b.cache_read_input_tokens),
  }
}

function hasSameCounts(a: Usage, b: Usage): boolean {
  return (
    a.input_tokens === b.input_tokens &&
    a.output_tokens === b.output_tokens &&
    a.cache_creation_input_tokens === b.cache_creation_input_tokens &&
    a.cache_read_input_tokens === b.cache_read_input_tokens
  )
}

/** The difference between the totals and the sum of the passes, plus the fees, which only the totals contain. */
function differenceToTotals(usage: Usage, inReply: Usage, hoursLeft: number): Usage | undefined {
  const difference = plainSum(usage, inReply, -1)
  const { server_tool_use: served } = usage
  if (inputTokensOf(difference) + difference.output_tokens === 0 && served === undefined) return undefined
  const totalsPart = withCacheWrites(difference, difference.cache_creation_input_tokens, hoursLeft)
  return served === undefined ? totalsPart : { ...totalsPart, server_tool_use: served }
}
