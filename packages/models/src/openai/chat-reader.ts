import { invalidJsonInput, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin, ModelUpdate } from '@halting/core/adapters'
import type { Json, JsonObject, ModelRequest } from '@halting/core'
import { MessageAssembler } from '../anthropic/message-assembler.ts'
import type { OpenBlock } from '../anthropic/open-block.ts'
import { messageStart, emitAndRead } from '../anthropic/emit-event.ts'
import { listOf, stringOf } from '../json-fields.ts'
import { more, maxCalls, ping, violation, namelessTool } from '../service/stream-reader.ts'
import type { Assembled, Progress, StreamReader } from '../service/stream-reader.ts'
import { CallPieces } from './call-pieces.ts'
import type { PieceCall } from './call-pieces.ts'
import { mergeDetails, partsOf } from './chat-delta.ts'
import type { DeltaPart, ReasoningField } from './chat-delta.ts'
import { mergeChatReports, readChatUsage } from './chat-usage.ts'
import { storedArguments, idFromSeed } from './call-format.ts'

/** The `origin.api` of blocks from this protocol. */
export const chatApi = 'chat_completions'

/**
 * Reads a stream of chat completion chunks. It converts them to Messages API events for the shared assembler, so that
 * one set of rules applies to all services.
 *
 * R1: a call is complete when its input is a complete object, or when the reply ended normally; never when it was truncated.
 *     An empty object in one delta may be a prefix: it counts only at the end of a reply that was not truncated.
 * R2: a reply is complete after a finish reason, or when the service ends the stream.
 * R3: without reported usage the cost is unknown. Usage in a chunk with content is a running count, unless the reply
 *     has ended by then; so is usage that content follows. Of repeated counts the highest applies.
 * R4: blocks are in the order of their first deltas.
 * R5: a complete call is emitted when something else follows, or at the end: fields that the service expects back may
 *     follow its input.
 * R6: of two messages with different ids nothing is preserved. Ids that change with every chunk are ignored.
 * R7: if a service rejects a call of its model, the reply gets a call with invalid arguments.
 */
export class ChatReader implements StreamReader {
  readonly #emit: (update: ModelUpdate) => void
  readonly #assembler: MessageAssembler
  readonly #calls: CallPieces
  readonly #emittedCalls = new Map<PieceCall, EmittedCall>()
  #hasRefusedCall = false
  readonly #model: string
  readonly #seed: string
  #hasBegun = false
  #blocks = 0
  /** The open block of text or reasoning. */
  #openText: { readonly kind: 'text' | 'thinking'; readonly index: number } | undefined
  /** The call that is complete but not yet emitted as complete. */
  #pendingCall: PieceCall | undefined
  #field: ReasoningField | undefined
  #details: readonly JsonObject[] = []
  #finishReason: string | undefined
  #isOver = false
  #isRefusal = false
  #reports: JsonObject | undefined
  #isUsageReported = false
  /** R6: the first id of a chunk with content, the newest one, and the number of consecutive chunks with that. */
  #firstId = ''
  #newestId = ''
  #piecesOfNewest = 0

  constructor(model: string, { idempotencyKey }: ModelRequest, emit: (update: ModelUpdate) => void) {
    this.#emit = emit
    this.#model = model
    this.#seed = idempotencyKey
    this.#calls = new CallPieces(idempotencyKey)
    this.#assembler = new MessageAssembler(emit, (open, input) => this.#originOf(open, input))
  }

