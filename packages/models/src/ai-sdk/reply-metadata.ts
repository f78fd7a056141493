import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { jsonCopyOf } from './json-copy.ts'

/**
 * What the packages of Anthropic's models say of a whole reply besides its content, as the Messages API says it: the stop
 * sequence, why it refused, and where code ran.
 */
export function endDetails(metadata: Json | undefined): JsonObject {
  const copy = jsonCopyOf(metadata)
  const said = isJsonObject(copy) ? copy.anthropic : undefined
  if (!isJsonObject(said)) return {}
  const { stopSequence, stopDetails, container } = said
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
