import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** How a response ended: by itself, cut for a reason (a stop reason of the Messages API), or not at all. */
export type ResponseEnding =
  | { readonly kind: 'complete'; readonly cutReason?: undefined }
  | { readonly kind: 'cut'; readonly cutReason: string }
  | { readonly kind: 'failed'; readonly error: Json }

/** `said` is what the event says, for responses that do not. */
export function endingOf(response: JsonObject, said: string): ResponseEnding {
  const { error, incomplete_details: details } = response
  const status = known.has(stringOf(response.status)) ? stringOf(response.status) : said
  switch (status) {
    case 'failed':
    case 'cancelled':
      return { kind: 'failed', error: isJsonObject(error) ? error : { message: `it ended as "${status}"` } }
    case 'incomplete': {
      const reason = isJsonObject(details) ? stringOf(details.reason) : ''
      return { kind: 'cut', cutReason: cutReasons.get(reason) ?? (reason || 'max_tokens') }
    }
    default:
      return { kind: 'complete' }
  }
}

const known: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

const cutReasons: ReadonlyMap<string, string> = new Map([
  ['max_output_tokens', 'max_tokens'],
  ['content_filter', 'refusal'],
])

/** The error of an event: the event itself, or an object in it. `error` as its type says nothing. */
export function errorOf(event: JsonObject): Json {
  const { error = event } = event
  if (!isJsonObject(error) || error.type !== 'error') return error
  const { type: _, ...rest } = error
  return rest
}
