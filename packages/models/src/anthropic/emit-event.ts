import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'

// Spec R-SDK-3c.
/**
 * Emits an event and reads it. An event is emitted before its content; only the one that ends a block follows the
 * block, as hosts expect.
 */
export function emitAndRead<T>(emit: (update: ModelUpdate) => void, event: JsonObject, read: () => T): T {
  if (event.type !== 'content_block_stop') {
    emit({ type: 'api_event', event })
    return read()
  }
  const progress = read()
  emit({ type: 'api_event', event })
  return progress
}

/** Creates the event that starts a message, for services whose events are converted. Usage follows at the end. */
export function messageStart(id: string, model: string): JsonObject {
  return {
    type: 'message_start',
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    },
  }
}
