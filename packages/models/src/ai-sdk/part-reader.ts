import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import type { Json, JsonObject, ContentBlock } from '@halting/core'
import { MessageAssembler } from '../anthropic/message-assembler.ts'
import { messageStart, emitAndRead } from '../anthropic/emit-event.ts'
import { listOf, parseJson, stringOf } from '../json-fields.ts'
import { namelessTool } from '../service/stream-reader.ts'
import type { Assembled } from '../service/stream-reader.ts'
import { customContent, fileBlock, reasoningFile } from './file-block.ts'
import { jsonCopyOf } from './json-copy.ts'
import { endDetails, reportedUsage, stopReasonOf } from './finish-part.ts'
import { SearchCount } from './web-search.ts'
import { inputStartEvent, inputUpdateOf, ToolInputs } from './tool-inputs.ts'
import type { InputUpdate } from './tool-inputs.ts'
import { mergeMetadata, originOf } from './origin.ts'

export interface PartReaderOptions {
  readonly provider: string
  /** Model name to use if the service does not report one. */
  readonly modelId: string
  /** Message id to use if the service does not report one. */
  readonly messageId: string
  readonly emit: (update: ModelUpdate) => void
}

/** The effect of a part on reading the stream: `more` carries content of the reply, `ping` does not. */
export type PartProgress =
  | { readonly kind: 'more' | 'ping' | 'end' }
  /** Data was lost or duplicated. */
  | { readonly kind: 'violation'; readonly why: string }
  /** The service failed. */
  | { readonly kind: 'error'; readonly error: unknown }
  /** The service requires something that we do not support. */
  | { readonly kind: 'unusable'; readonly why: string }

const more: PartProgress = { kind: 'more' }
const ping: PartProgress = { kind: 'ping' }

/**
 * Converts the parts of an AI SDK stream into a message. It feeds equivalent Messages API events to a
 * `MessageAssembler`, whose rules A1 to A4 apply.
 *
 * D1: a call exists from its `tool-call` part on. Earlier `tool-input-*` parts are emitted, but decide nothing. An
 *     input in plain text (`inputEncoding`) is emitted only with its call, as JSON.
 * D2: a call with an unreadable input is deferred until the message has ended without being truncated.
 * D3: parts that do not belong to a message, such as warnings and unknown parts, are emitted unchanged.
 * D4: sources are emitted as they arrive, and become one block after all others when the reply has ended.
 */
export class PartReader {
  readonly #options: PartReaderOptions
  readonly #assembler: MessageAssembler
  readonly #log: BlockLog
  readonly #inputs = new ToolInputs()
  readonly #sources = new Sources()
  readonly #searches = new SearchCount()
  /** Indexes of calls whose inputs are emitted as deltas. */
  readonly #announced = new Set<number>()
  /** Open blocks of text and reasoning, by kind and id. */
  readonly #open = new Map<string, number>()
  readonly #deferredCalls: (readonly JsonObject[])[] = []
  /** Warnings of the provider. */
  warnings: readonly Json[] = []
  #id: string
  #model: string
  #isStarted = false
  #blocks = 0
  #hasCalls = false
  #hasContent = false

  constructor(options: PartReaderOptions) {
    this.#options = options
    this.#log = new BlockLog(options.provider, options.emit)
    this.#assembler = new MessageAssembler(this.#log.forward)
    this.#id = options.messageId
    this.#model = options.modelId
  }

  take(part: unknown): PartProgress {
    if (!isJsonObject(part)) return violation('it contained a part that is not of the AI SDK')
    switch (part.type) {
      case 'text-start':
        return this.#begin('text', { type: 'text', text: '' }, part)
      case 'text-delta':
        return this.#add('text', { type: 'text_delta', text: part.delta }, part)
      case 'text-end':
        return this.#endText(part)
      case 'reasoning-start':
        return this.#begin('reasoning', { type: 'thinking', thinking: '', signature: '' }, part)
      case 'reasoning-delta':
        return this.#add('reasoning', { type: 'thinking_delta', thinking: part.delta }, part)
      case 'reasoning-end':
        return this.#end('reasoning', part)
      case 'tool-input-start':
        return this.#beginInput(part)
      case 'tool-input-delta':
        return this.#addInput(part)
      case 'tool-call':
        return this.#takeCall(part)
      case 'tool-result':
        return part.preliminary === true ? this.#forwardPart(part) : this.#takeResult(part)
      case 'tool-approval-request':
        return {
          kind: 'unusable',
          why:
            `${this.#options.provider} requests approval for its own tool, which is not possible here. ` +
            'Disable that tool, or configure it to run without approval.',
        }
      case 'file':
        return this.#takeProviderBlock(part, fileBlock(part), 'a file had no data or type')
      case 'reasoning-file':
        return this.#takeProviderBlock(part, reasoningFile(part), 'a file of the reasoning had no data or type')
      case 'custom':
        if (customAnnouncements.has(stringOf(part.kind))) return this.#forwardPart(part)
        return this.#takeProviderBlock(part, customContent(part), 'custom content had no kind')
      case 'response-metadata':
        return this.#takeMetadata(part)
      case 'finish':
        return this.#takeFinish(part)
      case 'error':
        return { kind: 'error', error: part.error }
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return ping
      case 'stream-start':
        return this.#takeWarnings(part)
      case 'source':
        this.#sources.add(part)
        return this.#forwardPart(part)
      default:
        return this.#forwardPart(part)
    }
  }

