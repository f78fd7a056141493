import type { SdkMessage } from '@halting/core'

/** Follows the messages of a run and knows its last answer, also when the run did not end well. */
export interface LastAnswer {
  see(message: SdkMessage): void
  /** Text of the model's last message; '' when that asked for a tool, and so was no answer. */
  readonly text: string
  /** The kind of the failure that we told of, when there was one. */
  readonly errorKind: string | undefined
}

export function followAnswer(): LastAnswer {
  let id: string | undefined
  let text = ''
  let asksForTool = false
  let errorKind: string | undefined
  return {
    see(message) {
      if (message.type !== 'assistant' || message.parent_tool_use_id !== null) return
      if (message.error !== undefined) {
        errorKind = message.error
        return
      }
      if (message.message.id !== id) [id, text, asksForTool] = [message.message.id, '', false]
      for (const block of message.message.content) {
        if (block.type === 'text') text += block.text
        if (block.type === 'tool_use') asksForTool = true
      }
    },
    get text() {
      return asksForTool ? '' : text
    },
    get errorKind() {
      return errorKind
    },
  }
}
