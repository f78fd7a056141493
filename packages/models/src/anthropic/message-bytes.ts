import type { ContentBlock, ModelMessage } from '@halting/core'

type Bytes = Uint8Array

/** One message as it goes over the wire; the parts are views of the whole. */
export interface MessageBytes {
  readonly role: 'user' | 'assistant'
  /** With a comma before it: `,{"role":…,"content":[…]}`. */
  readonly whole: Bytes
  /** Its tool results, joined with commas. They come first, in its own content and in that of a merged message. */
  readonly results: Bytes
  /** Its other blocks, joined with commas. */
  readonly others: Bytes
}

/**
 * B1: a message is serialized once in its life; a request costs what was added since the one before. Whoever changes a
 *     message in place breaks this, which the type forbids.
 * B2: the message itself is never written to: breakpoints are added to the bytes.
 */
const known = new WeakMap<ModelMessage, MessageBytes>()

export function bytesOf(message: ModelMessage): MessageBytes {
  const before = known.get(message)
  if (before !== undefined) return before
  const bytes = serialize(message)
  known.set(message, bytes)
  return bytes
}

function serialize({ role, content }: ModelMessage): MessageBytes {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const results: string[] = []
  const others: string[] = []
  for (const block of blocks) {
    if (!isSendable(block)) continue
    const isResult = role === 'user' && block.type === 'tool_result'
    ;(isResult ? results : others).push(JSON.stringify(withoutBreakpoint(block)))
  }
  return layOut(role, results.join(','), others.join(','))
}

function layOut(role: 'user' | 'assistant', results: string, others: string): MessageBytes {
  const head = `,{"role":"${role}","content":[`
  const between = results !== '' && others !== '' ? ',' : ''
  const whole = Buffer.from(`${head}${results}${between}${others}]}`)
  const start = head.length
  const end = whole.length - ']}'.length
  const middle = start + Buffer.byteLength(results)
  return {
    role,
    whole,
    results: whole.subarray(start, middle),
    others: whole.subarray(middle + between.length, end),
  }
}

/** The API refuses text without a visible character, also its own. */
function isSendable(block: ContentBlock): boolean {
  return block.type !== 'text' || block.text.trim() !== ''
}

/** Breakpoints are placed by rule and there may be four: those that came along would be too many. */
function withoutBreakpoint(block: ContentBlock): object {
  if (!('cache_control' in block)) return block
  const { cache_control: _, ...rest } = block
  return rest
}
