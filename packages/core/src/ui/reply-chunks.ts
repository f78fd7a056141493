import { isJsonObject, jsonOf } from '../values/json.ts'
import { isToolUse, type ContentBlock } from '../model/messages.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { UIMessageChunk } from './ui-message-chunk.ts'

/** The chunks of a complete block; none for an invisible block. `id` distinguishes its text from others in the stream. */
export function chunksOfBlock(block: ContentBlock, id: string, withReasoning: boolean): readonly UIMessageChunk[] {
  switch (block.type) {
    case 'text':
      // The type guarantees this; opaque blocks have other types.
      return textChunks('text', 'text' in block ? block.text : '', id, citationsOf(block))
    case 'thinking':
      return withReasoning ? textChunks('reasoning', 'thinking' in block ? block.thinking : '', id, []) : []
    case 'tool_use':
      if (!isToolUse(block)) return []
      return [{ type: 'tool-input-available', toolCallId: block.id, toolName: block.name, input: block.input }]
    case 'image':
      return fileChunks(block)
    default:
      return serverToolChunks(block)
  }
}

function textChunks(
  kind: 'text' | 'reasoning',
  text: string,
  id: string,
  sources: readonly UIMessageChunk[],
): readonly UIMessageChunk[] {
  if (text === '') return sources
  return [
    { type: `${kind}-start`, id },
    { type: `${kind}-delta`, id, delta: text },
    { type: `${kind}-end`, id },
    ...sources,
  ]
}

/** Pages that a text cites, without duplicates. */
function citationsOf(block: ContentBlock): readonly UIMessageChunk[] {
  const citations = jsonOf('citations' in block ? block.citations : undefined)
  if (!Array.isArray(citations)) return []
  const sources = new Map<string, UIMessageChunk>()
  // Checked above to be a list.
  for (const citation of citations as readonly unknown[]) {
    if (!isJsonObject(citation) || typeof citation['url'] !== 'string') continue
    const { url, title } = citation
    const named = typeof title === 'string' ? { title } : {}
    sources.set(url, { type: 'source-url', sourceId: url, url, ...named })
  }
  return [...sources.values()]
}

function fileChunks(block: ContentBlock): readonly UIMessageChunk[] {
  const source = 'source' in block ? jsonOf(block.source) : undefined
  if (!isJsonObject(source)) return []
  const { media_type: mediaType, data, url } = source
  if (typeof url === 'string')
    return [{ type: 'file', url, mediaType: typeof mediaType === 'string' ? mediaType : 'image/*' }]
  if (typeof data !== 'string' || typeof mediaType !== 'string') return []
  return [{ type: 'file', url: `data:${mediaType};base64,${data}`, mediaType }]
}

/** Chunks for tool calls that the service executed itself, and for their results. */
function serverToolChunks(block: ContentBlock): readonly UIMessageChunk[] {
  const { type, id, name, input, tool_use_id: callId, content } = block as { readonly [field: string]: unknown }
  if (typeof type !== 'string') return []
  const isOfService = { providerExecuted: true } as const
  if (type.endsWith('_tool_use') && typeof id === 'string' && typeof name === 'string')
    return [{ type: 'tool-input-available', toolCallId: id, toolName: name, input: input ?? {}, ...isOfService }]
  if (type.endsWith('_tool_result') && typeof callId === 'string')
    return [{ type: 'tool-output-available', toolCallId: callId, output: content ?? null, ...isOfService }]
  return []
}

interface LiveBlock {
  readonly kind: 'text' | 'reasoning' | 'call' | 'other'
  readonly id: string
  text: string
  /** Identifies the block in the message, after it is complete. */
  key: string | undefined
}

/** The chunks that were sent of a reply while it streamed. */
export class LiveReply {
  readonly #entryId: string
  readonly #withReasoning: boolean
  readonly #blocks = new Map<number, LiveBlock>()
  #isInconsistent = false

  constructor(entryId: string, withReasoning: boolean) {
    this.#entryId = entryId
    this.#withReasoning = withReasoning
  }

  /** Nothing was sent, so there is nothing to retract. */
  get isEmpty(): boolean {
    return this.#blocks.size === 0
  }

  /** The chunks of an update. */
  take(update: ModelUpdate): readonly UIMessageChunk[] {
    switch (update.type) {
      case 'text_delta':
        return this.#delta('text', update.index, update.text)
      case 'thinking_delta':
        return this.#withReasoning ? this.#delta('reasoning', update.index, update.text) : []
      case 'tool_input_start':
        return this.#beginCall(update)
      case 'tool_input_delta': {
        const open = this.#blocks.get(update.index)
        if (open?.kind !== 'call' || open.key !== undefined) return []
        return [{ type: 'tool-input-delta', toolCallId: open.id, inputTextDelta: update.json }]
      }
      case 'block':
        return this.#complete(update.index, update.block)
      case 'api_event':
        return []
    }
  }

  /** Whether the chunks sent so far are exactly the message. */
  isWhole(content: readonly ContentBlock[]): boolean {
    if (this.#isInconsistent) return false
    const sent = [...this.#blocks.values()].map(({ key }) => key)
    const expected = content.map((block) => keyOf(block, this.#withReasoning)).filter((key) => key !== '')
    return sent.length === expected.length && sent.every((key, index) => key === expected[index])
  }

  #delta(kind: 'text' | 'reasoning', index: number, delta: string): readonly UIMessageChunk[] {
    if (delta === '') return []
    const before = this.#blocks.get(index)
    if (before !== undefined && (before.kind !== kind || before.key !== undefined)) this.#isInconsistent = true
    if (this.#isInconsistent) return []
    const id = `${this.#entryId}:${index}`
    const open = before ?? { kind, id, text: '', key: undefined }
    open.text += delta
    this.#blocks.set(index, open)
    const more: UIMessageChunk = { type: `${kind}-delta`, id, delta }
    return before === undefined ? [{ type: `${kind}-start`, id }, more] : [more]
  }

  #beginCall({
    index,
    callId,
    name,
  }: Extract<ModelUpdate, { readonly type: 'tool_input_start' }>): readonly UIMessageChunk[] {
    if (this.#blocks.has(index)) this.#isInconsistent = true
    if (this.#isInconsistent) return []
    this.#blocks.set(index, { kind: 'call', id: callId, text: '', key: undefined })
    return [{ type: 'tool-input-start', toolCallId: callId, toolName: name }]
  }

  #complete(index: number, block: ContentBlock): readonly UIMessageChunk[] {
    const chunks = chunksOfBlock(block, `${this.#entryId}:${index}`, this.#withReasoning)
    const open = this.#blocks.get(index)
    const key = keyOf(block, this.#withReasoning)
    if (open === undefined) {
      if (key !== '') this.#blocks.set(index, { kind: 'other', id: '', text: '', key })
      return this.#isInconsistent ? [] : chunks
    }
    const isText = open.kind === 'text' || open.kind === 'reasoning'
    const [, delta] = chunks
    // If a text differs from its deltas, it is sent again with the message.
    const isSame = isText
      ? delta !== undefined && 'delta' in delta && delta.delta === open.text
      : isToolUse(block) && block.id === open.id
    if (open.key !== undefined || !isSame) this.#isInconsistent = true
    open.key = key
    if (this.#isInconsistent) return []
    return isText ? chunks.slice(2) : chunks
  }
}

/** A key that is equal for blocks that look the same; '' for an invisible block. */
function keyOf(block: ContentBlock, withReasoning: boolean): string {
  const chunks = chunksOfBlock(block, '', withReasoning)
  return chunks.length === 0 ? '' : JSON.stringify(chunks)
}
