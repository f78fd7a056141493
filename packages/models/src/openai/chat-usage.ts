import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { countOf } from '../json-fields.ts'

/** Usage as services of this kind report it, each a little otherwise; undefined when this is no report. */
export function readChatUsage(reported: Json | undefined): Usage | undefined {
  if (!isJsonObject(reported)) return undefined
  const completion = countOf(reported.completion_tokens)
  const told = countOf(reported.prompt_tokens)
  if (told === undefined || completion === undefined) return undefined
  const total = countOf(reported.total_tokens) ?? 0
  const output = withThought(reported, completion)
  // No request has an empty prompt: a nought is what a service gives that did not count, or not there.
  const prompt = told > 0 ? told : total - output
  if (prompt <= 0) return undefined
  const details = isJsonObject(reported.prompt_tokens_details) ? reported.prompt_tokens_details : {}
  const read = Math.min(
    prompt,
    countOf(details.cached_tokens) ?? countOf(reported.prompt_cache_hit_tokens) ?? countOf(reported.cached_tokens) ?? 0,
  )
  const written = Math.min(prompt - read, countOf(details.cache_write_tokens) ?? 0)
  return {
    input_tokens: prompt - read - written,
    output_tokens: Math.max(output, total - prompt),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  }
}

/** Some leave what was thought out of `completion_tokens`: then it can be more than these, and it is in the total. */
function withThought(reported: JsonObject, completion: number): number {
  const details = isJsonObject(reported.completion_tokens_details) ? reported.completion_tokens_details : {}
  const thought = countOf(details.reasoning_tokens) ?? 0
  return thought > completion ? completion + thought : completion
}
