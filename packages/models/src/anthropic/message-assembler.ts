import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { AssistantMessage, ContentBlock, Json, JsonObject, Usage } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { listOf, stringOf } from '../json-fields.ts'
import { isAbsent } from '../usage-counts.ts'
import { more, maxBlocks, maxStarts, ping, violation } from '../service/stream-reader.ts'
import type { Assembled, Progress } from '../service/stream-reader.ts'
import { isProgramCall } from './message-bytes.ts'
import { applyDelta, closeBlock, isNews, messagesOrigin, openBlock } from './open-block.ts'
import type { OpenBlock, OriginOf } from './open-block.ts'
import { mergeUsage, readUsage } from './usage.ts'

/**
 * Converts Messages API events into a message. It uses neither network nor time.
 *
 * A1: a block that was reported as complete is in the message, unchanged, whatever follows.
 * A2: a call that was truncated is never reported: neither with invalid JSON nor without any input.
 * A3: only a stop reason makes the message complete.
 * A4: unknown event types and unknown deltas are ignored.
 * A5: a message that starts again, with the same id or before its first block, continues: its blocks follow the
 *     complete ones, and restarted blocks are replaced. A reported call is not reported again.
 * A6: of two messages with different ids nothing is preserved, because it is unclear whose calls were meant.
 */
export class MessageAssembler {
  readonly #emit: (update: ModelUpdate) => void
  readonly #originOf: OriginOf
  readonly #open = new Map<number, OpenBlock>()
  readonly #completed = new Map<number, ContentBlock>()
  /** Positions of blocks in the message, by the index from the service. */
  readonly #places = new Map<number, number>()
  /** Indexes used before the newest message started. The newest message may reuse them. */
  #earlier = new Set<number>()
  #highestPlace = -1
  #starts = 1
  #hasCalls = false
  /** The newest call for which only later events show whether it was truncated. */
  #doubtful: { readonly index: number; readonly block: ContentBlock } | undefined
  #start: JsonObject | undefined
  #usage: Usage = noUsage
  #stopReason: string | null = null
  #stopSequence: string | null = null
  #stopDetails: JsonObject | undefined
  #container: JsonObject | undefined
  #isUsageReported = false
  /** A6 */
  #isMixed = false

  /** `originOf` differs for services whose events were converted to this format. */
  constructor(emit: (update: ModelUpdate) => void, originOf: OriginOf = messagesOrigin) {
    this.#emit = emit
    this.#originOf = originOf
  }

  /** `text` is the event's JSON; it preserves what JavaScript values cannot represent. */
  take(event: JsonObject, text?: string): Progress {
    switch (stringOf(event.type)) {
      case 'message_start':
        return this.#takeStart(event.message)
      case 'content_block_start':
        return this.#takeBlockStart(event, text)
      case 'content_block_delta':
        return this.#takeBlockDelta(event)
      case 'content_block_stop':
        return this.#takeBlockStop(event)
      case 'message_delta':
        return this.#takeMessageDelta(event)
      case 'message_stop':
        return { kind: 'end' }
      case 'ping':
        return ping
      case 'error':
        return { kind: 'error_event', error: event.error }
      default:
        return ping
    }
  }

