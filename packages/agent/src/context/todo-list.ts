import { coercedInput, isJsonObject, isText, isToolResult, isToolUse, type CarriedText } from '@halting/core/adapters'
import type { Json, ModelMessage } from '@halting/core'
import { todoForm } from '../tools/todo-form.ts'

const title = 'The list of things to do'
/** How core begins what it carries over: found again when a second compaction comes before the list is written anew. */
const opening = `${title}, as of now:\n\n`

const marks: Readonly<Record<string, string>> = { completed: '[x]', in_progress: '[>]', pending: '[ ]' }

/** The list of the newest TodoWrite call that was not refused, or the one that an earlier compaction carried over; undefined for none. */
export function todoListOf(messages: readonly ModelMessage[]): CarriedText | undefined {
  const newest = newestList(messages)
  if (newest === undefined) return undefined
  if (newest.kind === 'carried') return { title, text: newest.text }
  const lines = newest.todos.flatMap(lineOf)
  return lines.length === 0 ? undefined : { title, text: lines.join('\n') }
}

/** The same as what the call gave, for programs; empty where no call stands in the conversation. `callId` is a call that does not count. */
export function todosBefore(messages: readonly ModelMessage[], callId: string): readonly Json[] {
  const newest = newestList(messages, callId)
  return newest?.kind === 'written' ? newest.todos : []
}

type NewestList =
  | { readonly kind: 'carried'; readonly text: string }
  | { readonly kind: 'written'; readonly todos: readonly Json[] }

function newestList(messages: readonly ModelMessage[], except?: string): NewestList | undefined {
  const refused = new Set(except === undefined ? [] : [except])
  for (const { role, content } of messages.toReversed()) {
    if (typeof content === 'string') continue
    for (const block of content.toReversed()) {
      if (isToolResult(block) && block.is_error === true) refused.add(block.tool_use_id)
      const isCarried = role === 'user' && isText(block) && block.text.startsWith(opening)
      if (isCarried) return { kind: 'carried', text: block.text.slice(opening.length) }
      const isList = role === 'assistant' && isToolUse(block) && block.name === 'TodoWrite' && !refused.has(block.id)
      // JSON, as the model wrote it: the tool was given it as it was meant (spec R-TOOL-2a).
      const input = isList ? coercedInput(todoForm.schema, block.input as Json) : undefined
      const todos = isJsonObject(input) ? input['todos'] : undefined
      if (Array.isArray(todos)) return { kind: 'written', todos }
    }
  }
  return undefined
}

function lineOf(todo: Json): readonly string[] {
  if (!isJsonObject(todo) || typeof todo['content'] !== 'string') return []
  const { content, status } = todo
  return [`${marks[typeof status === 'string' ? status : ''] ?? '[ ]'} ${content}`]
}
