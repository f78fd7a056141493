import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { isAbsent } from '../told-counts.ts'
import { readChatUsage } from '../openai/chat-usage.ts'

/**
 * The usage of a response; undefined where none is reported. `output_tokens` hold what was thought. `searches` are those
 * that were seen: they count where the service does not say how many it made.
 */
export function readResponsesUsage(response: JsonObject, searches: number): Usage | undefined {
  const { usage: reported } = response
  if (!isJsonObject(reported)) return undefined
  const usage = readChatUsage({
    prompt_tokens: reported.input_tokens,
    completion_tokens: reported.output_tokens,
    total_tokens: reported.total_tokens,
    prompt_tokens_details: reported.input_tokens_details,
    completion_tokens_details: reported.output_tokens_details,
  })
  if (usage === undefined) return undefined
  const count = reportedSearches(response.tool_usage) ?? (searches > 0 ? searches : undefined)
  // What a service says need not have the type: core judges it.
  return count === undefined ? usage : { ...usage, server_tool_use: { web_search_requests: count as number } }
}

/** A nought is what services report that do not count, or where there was none. */
function reportedSearches(toolUsage: Json | undefined): Json | undefined {
  if (!isJsonObject(toolUsage) || !isJsonObject(toolUsage.web_search)) return undefined
  const { num_requests: count } = toolUsage.web_search
  return isAbsent(count) || count === 0 ? undefined : count
}
