import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import type { StreamReader } from '../service/stream-reader.ts'
import { MessageAssembler } from './message-assembler.ts'
import { tellingEvent } from './telling-event.ts'

/** Reads a stream of the Messages API; its events are told as they come. */
export function messagesReader(emit: (update: ModelUpdate) => void): StreamReader {
  const assembler = new MessageAssembler(emit)
  return {
    take(event, text) {
      const progress = tellingEvent(emit, event, () => assembler.take(event, text))
      return progress.kind === 'more' && tellsReason(event) ? { kind: 'last' } : progress
    },
    // It ends with an event of its own.
    end() {},
    takeWhole(answer) {
      if (answer.type !== 'message') return false
      return assembler.take({ type: 'message_start', message: answer }).kind === 'more'
    },
    finish: () => assembler.finish(),
  }
}

function tellsReason({ type, delta }: JsonObject): boolean {
  return type === 'message_delta' && isJsonObject(delta) && typeof delta.stop_reason === 'string'
}
