import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import type { Json, JsonObject, ModelRequest, Usage } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { idFromSeed } from '../openai/call-format.ts'
import { more, mostBlocks, mostCalls, mostStarts, ping, violation } from '../service/stream-reader.ts'
import type { Assembled, Progress, StreamReader } from '../service/stream-reader.ts'
import { BlockFeed } from './block-feed.ts'
import { anotherCall, CallItem } from './call-item.ts'
import { HostedItem, hostedToolOf } from './hosted-item.ts'
import { MessageItem, OtherItem, ReasoningItem } from './open-item.ts'
import type { OpenItem } from './open-item.ts'
import { isAbsent } from '../usage-counts.ts'
import { readChatUsage } from '../openai/chat-usage.ts'

export interface ResponsesReaderOptions {
  /** Tools that the model calls with a text, and the field of their input that it becomes. */
  readonly freeform?: { readonly [tool: string]: { readonly field: string } } | undefined
}

/**
 * Reads a stream of events of the Responses API: puts it into the shape of the Messages API, event by event, and lets
 * the same assembler make the message, so that one set of rules holds for all services.
 *
 * P1: an item is known by its place in the response. Its id names nothing: gateways give every event another one. Only
 *     where an item begins or ends at a place whose item is whole, or has another type, it is another item.
 * P2: what deltas left out is filled in by the events that end a part or an item, and by the one that ends the response.
 *     Where a text was streamed with gaps, the block has all of it; where the arguments of a call were, the stream broke.
 * P3: a call is complete when its item is done, or when the response ended by itself; never when it was cut.
 * P4: a response is complete when the service eventStatus how it ended; or, where it only eventStatus that the stream is over, when
 *     each of its items is done.
 * P5: without a report of usage at its end, what the response cost is unknown.
 * P6: of two responses that began, with different ids, nothing is kept. One that begins before there was an item is
 *     the one that goes on, and ids of other events name nothing.
 * P7: an event with the number and the text of the one before it is that event once more, where events are numbered.
 */
export class ResponsesReader implements StreamReader {
  readonly #feed: BlockFeed
  readonly #model: string
  readonly #seed: string
  readonly #fieldOf: (tool: string) => string
  readonly #items = new Map<number, OpenItem>()
  /** Those that are known to have begun. */
  readonly #added = new Set<OpenItem>()
  /** P1: items at a place that another item has, by that place and their type; and the ids that items came with. */
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

  /** Events of the response as a whole. What has an unknown name is a sign of life. */
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
    if (++this.#starts > mostStarts) return violation('message after message started')
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

  /** The item that begins or ends with an event: another than the one at its place, where types or ids tell so. */
  #itemOf(event: JsonObject, item: JsonObject, isDone: boolean): OpenItem | Progress {
    const place = typeof event.output_index === 'number' ? event.output_index : undefined
    const type = stringOf(item.type)
    const taken = place === undefined ? undefined : this.#items.get(place)
    const known = place !== undefined && type !== '' ? this.#at(place, type) : undefined
    const isElsewhere = known === undefined ? taken !== undefined && type !== '' : this.#isOtherItem(known, item)
    const open = isElsewhere ? this.#open(this.#highest + 1, item) : (known ?? this.#itemFor(event, item, isDone))
    if (!('isDone' in open)) return open
    if (isElsewhere && place !== undefined) this.#moved.set(`${place} ${type}`, open)
    if (!this.#ids.has(open)) this.#ids.set(open, stringOf(item.id))
    return open
  }

  /** Whether this is not the item that was done before at its place: some services give all of them the same. */
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

  /** The item that an event adds to. Some services do not say that it begins. */
  #streamed(event: JsonObject, type: string): OpenItem | Progress {
    const item = this.#itemFor(event, { type }, true)
    if (!('isDone' in item)) return item
    if (!item.isDone) return item
    return stringOf(event.type).endsWith('.done') ? ping : violation('it had more data for a completed item')
  }

  /** P1: the item at the place of an event; without one, the call of that id, else the newest of its type that is not whole, or another. */
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
    if (this.#items.size >= mostBlocks) return violation('it had too many items')
    this.#begin({})
    const open = this.#create(item)
    if (open instanceof CallItem && ++this.#calls > mostCalls) return violation('it had too many calls')
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

  /** The response as it ended: `eventStatus` is what the event is called, where the response does not say how it ended. */
  #takeResponse(response: JsonObject, eventStatus: string): Progress {
    const ending = endingOf(response, eventStatus)
    if (ending.kind === 'failed') return { kind: 'error_event', error: ending.error }
    this.#begin(response)
    for (const [place, item] of pairWhole(listOf(response.output).filter(isJsonObject), this.#items)) {
      const open = place === undefined ? this.#open(this.#highest + 1, item) : this.#items.get(place)
      if (open === undefined) continue
      if (!('isDone' in open)) return open
      const taken = open.isDone ? ping : open.done(item, ending.kind === 'cut')
      if (taken.kind === 'violation') return taken
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

/** Whether the service still works on a response: what is in it may be cut. */
function isUnfinished({ status }: JsonObject): boolean {
  return status === 'in_progress' || status === 'queued'
}

/** Services say it in several shapes, and an event of the reply has none of them. */
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
 * The items of a whole response, each with the place of the one that was streamed, or undefined for one that was not.
 * Places may differ, since gateways leave items out of either. Of a type of which there are as many in both, they are the
 * same in their order. Else a call is known by its id and any other item by its place, and what is not known is new,
 * unless it may be one that was streamed.
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

/** How a response ended: by itself, cut for a reason (a stop reason of the Messages API), or not at all. */
type ResponseEnding =
  | { readonly kind: 'complete'; readonly cutReason?: undefined }
  | { readonly kind: 'cut'; readonly cutReason: string }
  | { readonly kind: 'failed'; readonly error: Json }

/** `eventStatus` is what the event says, for responses that do not. */
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

/** The error of an event: the event itself, or an object in it. `error` as its type says nothing. */
function errorOf(event: JsonObject): Json {
  const { error = event } = event
  if (!isJsonObject(error) || error.type !== 'error') return error
  const { type: _, ...rest } = error
  return rest
}

/** P7: tells events that come once more from those that follow, as long as their numbers rise. */
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
 * The usage of a response; undefined where none is reported. `output_tokens` hold what was thought. `searches` are those
 * that were seen: they count where the service does not say how many it made.
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
  // What a service says need not have the type: core judges it.
  return count === undefined ? usage : { ...usage, server_tool_use: { web_search_requests: count as number } }
}

/** A nought is what services report that do not count, or where there was none. */
function reportedSearches(toolUsage: Json | undefined): Json | undefined {
  if (!isJsonObject(toolUsage) || !isJsonObject(toolUsage.web_search)) return undefined
  const { num_requests: count } = toolUsage.web_search
  return isAbsent(count) || count === 0 ? undefined : count
}
