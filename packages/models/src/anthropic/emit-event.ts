import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'

// Spec R-SDK-3c.
/**
 * Tells an event of the service around what is read from it: an event comes before what it begins or adds to. The one that ends a block
 * comes after the block, as hosts expect it.
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

/** The event that begins a message, for services whose events are put into this shape. What it costs comes at its end. */
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
