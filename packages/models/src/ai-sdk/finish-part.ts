import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { jsonCopyOf } from './json-copy.ts'
import { isAbsent, noCountIn, numberOf } from '../usage-counts.ts'

/**
 * Converts AI SDK usage into the shape of the Messages API. Returns an empty object if the service reported only a
 * part of the usage, because partial usage cannot be billed. An invalid count is passed on in place of the counts,
 * because core validates them.
 */
export function reportedUsage(usage: Json | undefined): JsonObject {
  if (!isJsonObject(usage)) return {}
  // A record cannot store a value that is not JSON, or is nested too deeply.
  const raw = isJsonObject(usage.raw) && jsonCopyOf(usage.raw) !== undefined ? usage.raw : {}
  // Entries for passes of the Messages API: the AI SDK adds up only some of the passes, without their caches.
  if (listOf(raw.iterations).length > 0) return raw
  const input = isJsonObject(usage.inputTokens) ? usage.inputTokens : {}
  const output = isJsonObject(usage.outputTokens) ? usage.outputTokens : {}
  const { total, noCache, cacheRead, cacheWrite } = input
  const hasInputCount = !isAbsent(total) || !isAbsent(noCache)
  const hasOutputCount = !isAbsent(output.total) || !isAbsent(output.text) || !isAbsent(output.reasoning)
  if (!hasInputCount || !hasOutputCount) return {}
  const garbage = noCountIn([total, noCache, cacheRead, cacheWrite, output.total, output.text, output.reasoning])
  if (garbage !== undefined) return { input_tokens: garbage, output_tokens: garbage }
  const read = numberOf(cacheRead)
  const cacheWritten = numberOf(cacheWrite)
  // If the counts disagree, use the more expensive interpretation.
  const prompt = Math.max(numberOf(total), numberOf(noCache) + read + cacheWritten)
  const reply = Math.max(numberOf(output.total), numberOf(output.text) + numberOf(output.reasoning))
  // Some requests really cost nothing, but a provider without usage may also report zeros.
  if (reply === 0 && prompt === 0 && !isJsonObject(usage.raw)) return {}
  return {
    input_tokens: prompt - read - cacheWritten,
    output_tokens: Math.max(reply, outputFromTotal(raw)),
    cache_creation_input_tokens: cacheWritten,
    cache_read_input_tokens: read,
    // Details that the Messages API and Bedrock report and the AI SDK has no field for: one-hour cache writes and fees.
    ...cacheCreation(raw, cacheWritten),
    ...(isJsonObject(raw.server_tool_use) && { server_tool_use: raw.server_tool_use }),
  }
}

/**
 * Returns the output as the total minus the prompt: some services report reasoning in addition to the completion, not
 * in it.
 */
function outputFromTotal({ total_tokens: total, prompt_tokens: prompt }: JsonObject): number {
  return typeof total === 'number' && typeof prompt === 'number' && prompt >= 0 ? total - prompt : 0
}

/** Returns how many tokens were cached for how long; an hour costs more. */
function cacheCreation(raw: JsonObject, written: number): JsonObject {
  if (isJsonObject(raw.cache_creation)) return { cache_creation: raw.cache_creation }
  const forAnHour = listOf(raw.cacheDetails).flatMap((detail) =>
    isJsonObject(detail) && detail.ttl === '1h' ? [numberOf(detail.inputTokens)] : [],
  )
  const hour = Math.min(
    written,
    forAnHour.reduce((sum, tokens) => sum + tokens, 0),
  )
  if (hour <= 0) return {}
  return { cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour } }
}

/** Stop reasons with a distinct meaning, which the AI SDK merges into others and preserves as `raw`. */
const rawStopReasons: ReadonlySet<string> = new Set([
  'pause_turn',
  'compaction',
  'refusal',
  'stop_sequence',
  'model_context_window_exceeded',
])

/** The stop reason, or why the reply has none. */
type StopReason =
  | { readonly kind: 'reason'; readonly reason: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** The stream ended before the service said that the reply was complete. */
  | { readonly kind: 'interrupted' }

export function stopReasonOf(
  finish: Json | undefined,
  reply: { readonly hasCalls: boolean; readonly hasContent: boolean },
): StopReason {
  const { unified, raw } = isJsonObject(finish) ? finish : { unified: finish, raw: finish }
  if (rawStopReasons.has(stringOf(raw))) return reason(stringOf(raw))
  const defaultReason = reason(reply.hasCalls ? 'tool_use' : 'end_turn')
  switch (unified) {
    case 'stop':
      return defaultReason
    case 'length':
      return reason('max_tokens')
    case 'content-filter':
      return reason('refusal')
    case 'interrupted':
      return { kind: 'interrupted' }
    case 'error':
      return { kind: 'failed', why: `it ended with an error${rawReasonSuffix(raw)}` }
    default:
      // `tool-calls` without a call is as unclear as an unknown reason.
      return reply.hasContent
        ? defaultReason
        : { kind: 'failed', why: `it ended without content and without a reason${rawReasonSuffix(raw)}` }
  }
}

function reason(reason: string): StopReason {
  return { kind: 'reason', reason }
}

function rawReasonSuffix(raw: Json | undefined): string {
  return stringOf(raw) === '' ? '' : ` (${stringOf(raw)})`
}

/**
 * Returns what packages for Anthropic's models report about a whole reply, in the shape of the Messages API: stop
 * sequence, reason of a refusal, and container.
 */
export function endDetails(metadata: Json | undefined): JsonObject {
  const copy = jsonCopyOf(metadata)
  const reply = isJsonObject(copy) ? copy.anthropic : undefined
  if (!isJsonObject(reply)) return {}
  const { stopSequence, stopDetails, container } = reply
  return {
    ...(typeof stopSequence === 'string' && { stop_sequence: stopSequence }),
    ...(isJsonObject(stopDetails) && { stop_details: stopDetails }),
    ...(isJsonObject(container) &&
      typeof container.id === 'string' && {
        container: {
          id: container.id,
          ...(typeof container.expiresAt === 'string' && { expires_at: container.expiresAt }),
        },
      }),
  }
}