  /** Call this once, after the last event. */
  finish(): Assembled {
    if (this.#isMixed) return { kind: 'nothing' }
    const isComplete = this.#stopReason !== null && this.#start !== undefined
    if (isComplete) {
      // Some services leave out `content_block_stop` after the last block.
      for (const [index, open] of [...this.#open].toSorted(([a], [b]) => a - b)) {
        // In a truncated reply, an open block was also truncated.
        if (!isCut(this.#stopReason) || closeBlock(open, this.#originOf).kind === 'complete') this.#close(index, open)
      }
      if (!isCut(this.#stopReason)) this.#completeDoubtful()
      const message = this.#message([...this.#blocks()])
      if (!this.#isUsageReported) return { kind: 'complete', message, billed: 'unknown' }
      return isProgramReply(message) ? { kind: 'complete', message, billed: 'nothing' } : { kind: 'complete', message }
    }
    const blocks = withoutUnanswered([...this.#blocks()])
    if (this.#start === undefined || !blocks.some(isWorthKeeping)) return { kind: 'nothing' }
    return { kind: 'partial', message: this.#message(blocks) }
  }

  #takeStart(message: Json | undefined): Progress {
    if (!isJsonObject(message)) return violation('message_start has no message')
    const isFirst = this.#start === undefined
    if (isFirst) this.#usage = readUsage(message.usage)
    else if (this.#isOtherMessage(message)) return this.mixed()
    else if (this.#stopReason !== null) return violation('a second message started')
    else if (++this.#starts > maxStarts) return violation('message after message started')
    else this.#restart(message.usage)
    // Blocks were emitted under the id of the message in which they started.
    if (this.#completed.size === 0) this.#start = message
    this.#takeReason(message)
    this.#isUsageReported = this.#stopReason !== null && hasOutputCount(message.usage)
    // A reply that needs no generation, such as the next call of a running program, is complete at the start.
    const content = listOf(message.content)
    for (const [index, block] of content.entries()) {
      if (!isJsonObject(block) || typeof block.type !== 'string') return violation('message_start has no content')
      const place = this.#placeFor(index)
      if (typeof place !== 'number') return place
      const opened = openBlock(block)
      this.#emitCallStart(place, opened)
      this.#close(place, opened)
    }
    return isFirst || content.length > 0 ? more : ping
  }

  /** Whether another message, with its own id, follows content of the first one. */
  #isOtherMessage({ id }: JsonObject): boolean {
    const isBegun = this.#places.size > 0 || this.#stopReason !== null
    return isBegun && this.#id() !== '' && stringOf(id) !== '' && stringOf(id) !== this.#id()
  }

  /** Reports two messages in one stream, of which nothing is preserved. */
  mixed(): Progress {
    this.#isMixed = true
    return violation('it contained two messages with different ids')
  }

  /** A5 */
  #restart(usage: Json | undefined): void {
    this.#earlier = new Set(this.#places.keys())
    this.#usage = mergeUsage(this.#usage, usage)
  }

  /** Returns the position of the block that starts with this index. */
  #placeFor(index: number): number | Progress {
    const before = this.#places.get(index)
    if (before !== undefined && !this.#earlier.delete(index)) return violation(`block ${index} started twice`)
    if (this.#places.size + this.#completed.size >= maxBlocks) return violation('it had too many blocks')
    const isAgain = before !== undefined && this.#completed.has(before)
    if (isAgain && this.#hasCalls) return violation('a second message started')
    if (before !== undefined && !isAgain) this.#drop(before)
    const preferredPlace = isAgain ? undefined : (before ?? index)
    const isFree =
      preferredPlace !== undefined && !this.#open.has(preferredPlace) && !this.#completed.has(preferredPlace)
    const place = isFree ? preferredPlace : this.#highestPlace + 1
    this.#highestPlace = Math.max(this.#highestPlace, place)
    this.#places.set(index, place)
    return place
  }

  /** Drops the open blocks, which will never end. */
  dropOpen(): void {
    this.#open.clear()
  }

  /** Replaces the text or the reasoning of an open block with the final one: deltas were lost. */
  replaceText(index: number, text: string): void {
    const place = this.#places.get(index)
    const open = place === undefined ? undefined : this.#open.get(place)
    if (open !== undefined) open.text = text
  }

  /** Drops a block that starts again. */
  #drop(place: number): void {
    this.#open.delete(place)
    if (this.#doubtful?.index === place) this.#doubtful = undefined
  }

  #takeBlockStart({ index, content_block: block }: JsonObject, text: string | undefined): Progress {
    if (this.#start === undefined) return violation('a block started before the message')
    if (typeof index !== 'number' || !isJsonObject(block) || typeof block.type !== 'string') {
      return violation('content_block_start has no block')
    }
    const place = this.#placeFor(index)
    if (typeof place !== 'number') return place
    this.#completeDoubtful()
    const opened = openBlock(block, text)
    this.#open.set(place, opened)
    this.#emitCallStart(place, opened)
    return isNews(opened) ? more : ping
  }

  #emitCallStart(index: number, block: OpenBlock): void {
    if (!isOwnCall(block)) return
    const { id, name } = block.start
    this.#emit({ type: 'tool_input_start', index, callId: stringOf(id), name: stringOf(name) })
  }

  #placeOf(index: Json | undefined): number | undefined {
    return typeof index === 'number' ? this.#places.get(index) : undefined
  }

  #takeBlockDelta({ index: number, delta }: JsonObject): Progress {
    const index = this.#placeOf(number)
    const block = index === undefined ? undefined : this.#open.get(index)
    if (index === undefined || block === undefined) return violation('it had a delta for a block that is not open')
    if (!isJsonObject(delta)) return violation('content_block_delta has no delta')
    const outcome = applyDelta(block, delta)
    if (outcome.kind === 'misfit') return violation('it had a delta for a block of another kind')
    if (outcome.kind === 'text' || outcome.kind === 'thinking') {
      // Does not use a template string, which would be created anew for each delta.
      const type = outcome.kind === 'text' ? 'text_delta' : 'thinking_delta'
      this.#emit({ type, index, text: outcome.text })
      return outcome.text === '' ? ping : more
    }
    if (outcome.kind === 'input') {
      if (isOwnCall(block) && outcome.text !== '') this.#emit({ type: 'tool_input_delta', index, json: outcome.text })
      // White space alone does not continue an input.
      return outcome.text.trim() === '' ? ping : more
    }
    return outcome.kind === 'taken' ? more : ping
  }

  #takeBlockStop({ index: number }: JsonObject): Progress {
    const index = this.#placeOf(number)
    const open = index === undefined ? undefined : this.#open.get(index)
    if (index === undefined || (open === undefined && !this.#isClosed(index))) {
      return violation('a block ended that had not started')
    }
    if (open !== undefined) this.#close(index, open)
    return ping
  }

  #takeMessageDelta({ delta, usage }: JsonObject): Progress {
    if (this.#start === undefined) return violation('message_delta was sent before the message')
    this.#usage = mergeUsage(this.#usage, usage)
    this.#isUsageReported ||= hasOutputCount(usage)
    if (!isJsonObject(delta)) return ping
    const isFirst = this.#stopReason === null
    this.#takeReason(delta)
    return isFirst && this.#stopReason !== null ? { kind: 'last' } : ping
  }

  #takeReason({ stop_reason, stop_sequence, stop_details, container }: JsonObject): void {
    if (isJsonObject(stop_details)) this.#stopDetails = stop_details
    if (isJsonObject(container)) this.#container = container
    if (typeof stop_reason === 'string') this.#stopReason = stop_reason
    if (typeof stop_sequence === 'string') this.#stopSequence = stop_sequence
  }

  #close(index: number, open: OpenBlock): void {
    this.#open.delete(index)
    const closed = closeBlock(open, this.#originOf)
    if (closed.kind === 'complete') this.#complete(index, closed.block)
    else {
      this.#completeDoubtful()
      this.#doubtful = { index, block: closed.block }
    }
  }

  #complete(index: number, block: ContentBlock): void {
    this.#completed.set(index, block)
    this.#hasCalls ||= block.type === 'tool_use'
    this.#emit({ type: 'block', index, block, messageId: this.#id() })
  }

  /** The reply continued after the call, or ended normally, so the call was not truncated. */
  #completeDoubtful(): void {
    const doubtful = this.#doubtful
    this.#doubtful = undefined
    if (doubtful !== undefined) this.#complete(doubtful.index, doubtful.block)
  }

  #isClosed(index: number): boolean {
    return this.#completed.has(index) || this.#doubtful?.index === index
  }

  *#blocks(): Iterable<ContentBlock> {
    for (const [, block] of [...this.#completed].toSorted(([a], [b]) => a - b)) yield block
  }

  #id(): string {
    return stringOf(this.#start?.id)
  }

  #message(content: readonly ContentBlock[]): AssistantMessage {
    return {
      role: 'assistant',
      id: this.#id(),
      model: stringOf(this.#start?.model),
      content,
      stop_reason: this.#stopReason,
      stop_sequence: this.#stopSequence,
      ...(this.#stopDetails !== undefined && { stop_details: this.#stopDetails }),
      ...(this.#container !== undefined && { container: this.#container }),
      usage: this.#usage,
    }
  }
}

/** Whether it is a call of one of our tools; the service runs its own. */
function isOwnCall({ start }: OpenBlock): boolean {
  return start.type === 'tool_use'
}

/** Whether a report has the billed usage, which follows at the end of a reply; earlier reports are provisional. */
function hasOutputCount(usage: Json | undefined): boolean {
  return isJsonObject(usage) && !isAbsent(usage.output_tokens)
}

/** Whether the message has only calls made by a running program: no model generated them or read the conversation. */
function isProgramReply({ content, usage }: AssistantMessage): boolean {
  return content.length > 0 && content.every(isProgramCall) && usage.input_tokens === 0 && usage.output_tokens === 0
}

/** Whether a stop reason can interrupt a call. */
function isCut(stopReason: string | null): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded' || stopReason === 'refusal'
}

/** Whether a block is worth preserving: a conversation cannot continue from reasoning or white space alone. */
function isWorthKeeping(block: ContentBlock): boolean {
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return false
  return block.type !== 'text' || block.text.trim() !== ''
}

/** Drops server tool calls without a result: the API requires a result for each call. */
function withoutUnanswered(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  const answered = new Set(blocks.map((block) => ('tool_use_id' in block ? block.tool_use_id : undefined)))
  return blocks.filter((block) => !block.type.endsWith('_tool_use') || ('id' in block && answered.has(block.id)))
}