  take(chunk: JsonObject): Progress {
    if (isError(chunk))
      return this.#takeRefusedCall(chunk.error) ?? { kind: 'error_event', error: chunk.error ?? chunk }
    const choice = listOf(chunk.choices).find((one) => isJsonObject(one) && (one.index ?? 0) === 0)
    const report = reportOf(chunk, choice)
    const isReported = readChatUsage(report) !== undefined
    this.#reports = mergeChatReports(this.#reports, report)
    if (!isJsonObject(choice)) {
      this.#isUsageReported ||= isReported
      return ping
    }
    const delta = isJsonObject(choice.delta) ? choice.delta : choice.message
    const parts = isJsonObject(delta) ? partsOf(delta) : []
    const reason = stringOf(choice.finish_reason)
    if (parts.length > 0 && this.#startsAnotherReply(stringOf(chunk.id))) return this.#assembler.mixed()
    // R3
    if (parts.length > 0) this.#isUsageReported = false
    const isLast = reason !== '' || this.#isOver || (parts.length === 0 && this.#finishReason !== undefined)
    this.#isUsageReported ||= isLast && isReported
    if (!this.#hasBegun) this.#begin(chunk)
    let progress = ping
    for (const part of parts) {
      const partProgress = this.#takePart(part)
      if (partProgress.kind === 'violation') return partProgress
      if (partProgress.kind === 'more') progress = more
    }
    return reason === '' ? progress : this.#takeReason(reason, choice, progress)
  }

  end(): void {
    this.#isOver = true
  }

  takeWhole(answer: JsonObject): boolean {
    if (!listOf(answer.choices).some(isJsonObject)) return false
    this.end()
    const { kind } = this.take(answer)
    return kind === 'more' || kind === 'last'
  }

  finish(): Assembled {
    this.#closePendingCall()
    const isComplete = this.#hasBegun && (this.#finishReason !== undefined || (this.#isOver && this.#blocks > 0))
    if (!isComplete) return this.#assembler.finish()
    this.#closeOpenText()
    this.#closeCalls()
    const stop_reason = this.#stopReason()
    const usage = this.#isUsageReported ? readChatUsage(this.#reports) : undefined
    this.#feed({
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      ...(usage !== undefined && { usage }),
    })
    this.#feed({ type: 'message_stop' })
    return this.#assembler.finish()
  }

