import { isText, isToolResult, textOf, type ModelMessage, type UserMessage } from '../model/messages.ts'
import { containsMedia } from '../model/media/places.ts'
import type { Transcript, TranscriptEntry, UserOrigin } from '../conversation/transcript.ts'
import { shortenText } from './shorten.ts'
import {
  allUserMessages,
  attachedMedia,
  compactedOpening,
  earlierOpenings,
  earlierUserMessages,
  messagesOmitted,
  someUserMessages,
} from './context-texts.ts'

const ofAPerson: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['prompt', 'steer', 'follow_up'])

/**
 * Everything that people said in a session, in order, except what is in `kept`, the newest messages of the conversation.
 * The texts come from the entries, not from the model's view, so they never pass through a summary. If a program or a
 * hook has replaced the conversation, its replacement counts, without the summary of an earlier compaction. Messages are
 * compared by content, since a transcript that is read from a file shares no objects.
 */
export function userMessageTexts(transcript: Transcript, kept: readonly ModelMessage[]): readonly string[] {
  let words: string[] = []
  for (const entry of transcript) {
    if (entry.kind === 'user' && ofAPerson.has(entry.origin)) addWords(words, entry.message)
    if (isReplacement(entry)) {
      words = []
      for (const message of entry.messages) {
        const carried = message.role === 'user' ? pinnedMessagesIn(message) : undefined
        if (carried !== undefined) words.push(...carried)
        else if (message.role === 'user') addWords(words, message)
      }
    }
  }
  return withoutNewest(words, kept)
}

/** `kept` contains the newest messages, so of equal texts the later ones are removed. */
function withoutNewest(words: readonly string[], kept: readonly ModelMessage[]): readonly string[] {
  const remaining: string[] = []
  for (const message of kept) if (message.role === 'user') addWords(remaining, message)
  const left = new Map<string, number>()
  for (const text of remaining) left.set(text, (left.get(text) ?? 0) + 1)
  const others: string[] = []
  for (const text of words.toReversed()) {
    const count = left.get(text) ?? 0
    if (count > 0) left.set(text, count - 1)
    else others.push(text)
  }
  return others.toReversed()
}

function isReplacement(
  entry: TranscriptEntry,
): entry is Extract<TranscriptEntry, { readonly kind: 'compact_boundary' }> {
  return entry.kind === 'compact_boundary' && entry.personsWords !== 'carried'
}

const openings: readonly string[] = [compactedOpening, ...earlierOpenings]
const wordsOpenings: readonly string[] = [allUserMessages, someUserMessages, ...earlierUserMessages]

/** People's messages, as a compaction includes them. */
export function pinnedMessagesText(words: readonly string[], isShortened: boolean): string {
  const body = words.map((text) => `<message>\n${text}\n</message>`).join('\n')
  return `${isShortened ? someUserMessages : allUserMessages}\n\n${body}`
}

/**
 * People's messages in a compacted message that a hook rewrote, perhaps with changes; undefined for any other message.
 * Its summary and pinned context are not included: the next compaction creates its own.
 */
function pinnedMessagesIn({ content }: UserMessage): readonly string[] | undefined {
  if (typeof content === 'string') return undefined
  const [heading, ...rest] = content.flatMap((block) => (isText(block) ? [block.text] : []))
  if (heading === undefined || !openings.some((opening) => heading.startsWith(opening))) return undefined
  for (const text of rest) {
    const start = wordsOpenings.find((opening) => text.startsWith(`${opening}\n\n<message>\n`))
    if (start === undefined || !text.endsWith(messageEnd)) continue
    return text.slice(`${start}\n\n<message>\n`.length, -messageEnd.length).split('\n</message>\n<message>\n')
  }
  return []
}

const messageEnd = '\n</message>'

function addWords(words: string[], message: UserMessage): void {
  const { content } = message
  if (typeof content !== 'string' && content.some(isToolResult)) return
  const text = textOf(content).trim()
  const fullText = containsMedia(message) ? `${text}\n${attachedMedia}`.trim() : text
  if (fullText !== '') words.push(fullText)
}

/** People's messages, truncated to a budget, and whether anything was omitted. */
export interface PinnedMessages {
  readonly words: readonly string[]
  readonly isShortened: boolean
}

/** Lengths to which the messages in the middle are shortened, in characters, longest first. If the last is not enough, they are omitted. */
const middleLengths = [4_000, 1_000, 300] as const
/** Minimum characters of the first and the newest message. */
const minEndLength = 400

/**
 * Returns all texts if they fit in a budget of tokens. Otherwise the oldest texts in the middle are shortened, then
 * omitted. The first text, which is the task, and the newest are preserved as long as they fit.
 */
export function messagesWithin(
  words: readonly string[],
  budget: number,
  tokensOf: (text: string) => number,
): PinnedMessages {
  const carried = new ShrinkingTexts(words, budget, tokensOf)
  if (!carried.isOver) return { words, isShortened: false }
  const middle = words.map((_text, index) => index).slice(1, -1)
  for (const length of middleLengths) for (const index of middle) carried.shorten(index, length)
  for (const index of middle) carried.leaveOut(index)
  for (const index of [0, words.length - 1]) {
    let length = words[index]?.length ?? 0
    while (carried.isOver && length > minEndLength) {
      length = Math.max(minEndLength, Math.floor(length / 2))
      carried.shorten(index, length)
    }
  }
  return { words: withGaps(carried.texts), isShortened: true }
}

/** Texts to shorten until they fit. */
class ShrinkingTexts {
  readonly texts: (string | undefined)[]
  readonly #sizes: number[]
  readonly #budget: number
  readonly #tokensOf: (text: string) => number
  #total: number

  constructor(words: readonly string[], budget: number, tokensOf: (text: string) => number) {
    this.texts = [...words]
    this.#sizes = words.map(tokensOf)
    this.#budget = budget
    this.#tokensOf = tokensOf
    this.#total = this.#sizes.reduce((sum, size) => sum + size, 0)
  }

  get isOver(): boolean {
    return this.#total > this.#budget
  }

  shorten(index: number, length: number): void {
    const text = this.texts[index]
    if (this.isOver && text !== undefined && text.length > length) this.#put(index, shortenText(text, length))
  }

  leaveOut(index: number): void {
    if (this.isOver) this.#put(index, undefined)
  }

  #put(index: number, text: string | undefined): void {
    const size = text === undefined ? 0 : this.#tokensOf(text)
    this.#total += size - (this.#sizes[index] ?? 0)
    this.#sizes[index] = size
    this.texts[index] = text
  }
}

/** Replaces each run of omitted messages by one line. */
function withGaps(kept: readonly (string | undefined)[]): readonly string[] {
  const words: string[] = []
  let missing = 0
  for (const text of kept) {
    if (text === undefined) {
      missing++
      continue
    }
    if (missing > 0) words.push(messagesOmitted(missing))
    missing = 0
    words.push(text)
  }
  return words
}