  /** Call this once, after the last part. */
  finish(): Assembled {
    const assembled = this.#assembler.finish()
    if (assembled.kind === 'nothing') return assembled
    const { message } = assembled
    return { ...assembled, message: { ...message, content: this.#log.asEmitted(message.content) } }
  }

  #begin(kind: string, block: JsonObject, part: JsonObject): PartProgress {
    const key = blockKey(kind, part)
    if (this.#open.has(key)) return violation('a block started twice')
    const index = this.#blocks++
    this.#open.set(key, index)
    this.#log.addMetadata(index, part.providerMetadata)
    return this.#send({ type: 'content_block_start', index, content_block: block })
  }

  #add(kind: string, delta: JsonObject, part: JsonObject): PartProgress {
    const index = this.#open.get(blockKey(kind, part))
    if (index === undefined) return violation('it had a delta for a block that is not open')
    if (typeof part.delta !== 'string') return violation('a delta had no text')
    this.#log.addMetadata(index, part.providerMetadata)
    // Some providers send a signature with an empty delta.
    if (part.delta === '') return ping
    this.#hasContent ||= kind === 'text' && part.delta.trim() !== ''
    return this.#send({ type: 'content_block_delta', index, delta })
  }

  #end(kind: string, part: JsonObject): PartProgress {
    const key = blockKey(kind, part)
    const index = this.#open.get(key)
    if (index === undefined) return violation('a block ended that had not started')
    this.#open.delete(key)
    this.#log.addMetadata(index, part.providerMetadata)
    return this.#send({ type: 'content_block_stop', index })
  }

