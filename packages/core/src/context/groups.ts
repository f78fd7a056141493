import { isToolResult, isToolUse, type ContentBlock, type ModelMessage } from '../model/messages.ts'

/**
 * Whether a conversation may be cut before this message, so that the rest is self-contained. A cut must not separate a
 * call from its result, or split a paused reply. Code that runs at the service may call tools over several replies,
 * which must not be split either.
 */
export function isCutPoint(messages: readonly ModelMessage[], index: number): boolean {
  const message = messages[index]
  if (message === undefined || index === 0) return false
  if (message.role === 'assistant') return messages[index - 1]?.role === 'user' && !continuesServerCode(message)
  return typeof message.content === 'string' || !message.content.some(isToolResult)
}

/** Whether code at the service waits for results at the end of these messages. The code would continue, whatever follows. */
export function isCodeWaiting(messages: readonly ModelMessage[]): boolean {
  const newest = messages.findLast(({ role }) => role === 'assistant')
  if (newest === undefined || typeof newest.content === 'string') return false
  return newest.content.some((block) => isToolUse(block) && callerOf(block) !== undefined)
}

/** The code that a block belongs to; undefined for none. */
function callerOf(block: ContentBlock): string | undefined {
  const { caller } = block as { readonly caller?: { readonly tool_id?: unknown } | null }
  return typeof caller?.tool_id === 'string' ? caller.tool_id : undefined
}

/** Whether the message calls tools for code that an earlier reply started, or contains the result of such code. */
function continuesServerCode({ content }: ModelMessage): boolean {
  if (typeof content === 'string') return false
  const ownIds = new Set(content.map((block) => ('id' in block ? block.id : undefined)))
  return content.some((block) => {
    const caller = callerOf(block) ?? ('tool_use_id' in block ? block.tool_use_id : undefined)
    return typeof caller === 'string' && !ownIds.has(caller)
  })
}

/** All positions where a conversation may be cut, in order. */
export function cutPointsOf(messages: readonly ModelMessage[]): readonly number[] {
  const points: number[] = []
  for (let index = 1; index < messages.length; index++) if (isCutPoint(messages, index)) points.push(index)
  return points
}

/**
 * The index of the first of the newest messages that have at most `budget` tokens, at a valid cut point. The last group
 * is always included, whatever its size.
 */
export function newestWithin(
  messages: readonly ModelMessage[],
  budget: number,
  tokensOf: (messages: readonly ModelMessage[]) => number,
): number {
  let start = messages.length
  let end = messages.length
  let left = budget
  for (let index = messages.length - 1; index > 0; index--) {
    if (!isCutPoint(messages, index)) continue
    left -= tokensOf(messages.slice(index, end))
    end = index
    if (left < 0) return start === messages.length ? index : start
    start = index
  }
  return start === messages.length ? 0 : start
}
