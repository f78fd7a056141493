import { isText, isToolResult, type ContentBlock, type ModelMessage, type ToolResultBlock } from '../model/messages.ts'
import { headOf, tailOf } from '../values/text.ts'
import { charactersOmitted } from './context-texts.ts'

/** Maximum characters of the line that replaces the omitted text. */
const maxNoteLength = 60

/**
 * The beginning and the end of a text, with a line between that says how much is omitted, within `maxLength` characters
 * in total. The text itself if it is short enough, or if the line would make it longer.
 */
export function shortenText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const room = Math.max(0, maxLength - maxNoteLength)
  const head = headOf(text, Math.ceil(room * 0.6))
  const tail = tailOf(text, Math.floor(room * 0.4))
  const shorter = `${head}\n${charactersOmitted(text.length - head.length - tail.length)}\n${tail}`
  return shorter.length < text.length ? shorter : text
}

/** The messages with each text of a result cut to `maxLength`. Messages without such a result are the same objects. */
export function withShortResults(messages: readonly ModelMessage[], maxLength: number): readonly ModelMessage[] {
  return messages.map((message) => {
    const { role, content } = message
    if (role !== 'user' || typeof content === 'string') return message
    const shorter = content.map((block) => (isToolResult(block) ? shortResult(block, maxLength) : block))
    return shorter.every((block, index) => block === content[index]) ? message : { ...message, content: shorter }
  })
}

function shortResult(block: ToolResultBlock, maxLength: number): ToolResultBlock {
  const { content } = block
  if (typeof content === 'string')
    return content.length <= maxLength ? block : { ...block, content: shortenText(content, maxLength) }
  const shorter = content.map((part): ContentBlock =>
    isText(part) && part.text.length > maxLength ? { ...part, text: shortenText(part.text, maxLength) } : part,
  )
  return shorter.every((part, index) => part === content[index]) ? block : { ...block, content: shorter }
}

/**
 * The messages with results shortened until they have at most `budget` tokens, or until no result has more than 500
 * characters. The longest results are shortened first.
 */
export function shortenedTo(
  messages: readonly ModelMessage[],
  budget: number,
  tokensOf: (messages: readonly ModelMessage[]) => number,
): readonly ModelMessage[] {
  let shorter = messages
  for (let maxLength = 32_000; maxLength >= 500 && tokensOf(shorter) > budget; maxLength = Math.floor(maxLength / 2))
    shorter = withShortResults(messages, maxLength)
  return shorter
}
