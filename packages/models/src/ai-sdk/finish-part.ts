import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { jsonCopyOf } from './json-copy.ts'
import { isAbsent, noCountIn, numberOf } from '../usage-counts.ts'

/**
 * Usage of the AI SDK in the shape of the Messages API. Empty when the service did not tell all of it: what is told in
 * part, or as nothing at all, is no bill. What is no count is handed on in the place of one: core judges it.
 */
export function reportedUsage(usage: Json | undefined): JsonObject {
  if (!isJsonObject(usage)) return {}
  // What cannot be written, such as one that nests too deep, has no place in a record.
  const raw = isJsonObject(usage.raw) && jsonCopyOf(usage.raw) !== undefined ? usage.raw : {}
  // The passes of the Messages API: the AI SDK adds up some of them, without their caches.
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
  const written = numberOf(cacheWrite)
  // Where the figures do not agree, the dearer reading counts.
  const prompt = Math.max(numberOf(total), numberOf(noCache) + read + written)
  const reply = Math.max(numberOf(output.total), numberOf(output.text) + numberOf(output.reasoning))
  // Some requests do cost nothing; but a provider that was told no usage may write zeros.
  if (reply === 0 && prompt === 0 && !isJsonObject(usage.raw)) return {}
  return {
    input_tokens: prompt - read - written,
    output_tokens: Math.max(reply, outputFromTotal(raw)),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    // What the Messages API and Bedrock say of their own and the AI SDK has no field for: hour-long writes and fees.
    ...cacheCreation(raw, written),
    ...(isJsonObject(raw.server_tool_use) && { server_tool_use: raw.server_tool_use }),
  }
}

/**
 * Some services count reasoning beside the completion and not in it. What is left of their own total, without the
 * prompt, is all that was written.
 */
function outputFromTotal({ total_tokens: total, prompt_tokens: prompt }: JsonObject): number {
  return typeof total === 'number' && typeof prompt === 'number' && prompt >= 0 ? total - prompt : 0
}

/** How long what was written to the cache stays there: an hour costs more. */
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

/** Stop reasons with a meaning of their own, which the AI SDK folds into others and keeps as `raw`. */
const rawStopReasons: ReadonlySet<string> = new Set([
  'pause_turn',
  'compaction',
  'refusal',
  'stop_sequence',
  'model_context_window_exceeded',
])

/** The stop reason, or why there is none. */
type StopReason =
  | { readonly kind: 'reason'; readonly reason: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** The stream ended without the service's word that the reply is whole. */
  | { readonly kind: 'interrupted' }

export function stopReasonOf(
  finish: Json | undefined,
  reply: { readonly hasCalls: boolean; readonly hasContent: boolean },
): StopReason {
  const { unified, raw } = isJsonObject(finish) ? finish : { unified: finish, raw: finish }
  if (rawStopReasons.has(stringOf(raw))) return reason(stringOf(raw))
  const ended = reason(reply.hasCalls ? 'tool_use' : 'end_turn')
  switch (unified) {
    case 'stop':
      return ended
    case 'length':
      return reason('max_tokens')
    case 'content-filter':
      return reason('refusal')
    case 'interrupted':
      return { kind: 'interrupted' }
    case 'error':
      return { kind: 'failed', why: `it ended with an error${rawReasonSuffix(raw)}` }
    default:
      // `tool-calls` without a call is as unclear as a reason that nobody knows.
      return reply.hasContent
        ? ended
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
 * What the packages of Anthropic's models say of a whole reply besides its content, as the Messages API says it: the stop
 * sequence, why it refused, and where code ran.
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
