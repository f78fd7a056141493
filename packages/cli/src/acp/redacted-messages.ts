import type { AnyMessage } from '@agentclientprotocol/sdk'
import { redactedValue } from '@halting/agent'

/**
 * Messages to the client without the keys that this program itself uses: the door of this frontend, as `Output.out` is that of the others. What is
 * written to a file of the person through the client stays as it is.
 */
export function redactedMessages(redact: (text: string) => string): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      const isFile = 'method' in message && message.method === 'fs/write_text_file'
      controller.enqueue(isFile ? message : redactedValue(message, redact))
    },
  })
}
