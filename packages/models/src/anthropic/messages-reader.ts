import type { ModelUpdate } from '@halting/core/adapters'
import type { StreamReader } from '../service/stream-reader.ts'
import { MessageAssembler } from './message-assembler.ts'
import { tellingEvent } from './telling-event.ts'

// Spec R-PTC-5.
/**
 * Reads a stream of the Messages API; its events are told as they come. Where something of the request was held back, a
 * reply that ends its turn is one that pauses: what was held back follows.
 */
export function messagesReader(emit: (update: ModelUpdate) => void, holdsBack = false): StreamReader {
  const assembler = new MessageAssembler(emit)
  return {
    take(event, text) {
      return tellingEvent(emit, event, () => assembler.take(event, text))
    },
    // It ends with an event of its own.
    end() {},
    takeWhole(answer) {
      if (answer.type !== 'message') return false
      return assembler.take({ type: 'message_start', message: answer }).kind === 'more'
    },
    finish() {
      const assembled = assembler.finish()
      if (!holdsBack || assembled.kind !== 'complete' || assembled.message.stop_reason !== 'end_turn') return assembled
      return { ...assembled, message: { ...assembled.message, stop_reason: 'pause_turn' } }
    },
  }
}
