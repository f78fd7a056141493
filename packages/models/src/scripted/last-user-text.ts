import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** All text that the last user message of a request holds, that of its tool results too. */
export function lastUserText({ messages }: JsonObject): string {
  if (!Array.isArray(messages)) return ''
  const last = messages.findLast((message: Json) => isJsonObject(message) && message.role === 'user')
  return isJsonObject(last) ? textWithin(last.content) : ''
}

function textWithin(content: Json | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((block: Json) => {
      if (!isJsonObject(block)) return ''
      return typeof block.text === 'string' ? block.text : textWithin(block.content)
    })
    .join('\n')
}
