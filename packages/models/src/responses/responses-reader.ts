import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import type { Json, JsonObject, ModelRequest, Usage } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { idFromSeed } from '../openai/call-format.ts'
import { more, maxBlocks, maxCalls, maxStarts, ping, violation } from '../service/stream-reader.ts'
import type { Assembled, Progress, StreamReader } from '../service/stream-reader.ts'
import { BlockFeed } from './block-feed.ts'
import { anotherCall, CallItem } from './call-item.ts'
import { HostedItem, hostedToolOf } from './hosted-item.ts'
import { MessageItem, OtherItem, ReasoningItem } from './open-item.ts'
import type { OpenItem } from './open-item.ts'
import { isAbsent } from '../usage-counts.ts'
import { readChatUsage } from '../openai/chat-usage.ts'

export interface ResponsesReaderOptions {
  /** Freeform tools, and the input field for their text. */
  readonly freeform?: { readonly [tool: string]: { readonly field: string } } | undefined
}

/**
 * Reads a stream of Responses API events. It converts them to Messages API events for the shared assembler, so that one
 * set of rules applies to all services.
 *
 * P1: an item is identified by its index in the response, not by its id, which gateways change with every event. A new
 *     item at the same index starts only if the current one is complete or has another type.
 * P2: events that end a part, an item or the response fill in what deltas omitted. If deltas of a text had gaps, the
 *     block still gets all of it; if arguments of a call had gaps, the stream is broken.
 * P3: a call is complete when its item is done, or when the response ended normally; never when it was truncated.
 * P4: a response is complete when the service reports how it ended; or, if the stream just ends, when all items are
 *     done.
 * P5: without reported usage at the end the cost is unknown.
 * P6: of two responses with different ids nothing is preserved. A response that restarts before its first item
 *     continues; ids of other events are ignored.
 * P7: in a stream with numbered events, an event with the number and text of the previous one is a duplicate.
 */
export class ResponsesReader implements StreamReader {
  readonly #feed: BlockFeed
  readonly #model: string
  readonly #seed: string
  readonly #fieldOf: (tool: string) => string
  readonly #items = new Map<number, OpenItem>()
  /** Items whose start was reported. */
  readonly #added = new Set<OpenItem>()
  /** P1: items that share the index of another item, by index and type; and the ids of items. */
  readonly #moved = new Map<string, OpenItem>()
  readonly #ids = new Map<OpenItem, string>()
  #newest = -1
  #highest = -1
  #calls = 0
  #hasBegun = false
  #starts = 0
  #hasEnded = false
  #isOver = false
  #id = ''
  readonly #numbers = new EventNumbers()

  constructor(
    model: string,
    { idempotencyKey }: ModelRequest,
    emit: (update: ModelUpdate) => void,
    { freeform = {} }: ResponsesReaderOptions = {},
  ) {
    this.#model = model
    this.#seed = idempotencyKey
    this.#feed = new BlockFeed(idempotencyKey, emit)
    this.#fieldOf = (tool) => (Object.hasOwn(freeform, tool) ? (freeform[tool]?.field ?? 'input') : 'input')
  }