  /** R6 */
  #startsAnotherReply(id: string): boolean {
    if (id === '' || id === this.#newestId) {
      this.#piecesOfNewest++
      return false
    }
    const isAgain = id === this.#firstId || (this.#newestId !== '' && this.#piecesOfNewest > 1)
    this.#firstId ||= id
    this.#newestId = id
    this.#piecesOfNewest = 1
    return isAgain
  }

  /** R7 */
  #takeRefusedCall(error: Json | undefined): Progress | undefined {
    const refused = refusedCallOf(error)
    if (refused === undefined) return undefined
    if (!this.#hasBegun) this.#begin({})
    this.#closePendingCall()
    this.#closeOpenText()
    this.#assembler.dropOpen()
    const index = this.#blocks++
    const input = invalidJsonInput(refused.text)
    const id = `call-${idFromSeed(`${this.#seed} refused`)}`
    const block = { type: 'tool_use', id, name: refused.name || namelessTool, input }
    this.#feed({ type: 'content_block_start', index, content_block: block })
    this.#feed({ type: 'content_block_stop', index })
    this.#finishReason = 'tool_calls'
    this.#hasRefusedCall = true
    return { kind: 'end' }
  }

  #begin({ id, model }: JsonObject): void {
    this.#hasBegun = true
    this.#feed(messageStart(stringOf(id) || `chat-${idFromSeed(this.#seed)}`, stringOf(model) || this.#model))
  }

  #takePart(part: DeltaPart): Progress {
    if (part.kind !== 'call') this.#closePendingCall()
    switch (part.kind) {
      case 'reasoning':
        this.#field ??= part.field
        return this.#addText('thinking', part.text)
      case 'reasoning_details':
        this.#details = mergeDetails(this.#details, part.details)
        if (this.#details.length > maxCalls) return violation('it had too many reasoning details')
        if (part.text !== '') return this.#addText('thinking', part.text)
        this.#openTextBlock('thinking')
        return part.details.some(hasDetailContent) ? more : ping
      case 'refusal':
        this.#isRefusal = true
        return this.#addText('text', part.text)
      case 'text':
        return this.#addText('text', part.text)
      case 'call':
        return this.#takeCall(part.piece)
    }
  }

  #addText(kind: 'text' | 'thinking', text: string): Progress {
    const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text }
    return this.#feed({ type: 'content_block_delta', index: this.#openTextBlock(kind), delta })
  }

  /** Returns the index of the open block of this kind, or starts one. */
  #openTextBlock(kind: 'text' | 'thinking'): number {
    if (this.#openText?.kind === kind) return this.#openText.index
    this.#closeOpenText()
    const index = this.#blocks++
    this.#openText = { kind, index }
    const block = kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
    this.#feed({ type: 'content_block_start', index, content_block: block })
    return index
  }

  #closeOpenText(): void {
    if (this.#openText === undefined) return
    this.#feed({ type: 'content_block_stop', index: this.#openText.index })
    this.#openText = undefined
  }

  #takeCall(piece: JsonObject): Progress {
    const outcome = this.#calls.take(piece)
    if (outcome.kind === 'misfit') return violation(outcome.why)
    const { call, isNew, added } = outcome
    if (call !== this.#pendingCall) this.#closePendingCall()
    if (isNew || added !== '') this.#closeOpenText()
    const progress = isNew || added.trim() !== '' ? more : ping
    if (call.name === '') return progress
    const emitted = this.#startCall(call)
    if (call.isOpening) return progress
    this.#emitInput(emitted, emitted.hasInput ? added : call.input)
    if (call.scanner.isWhole()) this.#pendingCall = call
    return progress
  }

  /** R4 */
  #startCall(call: PieceCall): EmittedCall {
    const before = this.#emittedCalls.get(call)
    if (before !== undefined) return before
    const emitted = { index: this.#blocks++, hasInput: false, isEnded: false }
    this.#emittedCalls.set(call, emitted)
    const block = { type: 'tool_use', id: call.id, name: call.name || namelessTool, input: {} }
    this.#feed({ type: 'content_block_start', index: emitted.index, content_block: block })
    return emitted
  }

  #emitInput(emitted: EmittedCall, input: string): void {
    if (input === '') return
    emitted.hasInput = true
    const delta = { type: 'input_json_delta', partial_json: input }
    this.#feed({ type: 'content_block_delta', index: emitted.index, delta })
  }

  /** R5 */
  #closePendingCall(): void {
    const emitted = this.#pendingCall === undefined ? undefined : this.#emittedCalls.get(this.#pendingCall)
    this.#pendingCall = undefined
    if (emitted !== undefined) this.#endCall(emitted)
  }

  #endCall(emitted: EmittedCall): void {
    if (emitted.isEnded) return
    emitted.isEnded = true
    this.#feed({ type: 'content_block_stop', index: emitted.index })
  }

  /** `progress` is the effect of the rest of the chunk. */
  #takeReason(reason: string, choice: JsonObject, progress: Progress): Progress {
    if (isFailure(reason)) {
      return { kind: 'error_event', error: choice.error ?? { message: `it ended with "${reason}"` } }
    }
    const isFirst = this.#finishReason === undefined
    // Some services send a reason with every chunk, or another one at the very end; a truncated reply remains truncated.
    if (!isCut(this.#finishReason)) this.#finishReason = reason
    this.#closeOpenText()
    this.#closePendingCall()
    return isFirst || progress.kind === 'more' ? { kind: 'last' } : ping
  }

  /** R1: in a truncated reply, an incomplete call was also truncated. The same applies to a rejected call. */
  #closeCalls(): void {
    const wasCut = this.#hasRefusedCall || isCut(this.#finishReason)
    for (const call of this.#calls.calls) {
      if (wasCut && (!call.scanner.isWhole() || call.isOpening)) continue
      const emitted = this.#startCall(call)
      if (!emitted.hasInput) this.#emitInput(emitted, call.input)
      this.#endCall(emitted)
    }
  }

  #stopReason(): string {
    const meaning = meaningOf(this.#finishReason)
    if (meaning !== 'end_turn' && meaning !== 'tool_use') return meaning
    // Services use different reasons for replies with calls.
    if (this.#emittedCalls.size > 0 || this.#hasRefusedCall) return 'tool_use'
    return this.#isRefusal ? 'refusal' : 'end_turn'
  }

  #feed(event: JsonObject): Progress {
    return emitAndRead(this.#emit, event, () => this.#assembler.take(event))
  }

  /**
   * Returns what the service expects back with a block, and the original text of an input if its object does not
   * reproduce it.
   */
  #originOf({ start, inputJson }: OpenBlock, input?: JsonObject): BlockOrigin | undefined {
    if (start.type === 'thinking') {
      const details: readonly Json[] = this.#details
      const origin = {
        api: chatApi,
        ...(this.#field !== undefined && { field: this.#field }),
        ...(details.length > 0 && { details }),
      }
      this.#details = []
      return origin
    }
    const extra = this.#calls.calls.find(({ id }) => id === start.id)?.extra
    const stored = storedArguments(inputJson, input)
    if (extra === undefined && stored.arguments === undefined) return undefined
    return {
      api: chatApi,
      ...stored,
      ...(extra !== undefined && { extra_content: extra }),
    }
  }
}

