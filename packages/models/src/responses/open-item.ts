import type { JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { more, ping } from '../service/stream-reader.ts'
import type { Progress } from '../service/stream-reader.ts'
import { isJsonObject } from '@halting/core/adapters'
import type { BlockFeed } from './block-feed.ts'
import { responsesApi } from './origin.ts'
import type { ResponsesOrigin } from './origin.ts'

/** An item of a response during streaming. */
export interface OpenItem {
  /** The type of the item, such as `message`. */
  readonly type: string
  /** Whether the service has sent the complete item; no event adds anything after that. */
  readonly isDone: boolean
  /** Id of a call. */
  readonly callId?: string
  /** Reads the start of the item. */
  take(item: JsonObject): void
  /**
   * Reads the complete item: fills in what the deltas omitted, and ends its blocks. `wasCut` means that it comes from
   * the end of a truncated response, which includes incomplete items.
   */
  done(item: JsonObject, wasCut?: boolean): Progress
  /** Ends an item whose complete form never arrived; `wasCut` says whether the reply was truncated. */
  settle(wasCut: boolean): void
}

/** Removes the id: nothing is stored at the service, and gateways change ids with every event. */
export function withoutId(item: JsonObject): JsonObject {
  const { id: _, ...rest } = item
  return rest
}

type PartKind = 'text' | 'refusal'

interface Part {
  readonly kind: PartKind
  readonly index: number
  text: string
  annotations: JsonObject[]
}

/** A message; each part with text becomes a block. */
export class MessageItem implements OpenItem {
  readonly type = 'message'
  readonly #feed: BlockFeed
  readonly #parts = new Map<number, Part>()
  #phase = ''
  #isDone = false
  #hasRefusal = false

  constructor(feed: BlockFeed) {
    this.#feed = feed
  }

  get isDone(): boolean {
    return this.#isDone
  }

  get hasRefusal(): boolean {
    return this.#hasRefusal
  }

  take({ phase }: JsonObject): void {
    this.#phase = stringOf(phase) || this.#phase
  }

  delta(place: number, kind: PartKind, text: string): Progress {
    if (text === '') return ping
    const part = this.#part(place, kind)
    part.text += text
    return this.#feed.delta(part.index, { type: 'text_delta', text })
  }

  annotate(place: number, annotation: JsonObject): Progress {
    this.#part(place, 'text').annotations.push(annotation)
    return more
  }

  /** Reports a complete part. */
  fill(place: number, kind: PartKind, text: string, annotations: readonly JsonObject[] = []): Progress {
    if (text === '' && annotations.length === 0) return ping
    const part = this.#part(place, kind)
    if (annotations.length >= part.annotations.length) part.annotations = [...annotations]
    const progress = fillText(this.#feed, part, text, 'text')
    part.text = text || part.text
    return progress
  }

  done(item: JsonObject): Progress {
    this.take(item)
    let progress: Progress = ping
    for (const [place, part] of listOf(item.content).entries()) {
      if (!isJsonObject(part)) continue
      const filled =
        part.type === 'refusal'
          ? this.fill(place, 'refusal', stringOf(part.refusal))
          : this.fill(place, 'text', stringOf(part.text), listOf(part.annotations).filter(isJsonObject))
      if (filled.kind === 'more') progress = more
    }
    this.settle()
    return progress
  }

  settle(): void {
    this.#isDone = true
    for (const { index, text, annotations } of this.#parts.values()) {
      for (const citation of citationsOf(annotations, text))
        this.#feed.delta(index, { type: 'citations_delta', citation })
      this.#feed.end(index)
    }
  }

  #part(place: number, kind: PartKind): Part {
    const before = this.#parts.get(place)
    if (before !== undefined) return before
    if (kind === 'refusal') this.#hasRefusal = true
    const index = this.#feed.begin({ type: 'text', text: '' }, () => this.#originOf(part))
    const part: Part = { kind, index, text: '', annotations: [] }
    this.#parts.set(place, part)
    return part
  }

  /** Returns the origin. A text with citations has one, too, because no other service knows these citations. */
  #originOf({ kind, annotations }: Part): ResponsesOrigin | undefined {
    if (kind === 'text' && this.#phase === '' && annotations.length === 0) return undefined
    return {
      api: responsesApi,
      ...(this.#phase !== '' && { phase: this.#phase }),
      ...(kind === 'refusal' && { refusal: true }),
    }
  }
}

/** Emits the rest of a text. If deltas in the middle were lost, the block still gets the complete text. */
function fillText(
  feed: BlockFeed,
  { index, text: streamed }: { readonly index: number; readonly text: string },
  text: string,
  kind: 'text' | 'thinking',
): Progress {
  if (text === '' || text === streamed) return ping
  if (!text.startsWith(streamed)) {
    feed.replace(index, text)
    return ping
  }
  const rest = text.slice(streamed.length)
  return feed.delta(
    index,
    kind === 'text' ? { type: 'text_delta', text: rest } : { type: 'thinking_delta', thinking: rest },
  )
}

type ThoughtSource = 'summary' | 'text'

/** Reasoning: its summary, or its text if the service has no summary. */
export class ReasoningItem implements OpenItem {
  readonly type = 'reasoning'
  readonly #feed: BlockFeed
  #source: ThoughtSource | undefined
  #piece = 0
  #text = ''
  #index: number | undefined
  #item: JsonObject | undefined
  #isDone = false

  constructor(feed: BlockFeed) {
    this.#feed = feed
  }

  get isDone(): boolean {
    return this.#isDone
  }

  take({ encrypted_content: encrypted }: JsonObject): void {
    // The encrypted reasoning is sent back in any case.
    if (stringOf(encrypted) !== '') this.#begin()
  }

  delta(source: ThoughtSource, piece: number, text: string): Progress {
    if (text === '') return ping
    this.#source ??= source
    // The item preserves the parts that are not shown.
    if (source !== this.#source) return more
    const added = this.#text !== '' && piece !== this.#piece ? `${betweenParts}${text}` : text
    this.#piece = piece
    this.#text += added
    return this.#feed.delta(this.#begin(), { type: 'thinking_delta', thinking: added })
  }

  done(item: JsonObject): Progress {
    const [summary, text] = [textsOf(item.summary), textsOf(item.content)]
    this.#source ??= summary === '' ? 'text' : 'summary'
    const whole = this.#source === 'summary' ? summary : text
    this.take(item)
    this.#item = withoutId(item)
    const progress =
      whole === '' ? ping : fillText(this.#feed, { index: this.#begin(), text: this.#text }, whole, 'thinking')
    this.settle()
    return progress
  }

  settle(): void {
    this.#isDone = true
    if (this.#index !== undefined) this.#feed.end(this.#index)
  }

  #begin(): number {
    this.#index ??= this.#feed.begin({ type: 'thinking', thinking: '', signature: '' }, () => ({
      api: responsesApi,
      ...(this.#item !== undefined && { item: this.#item }),
    }))
    return this.#index
  }
}

const betweenParts = '\n\n'

function textsOf(parts: JsonObject[string]): string {
  return listOf(parts)
    .map((part) => (isJsonObject(part) ? stringOf(part.text) : ''))
    .filter((text) => text !== '')
    .join(betweenParts)
}

/** An unknown item: preserved unchanged, and sent back. */
export class OtherItem implements OpenItem {
  readonly type: string
  readonly #feed: BlockFeed
  #isDone = false

  constructor(type: string, feed: BlockFeed) {
    this.type = type
    this.#feed = feed
  }

  get isDone(): boolean {
    return this.#isDone
  }

  take(): void {}

  done(item: JsonObject): Progress {
    this.#isDone = true
    const origin: ResponsesOrigin = { api: responsesApi, item: withoutId(item) }
    this.#feed.end(this.#feed.begin({ type: 'responses_item' }, () => origin))
    return more
  }

  settle(): void {
    this.#isDone = true
  }
}

/**
 * Converts annotations of a text to citations of the Messages API: a found address becomes a
 * `web_search_result_location`, and `cited_text` is the part of the text that it supports. Other annotations are
 * unchanged.
 */
function citationsOf(annotations: readonly JsonObject[], text: string): readonly JsonObject[] {
  if (annotations.length === 0) return []
  const cut = cutterOf(text)
  return annotations.map((annotation) => {
    if (annotation.type !== 'url_citation') return annotation
    const { url, title, start_index: start, end_index: end } = annotation
    return {
      type: 'web_search_result_location',
      url: stringOf(url),
      title: stringOf(title),
      cited_text: typeof start === 'number' && typeof end === 'number' ? cut(start, end) : '',
    }
  })
}

/** Maximum number of characters that a citation repeats. */
const longestCited = 500

/** Returns a function that cuts by characters, as the service counts, not by UTF-16 units. */
function cutterOf(text: string): (start: number, end: number) => string {
  const characters = /[\uD800-\uDFFF]/.test(text) ? Array.from(text) : text
  return (start, end) => {
    const from = Math.max(0, start)
    // The comparison is also false for invalid numbers.
    if (!(end > from)) return ''
    const cut = characters.slice(from, Math.min(end, from + longestCited))
    return typeof cut === 'string' ? cut : cut.join('')
  }
}