  take(event: JsonObject, text?: string): Progress {
    if (this.#numbers.isRepeated(event, text)) return ping
    const progress = this.#takeEvent(event)
    return this.#feed.problem ?? progress
  }

  end(): void {
    this.#isOver = true
  }

  takeWhole(answer: JsonObject): boolean {
    return (
      isResponse(answer) &&
      !isUnfinished(answer) &&
      this.#takeResponse(answer, '').kind === 'end' &&
      this.#feed.problem === undefined
    )
  }

  finish(): Assembled {
    if (!this.#hasEnded && this.#isOver && this.#feed.blocks > 0 && this.#isSettled()) this.#stop({}, {})
    return this.#feed.finish()
  }

  #takeEvent(event: JsonObject): Progress {
    const type = stringOf(event.type)
    switch (type) {
      case 'response.output_text.delta':
        return this.#message(event, (item, place) => item.delta(place, 'text', stringOf(event.delta)))
      case 'response.refusal.delta':
        return this.#message(event, (item, place) => item.delta(place, 'refusal', stringOf(event.delta)))
      case 'response.reasoning_summary_text.delta':
        return this.#reasoning(event, (item) =>
          item.delta('summary', indexOf(event.summary_index), stringOf(event.delta)),
        )
      case 'response.reasoning_text.delta':
        return this.#reasoning(event, (item) => item.delta('text', indexOf(event.content_index), stringOf(event.delta)))
      case 'response.function_call_arguments.delta':
        return this.#call(event, 'function_call', (call) => call.delta(stringOf(event.delta)))
      case 'response.function_call_arguments.done':
        return this.#call(event, 'function_call', (call) => call.fill(event.arguments))
      case 'response.custom_tool_call_input.delta':
        return this.#call(event, 'custom_tool_call', (call) => call.delta(stringOf(event.delta)))
      case 'response.custom_tool_call_input.done':
        return this.#call(event, 'custom_tool_call', (call) => call.fill(event.input))
      case 'response.output_text.done':
        return this.#message(event, (item, place) => item.fill(place, 'text', stringOf(event.text)))
      case 'response.refusal.done':
        return this.#message(event, (item, place) => item.fill(place, 'refusal', stringOf(event.refusal)))
      case 'response.output_text.annotation.added': {
        const { annotation } = event
        return this.#message(event, (item, place) =>
          isJsonObject(annotation) ? item.annotate(place, annotation) : ping,
        )
      }
      case 'response.output_item.added':
      case 'response.output_item.done':
        return this.#takeItem(event, type)
      default:
        return this.#takeOther(event, type)
    }
  }

  /** Reads events of the whole response. Unknown events only keep the stream alive. */
  #takeOther(event: JsonObject, type: string): Progress {
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return this.#takeBeginning(isJsonObject(event.response) ? event.response : {}, type)
      case 'response.completed':
      case 'response.done':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#takeResponse(isJsonObject(event.response) ? event.response : {}, type.slice('response.'.length))
      default:
        if (isError(event)) return { kind: 'error_event', error: errorOf(event) }
        if (type !== '' || !isResponse(event)) return ping
        return isUnfinished(event) ? this.#takeBeginning(event, type) : this.#takeResponse(event, '')
    }
  }

  /** P6 */
  #takeBeginning(response: JsonObject, type: string): Progress {
    const id = stringOf(response.id)
    const isAnother = type === 'response.created' && id !== '' && this.#id !== '' && id !== this.#id
    if (isAnother && this.#items.size > 0) return this.#feed.mixed()
    if (this.#hasBegun && !isAnother) return ping
    if (++this.#starts > maxStarts) return violation('message after message started')
    this.#hasBegun = false
    this.#begin(response)
    return this.#starts === 1 ? more : ping
  }

  #begin({ id, model }: JsonObject): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#id = stringOf(id)
    this.#feed.start(this.#id || `response-${idFromSeed(this.#seed)}`, stringOf(model) || this.#model)
  }

  #takeItem(event: JsonObject, type: string): Progress {
    const { item } = event
    if (!isJsonObject(item)) return violation(`${type} has no item`)
    const isDone = type === 'response.output_item.done'
    const blocks = this.#feed.blocks
    const open = this.#itemOf(event, item, isDone)
    if (!('isDone' in open)) return open
    if (item.type !== undefined && item.type !== open.type) return otherKind
    if (open instanceof CallItem && !open.mayBe(item, typeof event.output_index === 'number')) return anotherCall
    if (isDone) {
      const progress = open.isDone ? ping : open.done(item)
      return this.#feed.blocks > blocks && progress.kind === 'ping' ? more : progress
    }
    if (open.isDone || this.#added.has(open)) return violation('an item started twice')
    this.#added.add(open)
    open.take(item)
    return this.#feed.blocks > blocks ? more : ping
  }

  /** Returns the item of a start or end event; a new one if its type or id differs from the item at its index. */
  #itemOf(event: JsonObject, item: JsonObject, isDone: boolean): OpenItem | Progress {
    const place = typeof event.output_index === 'number' ? event.output_index : undefined
    const type = stringOf(item.type)
    const openAtPlace = place === undefined ? undefined : this.#items.get(place)
    const known = place !== undefined && type !== '' ? this.#at(place, type) : undefined
    const isElsewhere = known === undefined ? openAtPlace !== undefined && type !== '' : this.#isOtherItem(known, item)
    const open = isElsewhere ? this.#open(this.#highest + 1, item) : (known ?? this.#itemFor(event, item, isDone))
    if (!('isDone' in open)) return open
    if (isElsewhere && place !== undefined) this.#moved.set(`${place} ${type}`, open)
    if (!this.#ids.has(open)) this.#ids.set(open, stringOf(item.id))
    return open
  }

  /** Whether the item differs from the completed item at its index: some services give all items the same index. */
  #isOtherItem(known: OpenItem, { id, call_id: callId }: JsonObject): boolean {
    const before = this.#ids.get(known) ?? ''
    const isNamed = before !== '' && stringOf(id) !== '' && before !== stringOf(id)
    return known.isDone && isNamed && (stringOf(callId) === '' || stringOf(callId) !== known.callId)
  }

  #at(place: number, type: string): OpenItem | undefined {
    const moved = this.#moved.size === 0 ? undefined : this.#moved.get(`${place} ${type}`)
    const known = moved ?? this.#items.get(place)
    return known?.type === type ? known : undefined
  }

  #message(event: JsonObject, take: (item: MessageItem, place: number) => Progress): Progress {
    const item = this.#streamed(event, 'message')
    if (!('isDone' in item)) return item
    return item instanceof MessageItem ? take(item, indexOf(event.content_index)) : otherKind
  }

  #reasoning(event: JsonObject, take: (item: ReasoningItem) => Progress): Progress {
    const item = this.#streamed(event, 'reasoning')
    if (!('isDone' in item)) return item
    return item instanceof ReasoningItem ? take(item) : otherKind
  }

  #call(event: JsonObject, type: CallItem['type'], take: (item: CallItem) => Progress): Progress {
    const item = this.#streamed(event, type)
    if (!('isDone' in item)) return item
    return item instanceof CallItem && item.type === type ? take(item) : otherKind
  }

  /** Returns the item that an event adds to. Some services omit the start event. */
  #streamed(event: JsonObject, type: string): OpenItem | Progress {
    const item = this.#itemFor(event, { type }, true)
    if (!('isDone' in item)) return item
    if (!item.isDone) return item
    return stringOf(event.type).endsWith('.done') ? ping : violation('it had more data for a completed item')
  }

  /**
   * P1: returns the item at the index of an event. Without an index, it is the call with that id, otherwise the newest
   *     incomplete item of its type, or a new one.
   */
  #itemFor({ output_index: given }: JsonObject, item: JsonObject, continues: boolean): OpenItem | Progress {
    const newest = this.#items.get(this.#newest)
    const isNewest = continues && newest !== undefined && !newest.isDone && newest.type === stringOf(item.type)
    const place =
      typeof given === 'number'
        ? given
        : ((continues ? this.#placeOfCall(item) : undefined) ?? (isNewest ? this.#newest : this.#highest + 1))
    const known = this.#at(place, stringOf(item.type)) ?? this.#items.get(place)
    return known ?? this.#open(place, item)
  }

  #placeOfCall({ call_id }: JsonObject): number | undefined {
    const id = stringOf(call_id)
    if (id === '') return undefined
    for (const [place, { callId, isDone }] of this.#items) if (callId === id && !isDone) return place
    return undefined
  }

  #open(place: number, item: JsonObject): OpenItem | Progress {
    if (this.#items.size >= maxBlocks) return violation('it had too many items')
    this.#begin({})
    const open = this.#create(item)
    if (open instanceof CallItem && ++this.#calls > maxCalls) return violation('it had too many calls')
    this.#items.set(place, open)
    this.#newest = place
    this.#highest = Math.max(this.#highest, place)
    return open
  }

  #create(item: JsonObject): OpenItem {
    const type = stringOf(item.type)
    switch (type) {
      case 'message':
        return new MessageItem(this.#feed)
      case 'reasoning':
        return new ReasoningItem(this.#feed)
      case 'function_call':
      case 'custom_tool_call':
        return new CallItem(type, this.#feed, this.#fieldOf)
      default: {
        const tool = hostedToolOf(item)
        return tool === undefined ? new OtherItem(type, this.#feed) : new HostedItem(this.#feed, tool, item)
      }
    }
  }

  /** Reads the ended response; `eventStatus` is the name of the event, for responses without a status. */
  #takeResponse(response: JsonObject, eventStatus: string): Progress {
    const ending = endingOf(response, eventStatus)
    if (ending.kind === 'failed') return { kind: 'error_event', error: ending.error }
    this.#begin(response)
    for (const [place, item] of pairWhole(listOf(response.output).filter(isJsonObject), this.#items)) {
      const open = place === undefined ? this.#open(this.#highest + 1, item) : this.#items.get(place)
      if (open === undefined) continue
      if (!('isDone' in open)) return open
      const progress = open.isDone ? ping : open.done(item, ending.kind === 'cut')
      if (progress.kind === 'violation') return progress
    }
    this.#stop(response, ending)
    return { kind: 'end' }
  }

  #stop(response: JsonObject, { cutReason }: { readonly cutReason?: string | undefined }): void {
    this.#hasEnded = true
    const items = [...this.#items].toSorted(([a], [b]) => a - b).map(([, item]) => item)
    for (const item of items) if (!item.isDone) item.settle(cutReason !== undefined)
    const searches = items.reduce((sum, item) => (item instanceof HostedItem ? sum + item.searches : sum), 0)
    this.#feed.stop(cutReason ?? stopReasonOf(items), readResponsesUsage(response, searches))
  }

  /** P4 */
  #isSettled(): boolean {
    return [...this.#items.values()].every(({ isDone }) => isDone)
  }
}

const otherKind = violation('it had an event for an item of another kind')

function stopReasonOf(items: readonly OpenItem[]): string {
  if (items.some((item) => item instanceof CallItem && !item.isCut)) return 'tool_use'
  return items.some((item) => item instanceof MessageItem && item.hasRefusal) ? 'refusal' : 'end_turn'
}

function indexOf(index: Json | undefined): number {
  return typeof index === 'number' ? index : 0
}

function isResponse({ object, output }: JsonObject): boolean {
  return object === 'response' || (object === undefined && Array.isArray(output))
}

/** Whether the response is still being generated, so that its items may be incomplete. */
function isUnfinished({ status }: JsonObject): boolean {
  return status === 'in_progress' || status === 'queued'
}

/** Whether an event is an error. Errors have several shapes; events of a reply have none of them. */
function isError({ type, object, error, message, detail }: JsonObject): boolean {
  if (type === 'error' || object === 'error') return true
  if (type !== undefined && type !== '') return false
  return (
    isJsonObject(error) || (typeof error === 'string' && error !== '') || isErrorText(message) || detail !== undefined
  )
}

function isErrorText(message: Json | undefined): boolean {
  return typeof message === 'string' && message !== ''
}

/**
 * Pairs the items of a complete response with the streamed ones; undefined for those that were not streamed. Indexes
 * may differ, because gateways omit items from either. If both have the same number of items of a type, their order
 * decides. Otherwise a call is identified by its id, and any other item by its index. Unmatched items are new, unless
 * they may be streamed ones.
 */
function pairWhole(
  whole: readonly JsonObject[],
  streamed: ReadonlyMap<number, OpenItem>,
): readonly (readonly [place: number | undefined, item: JsonObject])[] {
  const counts = new Map<string, number>()
  for (const { type } of whole) counts.set(stringOf(type), (counts.get(stringOf(type)) ?? 0) + 1)
  const free = new Map<string, Map<number, OpenItem>>()
  for (const [place, item] of [...streamed].toSorted(([a], [b]) => a - b)) {
    const ofType = free.get(item.type) ?? new Map<number, OpenItem>()
    free.set(item.type, ofType.set(place, item))
  }
  const isInOrder = new Set([...free].flatMap(([type, { size }]) => (counts.get(type) === size ? [type] : [])))
  const places = new Map([...streamed].map(([place, { callId = '' }]) => [callId, place]))
  return whole.flatMap((item, index) => {
    const [type, id] = [stringOf(item.type), stringOf(item.call_id)]
    const ofType = free.get(type)
    if (ofType === undefined) return [[undefined, item] as const]
    const place = isInOrder.has(type) ? ofType.keys().next().value : ((id === '' ? undefined : places.get(id)) ?? index)
    const known = place === undefined ? undefined : ofType.get(place)
    const isSameItem =
      known !== undefined && (isInOrder.has(type) || (known.callId ?? '') === '' || known.callId === id)
    if (place !== undefined && isSameItem) ofType.delete(place)
    else if (id === '') return []
    return [[isSameItem ? place : undefined, item] as const]
  })
}

/** How a response ended: normally, cut for a reason (a stop reason of the Messages API), or with an error. */
type ResponseEnding =
  | { readonly kind: 'complete'; readonly cutReason?: undefined }
  | { readonly kind: 'cut'; readonly cutReason: string }
  | { readonly kind: 'failed'; readonly error: Json }

/** `eventStatus` is the status in the event's name, for responses without one. */
function endingOf(response: JsonObject, eventStatus: string): ResponseEnding {
  const { error, incomplete_details: details } = response
  const status = endings.has(stringOf(response.status)) ? stringOf(response.status) : eventStatus
  switch (status) {
    case 'failed':
    case 'cancelled':
      return { kind: 'failed', error: isJsonObject(error) ? error : { message: `it ended as "${status}"` } }
    case 'incomplete': {
      const reason = isJsonObject(details) ? stringOf(details.reason) : ''
      return { kind: 'cut', cutReason: cutReasons.get(reason) ?? (reason || 'max_tokens') }
    }
    default:
      return { kind: 'complete' }
  }
}

const endings: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

const cutReasons: ReadonlyMap<string, string> = new Map([
  ['max_output_tokens', 'max_tokens'],
  ['content_filter', 'refusal'],
])

/** Returns the error of an event: the event itself, or an object in it. Its type `error` is meaningless. */
function errorOf(event: JsonObject): Json {
  const { error = event } = event
  if (!isJsonObject(error) || error.type !== 'error') return error
  const { type: _, ...rest } = error
  return rest
}

/** P7: detects duplicate events as long as sequence numbers increase. */
class EventNumbers {
  #newest = -1
  #text: string | undefined
  #areTrusted = true

  isRepeated({ sequence_number: number }: JsonObject, text: string | undefined): boolean {
    if (!this.#areTrusted || text === undefined) return false
    if (typeof number !== 'number' || number < this.#newest) {
      this.#areTrusted = false
      return false
    }
    if (number === this.#newest && text === this.#text) return true
    this.#areTrusted = number > this.#newest
    this.#newest = number
    this.#text = text
    return false
  }
}

/**
 * Returns the usage of a response; undefined if it is not reported. `output_tokens` include reasoning. `searches`, the
 * observed number, applies if the service does not report its own.
 */
function readResponsesUsage(response: JsonObject, searches: number): Usage | undefined {
  const { usage: reported } = response
  if (!isJsonObject(reported)) return undefined
  const usage = readChatUsage({
    prompt_tokens: reported.input_tokens,
    completion_tokens: reported.output_tokens,
    total_tokens: reported.total_tokens,
    prompt_tokens_details: reported.input_tokens_details,
    completion_tokens_details: reported.output_tokens_details,
  })
  if (usage === undefined) return undefined
  const count = reportedSearches(response.tool_usage) ?? (searches > 0 ? searches : undefined)
  // The service may send a value of another type; core validates it.
  return count === undefined ? usage : { ...usage, server_tool_use: { web_search_requests: count as number } }
}

/** Returns the reported number of searches. Services that do not count report zero. */
function reportedSearches(toolUsage: Json | undefined): Json | undefined {
  if (!isJsonObject(toolUsage) || !isJsonObject(toolUsage.web_search)) return undefined
  const { num_requests: count } = toolUsage.web_search
  return isAbsent(count) || count === 0 ? undefined : count
}
