import { isJsonObject, jsonOf, type Json, type JsonObject } from '../values/json.ts'
import { inputFromArguments } from '../values/json-problem.ts'
import { isToolUse, type ContentBlock, type ToolUseBlock } from '../model/messages.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** What was told of one place in the message while it streamed. */
interface ToldPlace {
  /** The block as the adapter gave it, once it is complete. */
  given: unknown
  /** The copy that is kept of it. */
  block: ContentBlock | undefined
  /** Of a call: its id as the service wrote it, and the one that it has here. */
  givenId: unknown
  id: string | undefined
  /** The message has a block for it. */
  isFound: boolean
}

// Spec R-TOOL-14.
/**
 * The blocks of one reply as the run keeps them: frozen copies, so that nobody changes them under it, whose calls have an id
 * that no call of the conversation had.
 * B1: a block that was told complete is copied once: the message that holds the same object in the same place gets that copy.
 * B2: a call has in the message the id under which it was told.
 */
export class OwnBlocks {
  readonly #transcript: Transcript
  /** Ids given in this reply. */
  #taken: Set<string> | undefined
  #told: Map<number, ToldPlace> | undefined

  constructor(transcript: Transcript) {
    this.#transcript = transcript
  }

  /** What a model tells while it replies; undefined when that is nothing. */
  told(update: ModelUpdate): ModelUpdate | undefined {
    switch (update.type) {
      case 'api_event': {
        const event = this.#toldEvent(update.event)
        return event === update.event ? update : { ...update, event }
      }
      case 'block': {
        const { index, messageId } = update
        const block = this.#toldBlock(update.block, index)
        // Without a name the message gets one of ours.
        const name = typeof messageId === 'string' ? messageId : ''
        return block === undefined ? undefined : { type: 'block', index, block, messageId: name }
      }
      case 'text_delta':
      case 'thinking_delta':
        return typeof update.text === 'string' ? update : undefined
      case 'tool_input_start':
        return this.#toldInputStart(update)
      case 'tool_input_delta':
        return typeof update.json === 'string' ? update : undefined
      default:
        // Plain JavaScript may tell of what is not known here.
        return undefined
    }
  }

  /** The blocks of the message, frozen; undefined when one of them is none. */
  inMessage(given: readonly unknown[]): readonly ContentBlock[] | undefined {
    const content: ContentBlock[] = []
    let elsewhere: [index: number, call: ToolUseBlock][] | undefined
    for (let index = 0; index < given.length; index++) {
      const place = this.#told?.get(index)
      const block = place === undefined ? ownBlock(given[index]) : inPlace(place, given[index])
      if (block === undefined) return undefined
      content.push(block)
      if (isToolUse(block) && place?.isFound !== true) (elsewhere ??= []).push([index, block])
    }
    for (const [index, call] of elsewhere ?? []) content[index] = this.#withOwnId(call)
    return Object.freeze(content)
  }

  /** The service's own event that a call begins names its id. */
  #toldEvent(event: JsonObject): JsonObject {
    if (event['type'] !== 'content_block_start') return event
    const { index, content_block: block } = event
    if (typeof index !== 'number' || !isJsonObject(block) || block['type'] !== 'tool_use') return event
    const { id } = this.#begunCall(index, block['id'])
    return id === block['id'] ? event : { ...event, content_block: { ...block, id } }
  }

  #toldInputStart(
    update: Extract<ModelUpdate, { readonly type: 'tool_input_start' }>,
  ): Extract<ModelUpdate, { readonly type: 'tool_input_start' }> | undefined {
    const { index, callId, name } = update
    if (typeof index !== 'number' || typeof callId !== 'string' || typeof name !== 'string') return undefined
    const { id = callId } = this.#begunCall(index, callId)
    return id === callId ? update : { ...update, callId: id }
  }

  /** The call that begins at this place. An adapter reports its beginning twice: as the service's own event and as one of ours. */
  #begunCall(index: number, givenId: unknown): ToldPlace {
    const begun = this.#told?.get(index)
    const isSame = begun !== undefined && begun.block === undefined && begun.givenId === givenId
    return isSame ? begun : this.#begin(index, givenId)
  }

  #toldBlock(given: unknown, index: number): ContentBlock | undefined {
    const copy = ownBlock(given)
    if (copy === undefined) return undefined
    const begun = this.#told?.get(index)
    const isBegun = begun !== undefined && begun.block === undefined
    const place = isBegun ? begun : this.#begin(index, isToolUse(copy) ? copy.id : undefined, isToolUse(copy))
    place.given = given
    place.block = isToolUse(copy) ? withId(copy, place.id ?? copy.id) : copy
    return place.block
  }

  #begin(index: number, givenId: unknown, isCall = true): ToldPlace {
    const id = isCall ? this.#freeId(givenId) : undefined
    const place: ToldPlace = { given: undefined, block: undefined, givenId, id, isFound: false }
    ;(this.#told ??= new Map()).set(index, place)
    return place
  }

  /** A call that does not stand where one of its id was told is the first told one of that id which stands nowhere, else a new one. */
  #withOwnId(call: ToolUseBlock): ToolUseBlock {
    for (const place of this.#told?.values() ?? []) {
      if (place.id === undefined || place.isFound || place.givenId !== call.id) continue
      place.isFound = true
      return withId(call, place.id)
    }
    return withId(call, this.#freeId(call.id))
  }

  #freeId(id: unknown): string {
    const free = this.#transcript.freeCallId(typeof id === 'string' && id !== '' ? id : 'call', this.#taken)
    ;(this.#taken ??= new Set()).add(free)
    return free
  }
}

/** The block that stands where one was told: the copy of that very object, or a call of its id. */
function inPlace(place: ToldPlace, given: unknown): ContentBlock | undefined {
  if (place.block !== undefined && place.given === given) {
    place.isFound = true
    return place.block
  }
  const copy = ownBlock(given)
  if (copy === undefined || !isToolUse(copy) || place.id === undefined || place.givenId !== copy.id) return copy
  place.isFound = true
  return withId(copy, place.id)
}

function ownBlock(given: unknown): ContentBlock | undefined {
  const copy = jsonOf(given)
  if (!isBlock(copy)) return undefined
  return isToolUse(copy) ? withObjectInput(copy) : copy
}

// Spec R-TOOL-2b.
/** A model of a program's own may hand the arguments on as they were written. Services take objects only. */
function withObjectInput(call: ToolUseBlock): ToolUseBlock {
  const { input } = call
  return isJsonObject(input) ? call : Object.freeze({ ...call, input: inputFromArguments(input) })
}

function withId<B extends ContentBlock & { readonly id: string }>(block: B, id: string): B {
  return id === block.id ? block : Object.freeze({ ...block, id })
}

/** Blocks of kinds that are not known are the service's affair. */
function isBlock(value: Json): value is Json & ContentBlock {
  if (!isJsonObject(value)) return false
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string'
    case 'thinking':
      return typeof value['thinking'] === 'string'
    case 'tool_use':
      return typeof value['name'] === 'string'
    // The answer to a call is a user's to give: no service takes it back from an assistant.
    case 'tool_result':
      return false
    default:
      return typeof value['type'] === 'string'
  }
}
