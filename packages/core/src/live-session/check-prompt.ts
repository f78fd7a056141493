import { ConfigurationError } from '../values/errors.ts'
import type { MessageContent } from '../model/messages.ts'
import { isJsonObject } from '../values/json.ts'

/** Blocks of replies and results: no service accepts them in a person's message. */
const replyBlockTypes: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking'])

/**
 * Rejects blocks that no service accepts: they would stay in the conversation, so that the service refuses every later
 * request. Unknown block types are allowed, because the service may know them.
 * @throws ConfigurationError for an invalid prompt.
 */
export function checkPrompt(content: MessageContent): void {
  if (typeof content === 'string') return
  // Plain JavaScript, or a client that forwards messages of others, may pass anything.
  const blocks: unknown = content
  if (!Array.isArray(blocks)) throw new ConfigurationError('A prompt is a text or a list of blocks.')
  for (const block of blocks as readonly unknown[]) {
    if (!isJsonObject(block) || typeof block['type'] !== 'string')
      throw new ConfigurationError('A block of a prompt is an object with a type, such as {"type":"text","text":"…"}.')
    const { type, text } = block
    if (replyBlockTypes.has(type))
      throw new ConfigurationError(
        `A prompt cannot have a block of the type ${type}: such blocks are part of replies and results.`,
      )
    if (type === 'text' && (typeof text !== 'string' || text === ''))
      throw new ConfigurationError('A block of the type text needs its text, which must not be empty.')
  }
}
