import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { countOf } from '../json-fields.ts'

/**
 * Usage as the service reports it: the beginning in `message_start`, sums in `message_delta`. What a report leaves out
 * or gives as null stays as it was.
 */
export function mergeUsage(before: Usage, reported: Json | undefined): Usage {
  if (!isJsonObject(reported)) return before
  const written = countOf(reported.cache_creation_input_tokens) ?? before.cache_creation_input_tokens
  const hour = writtenForAnHour(reported) ?? before.cache_creation?.ephemeral_1h_input_tokens
  const searches = webSearches(reported) ?? before.server_tool_use?.web_search_requests
  return {
    input_tokens: countOf(reported.input_tokens) ?? before.input_tokens,
    output_tokens: countOf(reported.output_tokens) ?? before.output_tokens,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: countOf(reported.cache_read_input_tokens) ?? before.cache_read_input_tokens,
    ...(hour !== undefined && {
      cache_creation: {
        ephemeral_5m_input_tokens: Math.max(0, written - hour),
        ephemeral_1h_input_tokens: Math.min(hour, written),
      },
    }),
    ...(searches !== undefined && { server_tool_use: { web_search_requests: searches } }),
  }
}

export function readUsage(reported: Json | undefined): Usage {
  return mergeUsage(noUsage, reported)
}

function writtenForAnHour(reported: JsonObject): number | undefined {
  return isJsonObject(reported.cache_creation) ? countOf(reported.cache_creation.ephemeral_1h_input_tokens) : undefined
}

function webSearches(reported: JsonObject): number | undefined {
  return isJsonObject(reported.server_tool_use) ? countOf(reported.server_tool_use.web_search_requests) : undefined
}
