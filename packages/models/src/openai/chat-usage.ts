import { isJsonObject } from '@halting/core'
import type { Json, JsonObject, Usage } from '@halting/core'

/** Usage as services of this kind report it, each a little otherwise; undefined when this is no report. */
export function readChatUsage(reported: Json | undefined): Usage | undefined {
  if (!isJsonObject(reported)) return undefined
  const prompt = count(reported, 'prompt_tokens')
  const completion = count(reported, 'completion_tokens')
  if (prompt === undefined || completion === undefined) return undefined
  const details = isJsonObject(reported.prompt_tokens_details) ? reported.prompt_tokens_details : {}
  const read = Math.min(
    prompt,
    count(details, 'cached_tokens') ??
      count(reported, 'prompt_cache_hit_tokens') ??
      count(reported, 'cached_tokens') ??
      0,
  )
  const written = Math.min(prompt - read, count(details, 'cache_write_tokens') ?? 0)
  // Some leave what was thought out of `completion_tokens`, but not out of the total.
  const total = count(reported, 'total_tokens') ?? 0
  return {
    input_tokens: prompt - read - written,
    output_tokens: Math.max(completion, total - prompt),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  }
}

function count(reported: JsonObject, field: string): number | undefined {
  const value = reported[field]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
