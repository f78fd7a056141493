import { isJsonObject, jsonOf, type Json, type JsonObject } from '../../json.ts'
import { isToolUse, type ContentBlock } from '../../messages.ts'
import type { ModelUpdate } from '../../model/model.ts'
import type { Transcript } from '../../transcript.ts'

/**
 * The blocks of one reply as the run keeps them: frozen copies, so that nobody changes them under it, whose calls have an id
 * that no call of the conversation had (spec R-TOOL-14). The same blocks in the same order come to the same ids.
 */
export class OwnBlocks {
  readonly #transcript: Transcript
  /** Ids given in this reply. */
  #taken: Set<string> | undefined
  /** By place in the message, from the moment a call begins to stream. */
  #begun: Map<number, string> | undefined

  constructor(transcript: Transcript) {
    this.#transcript = transcript
  }

  /** A block of the message; undefined when it is none. */
  own(copy: Json): ContentBlock | undefined {
    return isBlock(copy) ? this.#toldApart(copy, undefined) : undefined
  }

  /** What a model tells while it replies; undefined when that is nothing. */
  told(update: ModelUpdate): ModelUpdate | undefined {
    if (update.type === 'api_event') {
      const event = this.#toldEvent(update.event)
      return event === update.event ? update : { ...update, event }
    }
    if (update.type !== 'block') return update
    const copy = jsonOf(update.block)
    return isBlock(copy) ? { ...update, block: this.#toldApart(copy, update.index) } : undefined
  }

  /** The service's own event that a call begins names its id. */
  #toldEvent(event: JsonObject): JsonObject {
    if (event['type'] !== 'content_block_start') return event
    const { index, content_block: block } = event
    if (typeof index !== 'number' || !isJsonObject(block) || block['type'] !== 'tool_use') return event
    const id = this.#freeId(block['id'])
    ;(this.#begun ??= new Map()).set(index, id)
    return id === block['id'] ? event : { ...event, content_block: { ...block, id } }
  }

  #toldApart(block: ContentBlock, index: number | undefined): ContentBlock {
    if (!isToolUse(block)) return block
    const begun = index === undefined ? undefined : this.#begun?.get(index)
    const id = begun ?? this.#freeId(block.id)
    return id === block.id ? block : Object.freeze({ ...block, id })
  }

  #freeId(id: unknown): string {
    const taken = (this.#taken ??= new Set())
    const free = this.#transcript.freeCallId(typeof id === 'string' && id !== '' ? id : 'call', taken)
    taken.add(free)
    return free
  }
}

/** Blocks of kinds that are not known are the service's affair. */
function isBlock(value: unknown): value is ContentBlock {
  if (!isJsonObject(value)) return false
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string'
    case 'thinking':
      return typeof value['thinking'] === 'string'
    case 'tool_use':
      return typeof value['name'] === 'string'
    default:
      return typeof value['type'] === 'string'
  }
}
