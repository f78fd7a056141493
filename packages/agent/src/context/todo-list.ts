import { isJsonObject, isText, isToolResult, isToolUse, type CarriedText } from '@halting/core/adapters'
import type { ModelMessage } from '@halting/core'

const title = 'The list of things to do'
/** How core begins what it carries over: found again when a second compaction comes before the list is written anew. */
const opening = `${title}, as of now:\n\n`

const marks: Readonly<Record<string, string>> = { completed: '[x]', in_progress: '[>]', pending: '[ ]' }

/** The list of the newest TodoWrite call that was not refused, or the one that an earlier compaction carried over; undefined for none. */
export function todoListOf(messages: readonly ModelMessage[]): CarriedText | undefined {
  const refused = new Set<string>()
  for (const { role, content } of messages.toReversed()) {
    if (typeof content === 'string') continue
    for (const block of content.toReversed()) {
      if (isToolResult(block) && block.is_error === true) refused.add(block.tool_use_id)
      const isCarried = role === 'user' && isText(block) && block.text.startsWith(opening)
      if (isCarried) return { title, text: block.text.slice(opening.length) }
      const isList = role === 'assistant' && isToolUse(block) && block.name === 'TodoWrite' && !refused.has(block.id)
      const lines = isList ? linesOf(block.input) : undefined
      if (lines !== undefined) return lines.length === 0 ? undefined : { title, text: lines.join('\n') }
    }
  }
  return undefined
}

/** Undefined for an input that is no list. */
function linesOf(input: unknown): readonly string[] | undefined {
  const todos = isJsonObject(input) ? input['todos'] : undefined
  if (!Array.isArray(todos)) return undefined
  return todos.flatMap((todo: unknown) => {
    if (!isJsonObject(todo) || typeof todo['content'] !== 'string') return []
    const { content, status } = todo
    return [`${marks[typeof status === 'string' ? status : ''] ?? '[ ]'} ${content}`]
  })
}
