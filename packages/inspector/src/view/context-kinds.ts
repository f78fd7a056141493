import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import { isText, isToolResult, isToolUse } from '@halting/core/adapters'
import type { ContextByKind } from './types.ts'

type Kind = Exclude<keyof ContextByKind, 'fixed'>
type Sums = { [kind in Kind]: number }

const noSums = (): Sums => ({ person: 0, answers: 0, thinking: 0, calls: 0, results: 0, summaries: 0, other: 0 })

/** Characters a token has, about. */
const charactersOfToken = 4

/** An image or a document has tokens that nobody knows from its bytes. */
const tokensOfMedia = 1_500

/**
 * What fills the window, by kind, as a session goes on: told entry by entry, so that a session costs what it has.
 * Estimated by characters; what a service counted of a request settles how much all of it has. What it counted beside the messages of the first request of the
 * session is the system prompt and the descriptions of tools, and stays.
 */
export class ContextKinds {
  #sums = noSums()
  #fixed: number | undefined
  #wasCompacted = false

  add(entry: TranscriptEntry): void {
    switch (entry.kind) {
      case 'user':
        this.#addMessage(entry.message, isOfPerson.has(entry.origin) ? 'person' : 'other')
        return
      case 'assistant':
        if (entry.error === undefined) this.#addMessage(entry.message, 'answers')
        return
      case 'compact_boundary':
        this.#sums = noSums()
        this.#wasCompacted = true
        for (const message of entry.messages)
          this.#addMessage(message, message.role === 'user' ? 'summaries' : 'answers')
        return
      case 'results_cleared':
        this.#sums.results = Math.max(0, this.#sums.results - entry.freedTokens)
        return
      case 'attachment':
      case 'collapse_staged':
      case 'media_removed':
    }
  }

  /** The conversation was taken back: what is left of it is told anew. */
  beginAnew(entries: readonly TranscriptEntry[]): void {
    this.#sums = noSums()
    for (const entry of entries) this.add(entry)
    this.#wasCompacted = false
  }

  /** Whether it was compacted since this was last asked. */
  takeCompacted(): boolean {
    const was = this.#wasCompacted
    this.#wasCompacted = false
    return was
  }

  /** What fills the window now. `counted`: what the service counted of the request that shows it; 0 where it told nothing. */
  now(counted: number): ContextByKind {
    const estimated = Object.values(this.#sums).reduce((sum, tokens) => sum + tokens, 0)
    if (counted === 0) return { fixed: this.#fixed ?? 0, ...this.#sums }
    this.#fixed ??= Math.max(0, counted - estimated)
    const fixed = Math.min(this.#fixed, counted)
    if (estimated === 0) return { fixed: counted, ...this.#sums }
    const scale = (counted - fixed) / estimated
    const scaled = noSums()
    for (const kind of kinds) scaled[kind] = this.#sums[kind] * scale
    return { fixed, ...scaled }
  }

  #addMessage({ content }: ModelMessage, kindOfText: Kind): void {
    if (typeof content === 'string') {
      this.#sums[kindOfText] += content.length / charactersOfToken
      return
    }
    for (const block of content) this.#sums[kindOf(block, kindOfText)] += tokensOf(block)
  }
}

/** The keys of the sums are the kinds. */
const kinds = Object.keys(noSums()) as readonly Kind[]

const isOfPerson: ReadonlySet<string> = new Set(['prompt', 'steer', 'follow_up'])

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
