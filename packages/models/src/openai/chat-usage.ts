import { isJsonObject } from '@halting/core'
import type { Json, JsonObject, Usage } from '@halting/core'

/** Usage as services of this kind report it, each a little otherwise; undefined when this is no report. */
export function readChatUsage(reported: Json | undefined): Usage | undefined {
  if (!isJsonObject(reported)) return undefined
  const prompt = count(reported, 'prompt_tokens')
  const completion = count(reported, 'completion_tokens')
  // No request has an empty prompt: noughts are what a service gives that did not count.
  if (prompt === undefined || completion === undefined || prompt + completion === 0) return undefined
  const details = isJsonObject(reported.prompt_tokens_details) ? reported.prompt_tokens_details : {}
  const read = Math.min(
    prompt,
    count(details, 'cached_tokens') ??
      count(reported, 'prompt_cache_hit_tokens') ??
      count(reported, 'cached_tokens') ??
      0,
  )
  const written = Math.min(prompt - read, count(details, 'cache_write_tokens') ?? 0)
  return {
    input_tokens: prompt - read - written,
    output_tokens: Math.max(
      completion,
      (count(reported, 'total_tokens') ?? 0) - prompt,
      withThought(reported, completion),
    ),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  }
}

/** Some leave what was thought out of `completion_tokens`: then it can be more than these, and it is in the total. */
function withThought(reported: JsonObject, completion: number): number {
  const details = isJsonObject(reported.completion_tokens_details) ? reported.completion_tokens_details : {}
  const thought = count(details, 'reasoning_tokens') ?? 0
  return thought > completion ? completion + thought : completion
}

function count(reported: JsonObject, field: string): number | undefined {
  const value = reported[field]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
