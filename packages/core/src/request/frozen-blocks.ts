import { isJsonObject, jsonOf, type Json, type JsonObject } from '../values/json.ts'
import { inputFromArguments } from '../values/json-problem.ts'
import { isToolUse, type ContentBlock, type ToolUseBlock } from '../model/messages.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** What was reported for one position of the message while it streamed. */
interface StreamedBlock {
  /** The block from the adapter, once the block is complete. */
  original: unknown
  /** Our copy of the original block. */
  block: ContentBlock | undefined
  /** For a call: `originalId` is its id from the service, and `id` is its id in the conversation. */
  originalId: unknown
  id: string | undefined
  /** Whether the message contains a block for this position. */
  isInMessage: boolean
}

// Spec R-TOOL-14.
/**
 * Frozen copies of the blocks of one reply, so that the adapter cannot change them. The copied calls have ids that are
 * unique in the conversation. B1: A block that was reported as complete is copied once. If the message has the same
 * object at the same position, that copy is used. B2: In the message, a call has the id under which it was reported.
 */
export class FrozenBlocks {
  readonly #transcript: Transcript
  /** Ids assigned in this reply. */
  #assignedIds: Set<string> | undefined
  #streamed: Map<number, StreamedBlock> | undefined

  constructor(transcript: Transcript) {
    this.#transcript = transcript
  }

  /** A valid update of the model; undefined for an invalid one. */
  checkUpdate(update: ModelUpdate): ModelUpdate | undefined {
    switch (update.type) {
      case 'api_event': {
        const event = this.#eventWithOurId(update.event)
        return event === update.event ? update : { ...update, event }
      }
      case 'block': {
        const { index, messageId } = update
        const block = this.#freezeStreamed(update.block, index)
        // A message without an id gets one.
        const name = typeof messageId === 'string' ? messageId : ''
        return block === undefined ? undefined : { type: 'block', index, block, messageId: name }
      }
      case 'text_delta':
      case 'thinking_delta':
        return typeof update.text === 'string' ? update : undefined
      case 'tool_input_start':
        return this.#inputStartWithOurId(update)
      case 'tool_input_delta':
        return typeof update.json === 'string' ? update : undefined
      default:
        // JavaScript code may report unknown updates.
        return undefined
    }
  }

  /** The blocks of the message, frozen; undefined if one of them is invalid. */
  messageBlocks(blocks: readonly unknown[]): readonly ContentBlock[] | undefined {
    const content: ContentBlock[] = []
    let elsewhere: [index: number, call: ToolUseBlock][] | undefined
    for (let index = 0; index < blocks.length; index++) {
      const place = this.#streamed?.get(index)
      const block = place === undefined ? copyBlock(blocks[index]) : matchingBlock(place, blocks[index])
      if (block === undefined) return undefined
      content.push(block)
      if (isToolUse(block) && place?.isInMessage !== true) (elsewhere ??= []).push([index, block])
    }
    for (const [index, call] of elsewhere ?? []) content[index] = this.#withStreamedId(call)
    return Object.freeze(content)
  }

  /** Replaces the id of a call in the service's own event for the start of the call. */
  #eventWithOurId(event: JsonObject): JsonObject {
    if (event['type'] !== 'content_block_start') return event
    const { index, content_block: block } = event
    if (typeof index !== 'number' || !isJsonObject(block) || block['type'] !== 'tool_use') return event
    const { id } = this.#startedCall(index, block['id'])
    return id === block['id'] ? event : { ...event, content_block: { ...block, id } }
  }

  #inputStartWithOurId(
    update: Extract<ModelUpdate, { readonly type: 'tool_input_start' }>,
  ): Extract<ModelUpdate, { readonly type: 'tool_input_start' }> | undefined {
    const { index, callId, name } = update
    if (typeof index !== 'number' || typeof callId !== 'string' || typeof name !== 'string') return undefined
    const { id = callId } = this.#startedCall(index, callId)
    return id === callId ? update : { ...update, callId: id }
  }

  /** The call that begins at this position. An adapter reports it twice: as the service's own event and as a `ModelUpdate`. */
  #startedCall(index: number, originalId: unknown): StreamedBlock {
    const started = this.#streamed?.get(index)
    const isSame = started !== undefined && started.block === undefined && started.originalId === originalId
    return isSame ? started : this.#startBlock(index, originalId)
  }

  #freezeStreamed(original: unknown, index: number): ContentBlock | undefined {
    const copy = copyBlock(original)
    if (copy === undefined) return undefined
    const started = this.#streamed?.get(index)
    const isStarted = started !== undefined && started.block === undefined
    const place = isStarted ? started : this.#startBlock(index, isToolUse(copy) ? copy.id : undefined, isToolUse(copy))
    place.original = original
    place.block = isToolUse(copy) ? withId(copy, place.id ?? copy.id) : copy
    return place.block
  }

  #startBlock(index: number, originalId: unknown, isCall = true): StreamedBlock {
    const id = isCall ? this.#uniqueId(originalId) : undefined
    const place: StreamedBlock = { original: undefined, block: undefined, originalId, id, isInMessage: false }
    ;(this.#streamed ??= new Map()).set(index, place)
    return place
  }

  /** If no call with this id was reported at this position, uses the first unmatched reported call with the id, or else creates a new one. */
  #withStreamedId(call: ToolUseBlock): ToolUseBlock {
    for (const place of this.#streamed?.values() ?? []) {
      if (place.id === undefined || place.isInMessage || place.originalId !== call.id) continue
      place.isInMessage = true
      return withId(call, place.id)
    }
    return withId(call, this.#uniqueId(call.id))
  }

  #uniqueId(id: unknown): string {
    const free = this.#transcript.freeCallId(typeof id === 'string' && id !== '' ? id : 'call', this.#assignedIds)
    ;(this.#assignedIds ??= new Set()).add(free)
    return free
  }
}

/** The block at a reported position: the copy of the same object, or a call with the same id. */
function matchingBlock(place: StreamedBlock, original: unknown): ContentBlock | undefined {
  if (place.block !== undefined && place.original === original) {
    place.isInMessage = true
    return place.block
  }
  const copy = copyBlock(original)
  if (copy === undefined || !isToolUse(copy) || place.id === undefined || place.originalId !== copy.id) return copy
  place.isInMessage = true
  return withId(copy, place.id)
}

function copyBlock(original: unknown): ContentBlock | undefined {
  const copy = jsonOf(original)
  if (!isBlock(copy)) return undefined
  return isToolUse(copy) ? withObjectInput(copy) : copy
}

// Spec R-TOOL-2b.
/** A custom model may pass the arguments as a JSON text. Services accept objects only. */
function withObjectInput(call: ToolUseBlock): ToolUseBlock {
  const { input } = call
  return isJsonObject(input) ? call : Object.freeze({ ...call, input: inputFromArguments(input) })
}

function withId<B extends ContentBlock & { readonly id: string }>(block: B, id: string): B {
  return id === block.id ? block : Object.freeze({ ...block, id })
}

/** Blocks of unknown types are passed through for the service. */
function isBlock(value: Json): value is Json & ContentBlock {
  if (!isJsonObject(value)) return false
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string'
    case 'thinking':
      return typeof value['thinking'] === 'string'
    case 'tool_use':
      return typeof value['name'] === 'string'
    // Only a user message may contain the result of a call: no service accepts one from an assistant.
    case 'tool_result':
      return false
    default:
      return typeof value['type'] === 'string'
  }
}
