import type { ModelUpdate } from '@halting/core/adapters'
import type { StreamReader } from '../service/stream-reader.ts'
import { MessageAssembler } from './message-assembler.ts'
import { tellingEvent } from './telling-event.ts'

/** Reads a stream of the Messages API; its events are told as they come. */
export function messagesReader(emit: (update: ModelUpdate) => void): StreamReader {
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
    finish: () => assembler.finish(),
  }
}
