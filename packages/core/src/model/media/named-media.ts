import { blocksOf, type ContentBlock, type ModelMessage } from '../messages.ts'
import { isMedia } from './media-problem.ts'
import type { MediaPlace } from './places.ts'

/** How the Messages API names what it refuses: by where it stands in the request. */
const placeName =
  /\bmessages\.(\d{1,6})\.content\.(\d{1,6})(?:\.tool_result\.content\.(\d{1,6}))?\.(?:image|document)\b/

/**
 * Where the image or document stands that a refusal names; undefined when it names none. In a request neighbouring messages of the user are one,
 * with the results first and without text that nobody sees: the place is counted in that form.
 */
export function namedMedia(refusal: string, messages: readonly ModelMessage[]): MediaPlace | undefined {
  const match = placeName.exec(refusal)
  if (match === null) return undefined
  const [turn, place] = [Number(match[1]), Number(match[2])]
  const found = sentBlocksOf(messages, turn)[place]
  if (found === undefined) return undefined
  const { at, block } = found
  const part = match[3] === undefined ? undefined : Number(match[3])
  if (part === undefined) return isMedia(block) ? at : undefined
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return undefined
  // Results hold blocks.
  const inner = (block.content as readonly ContentBlock[])[part]
  return inner !== undefined && isMedia(inner) ? [...at, part] : undefined
}

interface SentBlock {
  readonly at: MediaPlace
  readonly block: ContentBlock
}

/** The blocks of one message of the request, as they stand there. */
function sentBlocksOf(messages: readonly ModelMessage[], turn: number): readonly SentBlock[] {
  let number = -1
  let before: ModelMessage['role'] | undefined
  const sent: SentBlock[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user' || before !== 'user') number++
    if (number > turn) break
    before = message.role
    if (number === turn) sent.push(...blocksAt(message, index))
  }
  return [...sent.filter(({ block }) => block.type === 'tool_result'), ...sent.filter(isNoResult)]
}

function isNoResult({ block }: SentBlock): boolean {
  return block.type !== 'tool_result'
}

function blocksAt({ content }: ModelMessage, index: number): readonly SentBlock[] {
  return blocksOf(content)
    .map((block, place) => ({ at: [index, place], block }))
    .filter(({ block }) => block.type !== 'text' || block.text.trim() !== '')
}