/** What was emitted of a call. */
interface EmittedCall {
  readonly index: number
  hasInput: boolean
  isEnded: boolean
}

function hasDetailContent(detail: JsonObject): boolean {
  return ['text', 'summary', 'data', 'signature'].some((field) => stringOf(detail[field]) !== '')
}

/** Whether a chunk is an error. Errors have several shapes; normal chunks have choices and none of these fields. */
function isError({ error, type, object, choices, message, detail }: JsonObject): boolean {
  if (isJsonObject(error) || (typeof error === 'string' && error !== '')) return true
  if (type === 'error' || object === 'error') return true
  return choices === undefined && (typeof message === 'string' || detail !== undefined)
}

function reportOf(chunk: JsonObject, choice: Json | undefined): Json | undefined {
  if (isJsonObject(chunk.usage)) return chunk.usage
  if (isJsonObject(chunk.x_groq) && isJsonObject(chunk.x_groq.usage)) return chunk.x_groq.usage
  return isJsonObject(choice) ? choice.usage : undefined
}

/**
 * Converts a finish reason to a stop reason of the Messages API. An unknown reason is unchanged; without a reason the
 * reply ended normally.
 */
function meaningOf(finishReason = 'stop'): string {
  const name = nameOf(finishReason)
  return (Object.hasOwn(stopReasonOf, name) ? stopReasonOf[name] : undefined) ?? finishReason
}

/** Whether the reply may have been truncated inside a call. */
function isCut(finishReason: string | undefined): boolean {
  const meaning = meaningOf(finishReason)
  return meaning === 'max_tokens' || meaning === 'model_context_window_exceeded' || meaning === 'refusal'
}

/** Finish reasons of replies that the service did not complete. */
function isFailure(finishReason: string): boolean {
  return failures.has(nameOf(finishReason))
}

/** Normalizes a reason: some services use capitals, or add details after a colon. */
function nameOf(finishReason: string): string {
  return finishReason.toLowerCase().split(':', 1)[0] ?? ''
}

const stopReasonOf: { readonly [finishReason: string]: string } = {
  stop: 'end_turn',
  eos: 'end_turn',
  eos_token: 'end_turn',
  end_turn: 'end_turn',
  tool_calls: 'tool_use',
  tool_use: 'tool_use',
  function_call: 'tool_use',
  length: 'max_tokens',
  max_tokens: 'max_tokens',
  model_length: 'model_context_window_exceeded',
  content_filter: 'refusal',
  sensitive: 'refusal',
  refusal: 'refusal',
}

const failures: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
  // The service could not parse its model's call.
  'function_call_filter',
])

/** A call that the service rejected: the tool name, empty if it cannot be found, and the text of the call. */
interface RefusedCall {
  readonly name: string
  readonly text: string
}

/** How models write the tool name in a call: as JSON, in tags (Llama), or before the arguments. */
const names = [/"name"\s*:\s*"([\w.-]{1,128})"/, /<function=([\w.-]{1,128})/, /^\s*([\w.-]{1,128})\s*\{/]

/** Parses Groq's error for an unreadable call (`tool_use_failed`); undefined for any other error. */
function refusedCallOf(error: Json | undefined): RefusedCall | undefined {
  if (!isJsonObject(error) || error.code !== 'tool_use_failed') return undefined
  const text = stringOf(error.failed_generation) || stringOf(error.message)
  const beginning = text.slice(0, 2_000)
  const name = names.map((pattern) => pattern.exec(beginning)?.[1]).find((found) => found !== undefined) ?? ''
  return { name, text }
}
