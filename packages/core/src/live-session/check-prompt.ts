import { ConfigurationError } from '../values/errors.ts'
import type { MessageContent } from '../model/messages.ts'
import { isJsonObject } from '../values/json.ts'

/** Of replies and results: in what a person says no service takes them. */
const ofOthers: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking'])

/**
 * What no service takes would stay in the conversation, and have every later request refused. Kinds of blocks that are not known here may be known there.
 * @throws ConfigurationError for what is no prompt.
 */
export function checkPrompt(content: MessageContent): void {
  if (typeof content === 'string') return
  // Plain JavaScript, and whoever hands on lines of others, may give anything.
  const given: unknown = content
  if (!Array.isArray(given)) throw new ConfigurationError('A prompt is a text or a list of blocks.')
  for (const block of given as readonly unknown[]) {
    if (!isJsonObject(block) || typeof block['type'] !== 'string')
      throw new ConfigurationError('A block of a prompt is an object with a type, such as {"type":"text","text":"…"}.')
    const { type, text } = block
    if (ofOthers.has(type))
      throw new ConfigurationError(`A prompt has no block of the type ${type}: those are of replies and results.`)
    if (type === 'text' && (typeof text !== 'string' || text === ''))
      throw new ConfigurationError('A block of the type text needs its text, and not an empty one.')
  }
}
