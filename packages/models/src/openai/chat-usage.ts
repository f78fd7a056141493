import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { highest, isAbsent, noCountIn, numberOf } from '../usage-counts.ts'

/**
 * Parses usage in the various formats of chat completions services; undefined if it is missing. An invalid count is
 * passed on in place of the counts, because core validates them. If the cached tokens exceed the prompt, the negative
 * difference is passed on as well.
 */
export function readChatUsage(reported: Json | undefined): Usage | undefined {
  if (!isJsonObject(reported)) return undefined
  const { prompt_tokens: promptTokens, completion_tokens: completion, total_tokens: total } = reported
  if (isAbsent(promptTokens) || isAbsent(completion)) return undefined
  const details = isJsonObject(reported.prompt_tokens_details) ? reported.prompt_tokens_details : {}
  const cached = [details.cached_tokens, reported.prompt_cache_hit_tokens, reported.cached_tokens].reduce(highest)
  const cacheWritten = details.cache_write_tokens
  const thought = thoughtIn(reported)
  const garbage = noCountIn([promptTokens, completion, total, cached, cacheWritten, thought])
  // The service may send a value of another type.
  if (garbage !== undefined) return { ...noUsage, input_tokens: garbage as number }
  const output = withThought(numberOf(completion), numberOf(thought))
  // No prompt is empty: a zero means that the service did not count, or that it reported the count in another field.
  const prompt = numberOf(promptTokens) > 0 ? numberOf(promptTokens) : numberOf(total) - output
  if (prompt <= 0) return undefined
  return {
    input_tokens: prompt - numberOf(cached) - numberOf(cacheWritten),
    output_tokens: Math.max(output, numberOf(total) - prompt),
    cache_creation_input_tokens: numberOf(cacheWritten),
    cache_read_input_tokens: numberOf(cached),
  }
}

/** Merges the usage reports of one reply; of repeated counts the highest applies. */
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

/**
 * Adds reasoning that `completion_tokens` omits: in that case, the reasoning exceeds them, and the total includes it.
 */
function withThought(completion: number, thought: number): number {
  return thought > completion ? completion + thought : completion
}
