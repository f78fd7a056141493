import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { countOf } from '../json-fields.ts'

/**
 * Usage of the AI SDK in the shape of the Messages API. Empty when the service did not tell all of it: what is told in
 * part, or as nothing at all, is no bill.
 */
export function reportedUsage(usage: Json | undefined): JsonObject {
  if (!isJsonObject(usage)) return {}
  const output = outputTokens(usage.outputTokens)
  const input = inputTokens(usage.inputTokens)
  if (output === undefined || input === undefined) return {}
  // Some requests do cost nothing; but a provider that was told no usage may write zeros.
  if (output === 0 && input.total === 0 && !isJsonObject(usage.raw)) return {}
  const raw = isJsonObject(usage.raw) ? usage.raw : {}
  return {
    input_tokens: Math.max(0, input.total - input.read - input.written),
    output_tokens: Math.max(output, saidBeside(raw)),
    cache_creation_input_tokens: input.written,
    cache_read_input_tokens: input.read,
    // What the Messages API says of its own and the AI SDK has no field for: hour-long writes and fees.
    ...(isJsonObject(raw.cache_creation) && { cache_creation: raw.cache_creation }),
    ...(isJsonObject(raw.server_tool_use) && { server_tool_use: raw.server_tool_use }),
  }
}

function inputTokens(told: Json | undefined): { total: number; read: number; written: number } | undefined {
  if (!isJsonObject(told)) return undefined
  const read = countOf(told.cacheRead) ?? 0
  const written = countOf(told.cacheWrite) ?? 0
  const uncached = countOf(told.noCache)
  const total = countOf(told.total)
  if (total === undefined && uncached === undefined) return undefined
  // Where the figures do not agree, the dearer reading counts.
  return { total: Math.max(total ?? 0, (uncached ?? 0) + read + written), read, written }
}

function outputTokens(told: Json | undefined): number | undefined {
  if (!isJsonObject(told)) return undefined
  const parts = [countOf(told.text), countOf(told.reasoning)].filter((part) => part !== undefined)
  const sum = parts.reduce((left, right) => left + right, 0)
  const total = countOf(told.total)
  return total === undefined && parts.length === 0 ? undefined : Math.max(total ?? 0, sum)
}

/**
 * Some services count reasoning beside the completion and not in it. What is left of their own total, without the
 * prompt, is all that was written.
 */
function saidBeside({ total_tokens: total, prompt_tokens: prompt }: JsonObject): number {
  return (countOf(total) ?? 0) - (countOf(prompt) ?? Infinity)
}
