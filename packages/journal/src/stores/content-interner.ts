import { isToolResult } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { compactionResult } from '../format/compaction-record.ts'
import { callIdOf } from '../format/encoder.ts'

/**
 * Replaces equal message contents by one object. A run has the same object in the record of a reply and in that of the
 * turn, and the encoder writes it once; records from a database have two.
 */
export class ContentInterner {
  readonly #known = new Map<string, object>()

  intern(record: StepRecord): StepRecord {
    switch (record.type) {
      case 'start':
        return { ...record, start: { ...record.start, added: this.#entries(record.start.added) } }
      case 'lap':
        return { ...record, lap: { ...record.lap, added: this.#entries(record.lap.added) } }
      case 'end':
        return { ...record, added: this.#entries(record.added) }
      case 'result':
        return { ...record, value: this.#value(record) }
      case 'intent':
      case 'control':
      case 'rewind':
      case 'stage':
        return record
    }
  }

  #value(record: Extract<StepRecord, { readonly type: 'result' }>): unknown {
    const { value } = record
    if (typeof value !== 'object' || value === null) return value
    const compacted = compactionResult(record)
    if (compacted !== undefined)
      return { ...value, result: { ...compacted, messages: compacted.messages.map((each) => this.#message(each)) } }
    if ('message' in value && isMessage(value.message)) return { ...value, message: this.#message(value.message) }
    return callIdOf(record.key) !== undefined && 'content' in value
      ? { ...value, content: this.#same(value.content) }
      : value
  }

  #entries(added: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
    return added.map((entry): TranscriptEntry => {
      switch (entry.kind) {
        case 'assistant':
          return { ...entry, message: this.#message(entry.message) }
        case 'user':
          return { ...entry, message: this.#message(entry.message) }
        case 'compact_boundary':
          return { ...entry, messages: entry.messages.map((each) => this.#message(each)) }
        case 'attachment':
        case 'results_cleared':
        case 'collapse_staged':
        case 'media_removed':
          return entry
      }
    })
  }

  /** The message of an assistant is interned too, because the turn refers by it to the line of its reply. */
  #message<Message extends Pick<ModelMessage, 'role' | 'content'>>(message: Message): Message {
    const { content } = message
    if (!Array.isArray(content)) return message
    const blocks = (content as readonly ContentBlock[]).map((block) =>
      isToolResult(block) && typeof block.content === 'object'
        ? { ...block, content: this.#same(block.content) }
        : block,
    )
    const joined = { ...message, content: this.#same(blocks) }
    return message.role === 'assistant' ? this.#same(joined) : joined
  }

  #same<Value>(value: Value): Value {
    if (typeof value !== 'object' || value === null) return value
    const json = JSON.stringify(value)
    const known = this.#known.get(json)
    if (known === undefined) this.#known.set(json, value)
    // It has the same JSON.
    return (known as Value | undefined) ?? value
  }
}

function isMessage(value: unknown): value is Pick<ModelMessage, 'role' | 'content'> {
  return typeof value === 'object' && value !== null && 'role' in value && 'content' in value
}