  #endText(part: JsonObject): PartProgress {
    const index = this.#open.get(blockKey('text', part))
    if (index !== undefined) {
      for (const citation of citationsOf(part.citations)) {
        // Other providers do not understand these citations.
        this.#log.markProviderOnly(index)
        this.#send({ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } })
      }
    }
    return this.#end('text', part)
  }

  #takeWarnings(part: JsonObject): PartProgress {
    if (listOf(part.warnings).length === 0) return ping
    this.warnings = listOf(part.warnings)
    return this.#forwardPart(part)
  }

  #beginInput(part: JsonObject): PartProgress {
    const id = stringOf(part.id)
    if (id === '' || this.#inputs.has(id)) return violation('a call started without an id, or twice')
    const index = this.#blocks++
    this.#inputs.begin(id, index, part.inputEncoding === 'text' ? 'text' : 'json')
    this.#log.addMetadata(index, part.providerMetadata)
    const started = this.#start()
    this.#emitEvent(inputStartEvent(index, { ...part, toolCallId: id }))
    return started
  }

  #addInput(part: JsonObject): PartProgress {
    const index = this.#inputs.add(stringOf(part.id), stringOf(part.delta))
    if (index === undefined || part.delta === '') return ping
    this.#log.addMetadata(index, part.providerMetadata)
    this.#emitEvent(inputDelta(index, stringOf(part.delta)))
    return more
  }

  #takeCall(part: JsonObject): PartProgress {
    const { toolCallId: id, toolName, input } = part
    if (typeof id !== 'string' || id === '' || typeof toolName !== 'string' || typeof input !== 'string') {
      return violation('a call had no id, name or input')
    }
    if (toolName === '') return this.#takeCall({ ...part, toolName: namelessTool })
    const started = this.#inputs.complete(id)
    if (started === 'twice') return violation(`the call ${id} was sent twice`)
    const index = started?.index ?? this.#blocks++
    const streamed = started?.streamed ?? ''
    this.#log.addMetadata(index, part.providerMetadata)
    if (part.providerExecuted === true) {
      this.#log.markProviderOnly(index)
      this.#searches.call(toolName)
    } else this.#hasCalls = true
    this.#hasContent = true

    const failed = this.#start()
    if (failed.kind !== 'more') return failed
    const start = inputStartEvent(index, part)
    if (started === undefined) this.#emitEvent(start)
    const isEmpty = streamed === '' && (input.trim() === '' || input.trim() === '{}')
    if (!isEmpty && input !== streamed && input.startsWith(streamed))
      this.#emitEvent(inputDelta(index, input.slice(streamed.length)))
    const stop = { type: 'content_block_stop', index }
    // Providers send `{}` for a missing input; the assembler expects no input delta then.
    const events = isEmpty ? [start, stop] : [start, inputDelta(index, input), stop]
    return emitAndRead(this.#options.emit, stop, () => {
      if (isEmpty || isObject(input)) return this.#feed(...events)
      this.#deferredCalls.push(events)
      return more
    })
  }

  #takeResult(part: JsonObject): PartProgress {
    const { toolCallId, toolName } = part
    const content = jsonCopyOf(part.result)
    if (typeof toolCallId !== 'string' || typeof toolName !== 'string' || content === undefined) {
      return violation('a result had no id, name or content')
    }
    this.#searches.result(toolName, content)
    return this.#addBlock(part, {
      type: 'server_tool_result',
      tool_use_id: toolCallId,
      name: toolName,
      content,
      ...(part.isError === true && { is_error: true }),
    })
  }

  #takeProviderBlock(part: JsonObject, block: JsonObject | undefined, why: string): PartProgress {
    return block === undefined ? violation(why) : this.#addBlock(part, block)
  }

  /** Adds a block that arrives in a single part. */
  #addBlock(part: JsonObject, block: JsonObject): PartProgress {
    const index = this.#blocks++
    this.#hasContent = true
    this.#log.addMetadata(index, part.providerMetadata)
    this.#log.markProviderOnly(index)
    return this.#send(
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    )
  }

  /**
   * Stores the model and the message id. They are emitted with the start of the message; later metadata has no effect.
   */
  #takeMetadata({ id, modelId }: JsonObject): PartProgress {
    this.#id = stringOf(id) || this.#id
    this.#model = stringOf(modelId) || this.#model
    return ping
  }

  #takeFinish(part: JsonObject): PartProgress {
    const stop = stopReasonOf(part.finishReason, { hasCalls: this.#hasCalls, hasContent: this.#hasContent })
    const isCut = stop.kind === 'reason' && cutReasons.has(stop.reason)
    if (!isCut && this.#inputs.isUnfinished()) return violation('a call started but was never completed')
    if (stop.kind === 'failed') return { kind: 'error', error: stop.why }
    if (stop.kind === 'interrupted') return violation('the service stopped before its reply was complete')
    const ends = [...this.#open.values()].map((index) => ({ type: 'content_block_stop', index }))
    const failed = this.#send(...ends)
    if (failed.kind !== 'more') return failed
    if (!isCut) for (const events of this.#deferredCalls) this.#feed(...events)
    const sources = this.#hasContent ? this.#sources.block() : undefined
    if (sources !== undefined) this.#addBlock({}, sources)
    const progress = this.#send({
      type: 'message_delta',
      delta: { stop_reason: stop.reason, stop_sequence: null, ...endDetails(part.providerMetadata) },
      usage: this.#searches.in(reportedUsage(part.usage), part.providerMetadata, this.#options.modelId),
    })
    if (progress.kind !== 'more') return progress
    this.#emitEvent({ type: 'message_stop' })
    return { kind: 'end' }
  }

  #start(): PartProgress {
    if (this.#isStarted) return more
    this.#isStarted = true
    return this.#send(messageStart(this.#id, this.#model))
  }

  /** Emits events and feeds them to the assembler. */
  #send(...events: readonly JsonObject[]): PartProgress {
    const started = this.#start()
    if (started.kind !== 'more') return started
    for (const event of events) {
      const progress = emitAndRead(this.#options.emit, event, () => this.#feed(event))
      if (progress.kind !== 'more') return progress
    }
    return more
  }

  #feed(...events: readonly JsonObject[]): PartProgress {
    for (const event of events) {
      const progress = this.#assembler.take(event)
      if (progress.kind === 'violation') return progress
    }
    return more
  }

  #emitEvent(event: JsonObject): void {
    this.#options.emit({ type: 'api_event', event })
    const update = inputUpdateOf(event)
    if (update !== undefined && this.#isAnnounced(update)) this.#options.emit(update)
  }

  /** Excludes deltas of calls that the provider runs itself. */
  #isAnnounced(update: InputUpdate): boolean {
    if (update.type === 'tool_input_start') this.#announced.add(update.index)
    return this.#announced.has(update.index)
  }

  #forwardPart(part: JsonObject): PartProgress {
    const copy = jsonCopyOf(part)
    if (copy !== undefined) this.#emitEvent({ type: 'ai_sdk_part', part: copy })
    return ping
  }
}

