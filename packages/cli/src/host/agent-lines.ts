import type { ContentBlock, SdkMessage } from '@halting/core'

/** The blocks of subagents that every host is told: enough to see that one is at work. */
const ofTools: ReadonlySet<string> = new Set(['tool_use', 'tool_result'])

/**
 * What a host is told of a message that did not ask for the text of subagents (`forwardSubagentText`, spec R-HOST-4c): of theirs the calls and results
 * alone. Undefined for nothing.
 */
export function withoutAgentText(message: SdkMessage): SdkMessage | undefined {
  switch (message.type) {
    case 'assistant': {
      if (message.parent_tool_use_id === null) return message
      const content = blocksOfTools(message.message.content)
      return content.length === 0 ? undefined : { ...message, message: { ...message.message, content } }
    }
    case 'user': {
      if (message.parent_tool_use_id === null) return message
      const { content: said } = message.message
      const content = typeof said === 'string' ? [] : blocksOfTools(said)
      return content.length === 0 ? undefined : { ...message, message: { ...message.message, content } }
    }
    case 'stream_event':
      return message.parent_tool_use_id === null ? message : undefined
    default:
      return message
  }
}

function blocksOfTools(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return content.filter(({ type }) => ofTools.has(type))
}
