import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import { isOfPerson, isText, isToolResult, isToolUse } from '@halting/core/adapters'
import type { ContextByKind } from './types.ts'

type Kind = Exclude<keyof ContextByKind, 'fixed'>
type Sums = { [kind in Kind]: number }

const noSums = (): Sums => ({ person: 0, answers: 0, thinking: 0, calls: 0, results: 0, summaries: 0, other: 0 })

/** Approximate characters per token. */
const charactersOfToken = 4

/** Assumed tokens of an image or document, which cannot be derived from its bytes. */
const tokensOfMedia = 1_500

/** Tokens of the note that replaces a cleared result. */
const tokensOfNote = 25

/**
 * Tracks what fills the context window, by kind, entry by entry, so that the cost is linear in the session. Sizes are estimated from characters and
 * scaled to what the service counted. What it counted beyond the messages of the first request is the system prompt and the tool descriptions, and
 * stays constant.
 */
export class ContextKinds {
  #sums = noSums()
  #fixed: number | undefined
  #wasCompacted = false
  /** Tokens of each result, by the id of its call: a note may replace it later. */
  readonly #results = new Map<string, number>()
  /** Tokens of images and documents, by kind. */
  #media = noSums()
  /** Kinds of user messages by their content as JSON: a compaction keeps copies of messages. */
  readonly #kindByContent = new Map<string, Kind>()
  /** All entries, in order, because they are counted again after a rewind. */
  readonly #entries: TranscriptEntry[] = []

  add(entry: TranscriptEntry): void {
    this.#entries.push(entry)
    this.#count(entry)
  }

  #count(entry: TranscriptEntry): void {
    switch (entry.kind) {
      case 'user': {
        const kind = isOfPerson(entry) ? 'person' : 'other'
        if (entry.origin !== 'tool_results') this.#kindByContent.set(JSON.stringify(entry.message.content), kind)
        this.#addMessage(entry.message, kind)
        return
      }
      case 'assistant':
        if (entry.error === undefined) this.#addMessage(entry.message, 'answers')
        return
      case 'compact_boundary':
        this.compactTo(entry.messages)
        return
      case 'results_cleared':
        for (const call of entry.calls) this.#clear(call)
        return
      case 'media_removed':
        this.#removeMedia(entry.at?.length)
        return
      case 'attachment':
      case 'collapse_staged':
    }
  }

  /** Replaces the conversation by these messages. */
  compactTo(messages: readonly ModelMessage[]): void {
    this.#forget()
    this.#wasCompacted = true
    for (const message of messages) {
      const kindOfText =
        message.role === 'user' ? (this.#kindByContent.get(JSON.stringify(message.content)) ?? 'summaries') : 'answers'
      this.#addMessage(message, kindOfText)
    }
  }

  /** Rewinds the conversation to this number of entries. */
  goBackTo(entries: number): void {
    this.#entries.length = Math.min(entries, this.#entries.length)
    this.#forget()
    for (const entry of this.#entries) this.#count(entry)
    this.#wasCompacted = false
  }

  /** Whether it was compacted since the last call. */
  takeCompactedFlag(): boolean {
    const was = this.#wasCompacted
    this.#wasCompacted = false
    return was
  }

  /**
   * What fills the window now, in whole tokens. `counted`: the input tokens that the service reported, to which the kinds add up; 0 when it reported
   * nothing.
   */
  now(counted: number): ContextByKind {
    const estimated = kinds.reduce((sum, kind) => sum + this.#sums[kind], 0)
    if (counted > 0) this.#fixed ??= Math.max(0, counted - estimated)
    const fixed = this.#fixed ?? 0
    const scale = counted === 0 ? 1 : estimated === 0 ? 0 : Math.max(0, counted - fixed) / estimated
    const scaled = noSums()
    // Rounded down, so that the remainder is never negative.
    for (const kind of kinds) scaled[kind] = Math.floor(this.#sums[kind] * scale + 1e-9)
    const scaledTokens = kinds.reduce((sum, kind) => sum + scaled[kind], 0)
    return { fixed: counted === 0 ? Math.round(fixed) : counted - scaledTokens, ...scaled }
  }

  #forget(): void {
    this.#sums = noSums()
    this.#media = noSums()
    this.#results.clear()
  }

  #clear(callId: string): void {
    const tokens = this.#results.get(callId)
    if (tokens === undefined || tokens <= tokensOfNote) return
    this.#sums.results -= tokens - tokensOfNote
    this.#results.set(callId, tokensOfNote)
  }

  /** Removes this many images and documents, or all of them. All have the same estimated size, so it does not matter which. */
  #removeMedia(count = Infinity): void {
    let left = count * tokensOfMedia
    for (const kind of ['results', 'person', 'other'] as const) {
      const removed = Math.min(left, this.#media[kind])
      this.#sums[kind] = Math.max(0, this.#sums[kind] - removed)
      this.#media[kind] -= removed
      left -= removed
    }
  }

  #addMessage({ content }: ModelMessage, kindOfText: Kind): void {
    if (typeof content === 'string') {
      this.#sums[kindOfText] += content.length / charactersOfToken
      return
    }
    for (const block of content) {
      const kind = kindOf(block, kindOfText)
      const tokens = tokensOf(block)
      this.#sums[kind] += tokens
      this.#media[kind] += mediaIn(block) * tokensOfMedia
      if (isToolResult(block)) this.#results.set(block.tool_use_id, tokens)
    }
  }
}

/** The keys of the sums are the kinds. */
const kinds = Object.keys(noSums()) as readonly Kind[]

function kindOf(block: ContentBlock, kindOfText: Kind): Kind {
  if (isToolUse(block)) return 'calls'
  if (isToolResult(block)) return 'results'
  return block.type === 'thinking' || block.type === 'redacted_thinking' ? 'thinking' : kindOfText
}

function tokensOf(block: ContentBlock): number {
  if (isText(block)) return block.text.length / charactersOfToken
  if (isToolUse(block)) return (block.name.length + JSON.stringify(block.input ?? null).length) / charactersOfToken
  if (isToolResult(block)) {
    if (typeof block.content === 'string') return block.content.length / charactersOfToken
    return (block.content ?? []).reduce((sum, part) => sum + tokensOf(part), 0)
  }
  if (block.type === 'thinking' && typeof block.thinking === 'string') return block.thinking.length / charactersOfToken
  return tokensOfMedia
}

function mediaIn(block: ContentBlock): number {
  if (block.type === 'image' || block.type === 'document') return 1
  if (!isToolResult(block) || typeof block.content === 'string') return 0
  return (block.content ?? []).reduce((sum, part) => sum + mediaIn(part), 0)
}