/** Custom parts that only announce something and carry no content: no provider accepts them back. */
const customAnnouncements: ReadonlySet<string> = new Set(['anthropic.message_start'])

function violation(why: string): PartProgress {
  return { kind: 'violation', why }
}

/** Stop reasons that can interrupt a call. */
const cutReasons: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

function blockKey(kind: string, { id }: JsonObject): string {
  return `${kind}:${stringOf(id)}`
}

function inputDelta(index: number, text: string): JsonObject {
  return { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: text } }
}

function isObject(json: string): boolean {
  return isJsonObject(parseJson(json))
}

/** Adds provider metadata to completed blocks. */
class BlockLog {
  readonly #provider: string
  readonly #emit: (update: ModelUpdate) => void
  /** Metadata by block index; undefined for a block that only this provider understands and that has none yet. */
  readonly #metadata = new Map<number, JsonObject | undefined>()
  readonly #emitted = new Map<ContentBlock, ContentBlock>()

  constructor(provider: string, emit: (update: ModelUpdate) => void) {
    this.#provider = provider
    this.#emit = emit
  }

  /** Adds metadata of any part of a block. */
  addMetadata(index: number, metadata: Json | undefined): void {
    if (metadata === undefined) return
    const merged = mergeMetadata(this.#metadata.get(index), metadata)
    if (merged !== undefined) this.#metadata.set(index, merged)
  }

  /** Marks a block as meaningful to this provider only. */
  markProviderOnly(index: number): void {
    this.#metadata.set(index, this.#metadata.get(index))
  }

  /** Forwards updates, with metadata added to completed blocks. */
  readonly forward = (update: ModelUpdate): void => {
    // Inputs are emitted as the provider sends them, before the assembler has the whole call.
    if (update.type === 'tool_input_start' || update.type === 'tool_input_delta') return
    if (update.type !== 'block') return this.#emit(update)
    const { index } = update
    const block = this.#metadata.has(index)
      ? { ...update.block, origin: originOf(this.#provider, this.#metadata.get(index)) }
      : update.block
    this.#emitted.set(update.block, block)
    this.#emit({ ...update, block })
  }

  /** Returns the blocks as they were emitted. */
  asEmitted(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    return blocks.map((block) => this.#emitted.get(block) ?? block)
  }
}

/** Type of a block that lists the pages and documents a reply is based on. */
const sourcesBlock = 'ai_sdk_sources'

/** Maximum number of sources stored for one reply. */
const maxSources = 200

/** Collects the sources of a reply without duplicates. */
class Sources {
  readonly #found = new Map<string, JsonObject>()

  add(part: JsonObject): void {
    const source = sourceOf(part)
    if (source === undefined) return
    const key = stringOf(source.url) || `${stringOf(source.title)}\n${stringOf(source.filename)}`
    if (!this.#found.has(key) && this.#found.size < maxSources) this.#found.set(key, source)
  }

  /** Returns the block that lists the sources; undefined if there are none. */
  block(): JsonObject | undefined {
    return this.#found.size === 0 ? undefined : { type: sourcesBlock, sources: [...this.#found.values()] }
  }
}

/** Converts a source to its stored form: URL or document, and title. */
function sourceOf(source: JsonObject): JsonObject | undefined {
  const title = stringOf(source.title)
  const named = title === '' ? {} : { title }
  if (source.sourceType === 'url') {
    const url = stringOf(source.url)
    return url === '' ? undefined : { type: 'url', url, ...named }
  }
  if (source.sourceType !== 'document') return undefined
  const filename = stringOf(source.filename)
  if (title === '' && filename === '') return undefined
  return { type: 'document', ...named, ...(filename !== '' && { filename }), media_type: stringOf(source.mediaType) }
}

/** Converts the citations of a text block. */
function citationsOf(citations: Json | undefined): readonly JsonObject[] {
  return listOf(citations).flatMap((citation) => {
    if (!isJsonObject(citation) || !isJsonObject(citation.source)) return []
    const source = sourceOf(citation.source)
    if (source === undefined) return []
    const { type, ...place } = source
    const cited = { cited_text: stringOf(citation.citedText) }
    // The Messages API and our reader of the Responses API use this name, too.
    return [{ type: type === 'url' ? 'web_search_result_location' : 'document_citation', ...place, ...cited }]
  })
}
