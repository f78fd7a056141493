import { isToolResult, textOf, type ModelMessage, type UserMessage } from '../messages.ts'
import { holdsMedia, type Transcript, type TranscriptEntry, type UserOrigin } from '../transcript.ts'
import { shortenText } from './shorten.ts'

const ofAPerson: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['prompt', 'steer', 'follow_up'])

/**
 * Everything that people said in a session, in order, but for messages that stand in the conversation anyway. Taken from the entries and not from
 * what the model is shown, so no summary comes between. Where a program or a hook has replaced the conversation, what it put there counts.
 */
export function personsWordsOf(transcript: Transcript, besides: ReadonlySet<ModelMessage>): readonly string[] {
  let words: string[] = []
  for (const entry of transcript) {
    if (entry.kind === 'user' && ofAPerson.has(entry.origin)) addWords(words, entry.message, besides)
    if (isReplacement(entry)) {
      words = []
      for (const message of entry.messages) if (message.role === 'user') addWords(words, message, besides)
    }
  }
  return words
}

function isReplacement(
  entry: TranscriptEntry,
): entry is Extract<TranscriptEntry, { readonly kind: 'compact_boundary' }> {
  return entry.kind === 'compact_boundary' && entry.personsWords !== 'carried'
}

function addWords(words: string[], message: UserMessage, besides: ReadonlySet<ModelMessage>): void {
  if (besides.has(message)) return
  const { content } = message
  if (typeof content !== 'string' && content.some(isToolResult)) return
  const text = textOf(content).trim()
  const said = holdsMedia(message) ? `${text}\n[with an image or a document]`.trim() : text
  if (said !== '') words.push(said)
}

/** What was said, cut down to a budget, and whether something was left out. */
export interface CarriedWords {
  readonly words: readonly string[]
  readonly isShortened: boolean
}

/** How long what is in the middle may stay, in characters, the longest first; then it is left out. */
const middleLengths = [4_000, 1_000, 300] as const
/** How long the first and the newest stay in any case, in characters. */
const leastOfEnds = 400

/**
 * Words within a budget of tokens: all of them where they fit. Else the oldest in the middle are shortened, then left out; the first, which is the
 * task, and the newest stay as long as there is room for them.
 */
export function wordsWithin(
  words: readonly string[],
  budget: number,
  tokensOf: (text: string) => number,
): CarriedWords {
  const sizes = words.map(tokensOf)
  let total = sizes.reduce((sum, size) => sum + size, 0)
  if (total <= budget) return { words, isShortened: false }
  const kept: (string | undefined)[] = [...words]
  const put = (index: number, text: string | undefined): void => {
    kept[index] = text
    total -= sizes[index] ?? 0
    sizes[index] = text === undefined ? 0 : tokensOf(text)
    total += sizes[index] ?? 0
  }
  for (const length of middleLengths) {
    for (let index = 1; index < words.length - 1 && total > budget; index++) {
      const text = kept[index]
      if (text !== undefined && text.length > length) put(index, shortenText(text, length))
    }
  }
  for (let index = 1; index < words.length - 1 && total > budget; index++) put(index, undefined)
  for (const index of [0, words.length - 1]) {
    const text = kept[index] ?? ''
    let { length } = text
    while (total > budget && length > leastOfEnds) {
      length = Math.max(leastOfEnds, Math.floor(length / 2))
      put(index, shortenText(text, length))
    }
  }
  return { words: withGaps(kept), isShortened: true }
}

/** Left out messages are told as one line for each gap. */
function withGaps(kept: readonly (string | undefined)[]): readonly string[] {
  const words: string[] = []
  let missing = 0
  for (const text of kept) {
    if (text === undefined) {
      missing++
      continue
    }
    if (missing > 0) words.push(`[${missing} ${missing === 1 ? 'message was' : 'messages were'} left out here.]`)
    missing = 0
    words.push(text)
  }
  return words
}
