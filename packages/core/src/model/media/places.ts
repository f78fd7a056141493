import { type ContentBlock, type MessageContent, type ModelMessage, blocksOf } from '../messages.ts'
import { isMedia, type MediaBlock } from './media-problem.ts'

/** The position of an image or document: message, block and, inside a result, the part of it. */
export type MediaPlace = readonly number[]

/** An image or document with its position. */
export interface PlacedMedia {
  readonly at: MediaPlace
  readonly block: MediaBlock
}

/** The images and documents of a message, in their order. `index` is that of the message. */
export function mediaIn({ content }: { readonly content: MessageContent }, index: number): readonly PlacedMedia[] {
  if (typeof content === 'string' || !content.some(hasMedia)) return noPlacedMedia
  const placed: PlacedMedia[] = []
  for (const [place, block] of content.entries()) {
    if (isMedia(block)) placed.push({ at: [index, place], block })
    if (block.type !== 'tool_result' || !Array.isArray(block.content)) continue
    // A result contains blocks, but no nested results.
    for (const [part, inner] of (block.content as readonly ContentBlock[]).entries())
      if (isMedia(inner)) placed.push({ at: [index, place, part], block: inner })
  }
  return placed
}

const noPlacedMedia: readonly PlacedMedia[] = Object.freeze([])

/** Whether a message contains an image or a document. */
export function containsMedia({ content }: { readonly content: MessageContent }): boolean {
  return typeof content !== 'string' && content.some(hasMedia)
}

function hasMedia(block: ContentBlock): boolean {
  if (isMedia(block)) return true
  return block.type === 'tool_result' && Array.isArray(block.content) && block.content.some(hasMedia)
}

/** Replaces every image and document, or the given ones, with a note. A message without any of them stays the same object. */
export function withoutMedia(
  messages: readonly ModelMessage[],
  note: string,
  at: readonly MediaPlace[] | undefined,
): ModelMessage[] {
  if (at === undefined) return messages.map((message) => replaceAll(message, note))
  const changed = [...messages]
  for (const [index = -1, ...place] of at) {
    const message = changed[index]
    if (message !== undefined) changed[index] = replaceAt(message, place, note)
  }
  return changed
}

function replaceAll(message: ModelMessage, note: string): ModelMessage {
  const { content } = message
  if (typeof content === 'string' || !content.some(hasMedia)) return message
  return { ...message, content: content.map((block) => replaceMedia(block, note)) }
}

function replaceMedia(block: ContentBlock, note: string): ContentBlock {
  if (isMedia(block)) return { type: 'text', text: note }
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  return { ...block, content: block.content.map((part: ContentBlock) => replaceMedia(part, note)) }
}

/** Replaces only media, because a record may name any position. */
function replaceAt(message: ModelMessage, [place = -1, ...inner]: MediaPlace, note: string): ModelMessage {
  const { content } = message
  if (typeof content === 'string') return message
  const block = content[place]
  if (block === undefined || !hasMedia(block)) return message
  const replaced = inner.length === 0 ? noteFor(block, note) : replaceInside(block, inner, note)
  if (replaced === block) return message
  return { ...message, content: content.map((other, index) => (index === place ? replaced : other)) }
}

function noteFor(block: ContentBlock, note: string): ContentBlock {
  return isMedia(block) ? { type: 'text', text: note } : block
}

function replaceInside(block: ContentBlock, [part = -1]: MediaPlace, note: string): ContentBlock {
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  const parts = block.content as readonly ContentBlock[]
  const inner = parts[part]
  if (inner === undefined || !isMedia(inner)) return block
  return { ...block, content: parts.map((other, index) => (index === part ? noteFor(inner, note) : other)) }
}

/** How the Messages API names the refused part: by its position in the request. */
const placePattern =
  /\bmessages\.(\d{1,6})\.content\.(\d{1,6})(?:\.tool_result\.content\.(\d{1,6}))?\.(?:image|document)\b/

/**
 * The position of the image or document that a refusal names; undefined if it names none. In a request, adjacent user
 * messages are merged, with results first and without empty text. The position refers to that form.
 */
export function namedMedia(refusal: string, messages: readonly ModelMessage[]): MediaPlace | undefined {
  const match = placePattern.exec(refusal)
  if (match === null) return undefined
  const [turn, place] = [Number(match[1]), Number(match[2])]
  const blockAtPlace = sentBlocksOf(messages, turn)[place]
  if (blockAtPlace === undefined) return undefined
  const { at, block } = blockAtPlace
  const part = match[3] === undefined ? undefined : Number(match[3])
  if (part === undefined) return isMedia(block) ? at : undefined
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return undefined
  // Results contain blocks.
  const inner = (block.content as readonly ContentBlock[])[part]
  return inner !== undefined && isMedia(inner) ? [...at, part] : undefined
}

interface SentBlock {
  readonly at: MediaPlace
  readonly block: ContentBlock
}

/** The blocks of one message of the request, in the order of the request. */
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
  return [...sent.filter(({ block }) => block.type === 'tool_result'), ...sent.filter(isNotResult)]
}

function isNotResult({ block }: SentBlock): boolean {
  return block.type !== 'tool_result'
}

function blocksAt({ content }: ModelMessage, index: number): readonly SentBlock[] {
  return blocksOf(content)
    .map((block, place) => ({ at: [index, place], block }))
    .filter(({ block }) => block.type !== 'text' || block.text.trim() !== '')
}
