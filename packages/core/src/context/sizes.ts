import { isText, isToolResult, type ModelMessage, type ToolResultBlock } from '../model/messages.ts'
import { estimateMessages, type Tokens } from '../model/tokens.ts'

/** Results with fewer characters are not worth pruning. */
const minLength = 1_000

/** Results of a message that are long enough to prune. */
export function longResultsOf({ role, content }: ModelMessage): readonly ToolResultBlock[] {
  if (role !== 'user' || typeof content === 'string') return none
  return content.filter(isToolResult).filter(isLong)
}

const none: readonly ToolResultBlock[] = []

function isLong({ content }: ToolResultBlock): boolean {
  if (typeof content === 'string') return content.length >= minLength
  return content.some((part) => !isText(part) || part.text.length >= minLength)
}

/** Estimated sizes of the parts of a conversation, in tokens, before any correction by the provider's counts. */
export interface Sizes {
  /** Returns the tokens of the messages before this index. */
  before(index: number): number
  /** Tokens of the messages before this index that contain results to prune. */
  clearableBefore(index: number): number
}

interface Sums extends Sizes {
  readonly all: number[]
  readonly clearable: number[]
}

const known = new WeakMap<readonly ModelMessage[], Sums>()

/** The cost is proportional to what was added since the last call, since a list of messages only grows while it is the same object. */
export function sizesOf(tokens: Tokens, messages: readonly ModelMessage[]): Sizes {
  let sums = known.get(messages)
  if (sums === undefined) known.set(messages, (sums = newSums()))
  const { all, clearable } = sums
  for (let index = all.length - 1; index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined) break
    const size = estimateMessages(tokens, [message])
    all.push((all.at(-1) ?? 0) + size)
    clearable.push((clearable.at(-1) ?? 0) + (longResultsOf(message).length > 0 ? size : 0))
  }
  return sums
}

function newSums(): Sums {
  const all = [0]
  const clearable = [0]
  return { all, clearable, before: (index) => all[index] ?? 0, clearableBefore: (index) => clearable[index] ?? 0 }
}
