import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { highest, isAbsent, noCountIn, numberOf } from '../usage-counts.ts'

/**
 * Usage as services of this kind report it, each a little otherwise; undefined when this is no report. What is no count
 * is handed on in the place of one, and so is a cache that is larger than its prompt, as what is left of it: core
 * judges both.
 */
export function readChatUsage(reported: Json | undefined): Usage | undefined {
  if (!isJsonObject(reported)) return undefined
  const { prompt_tokens: promptTokens, completion_tokens: completion, total_tokens: total } = reported
  if (isAbsent(promptTokens) || isAbsent(completion)) return undefined
  const details = isJsonObject(reported.prompt_tokens_details) ? reported.prompt_tokens_details : {}
  const cached = [details.cached_tokens, reported.prompt_cache_hit_tokens, reported.cached_tokens].reduce(highest)
  const written = details.cache_write_tokens
  const thought = thoughtIn(reported)
  const garbage = noCountIn([promptTokens, completion, total, cached, written, thought])
  // What a service says need not have the type.
  if (garbage !== undefined) return { ...noUsage, input_tokens: garbage as number }
  const output = withThought(numberOf(completion), numberOf(thought))
  // No request has an empty prompt: a nought is what a service gives that did not count, or not there.
  const prompt = numberOf(promptTokens) > 0 ? numberOf(promptTokens) : numberOf(total) - output
  if (prompt <= 0) return undefined
  return {
    input_tokens: prompt - numberOf(cached) - numberOf(written),
    output_tokens: Math.max(output, numberOf(total) - prompt),
    cache_creation_input_tokens: numberOf(written),
    cache_read_input_tokens: numberOf(cached),
  }
}

/** Reports of one reply: of a count that is told more than once the highest holds. */
export function mergeChatReports(before: JsonObject | undefined, reported: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(reported)) return before
  if (before === undefined) return reported
  const merged: { [field: string]: Json | undefined } = { ...before }
  for (const [field, value] of Object.entries(reported)) {
    const known = before[field]
    merged[field] = isJsonObject(value) && isJsonObject(known) ? mergeChatReports(known, value) : highest(known, value)
  }
  return merged
}

function thoughtIn({ completion_tokens_details: details }: JsonObject): Json | undefined {
  return isJsonObject(details) ? details.reasoning_tokens : undefined
}

/** Some leave what was thought out of `completion_tokens`: then it can be more than these, and it is in the total. */
function withThought(completion: number, thought: number): number {
  return thought > completion ? completion + thought : completion
}
