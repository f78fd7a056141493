import type { ContentBlock, MessageContent, StopCategory, StopSignal } from '@halting/core'
import { headOf, isText, wellFormed } from '@halting/core/adapters'
import { redactSecrets } from '@halting/core/redact'
import type { FailureGuard } from './guard.ts'
import type { TelemetryOptions, ExportedContent } from './options.ts'

const all: Required<ExportedContent> = { prompts: true, replies: true, toolInputs: true, toolResults: true }
const none: Required<ExportedContent> = { prompts: false, replies: false, toolInputs: false, toolResults: false }

/** Sources of signals whose sentences are safe to export: `all`, or only the listed ones. */
const ownWords: { readonly [reason in StopCategory]: 'all' | readonly string[] } = {
  completed: 'all',
  finish_reason: 'all',
  steps_limit: 'all',
  token_limit: 'all',
  cost_limit: 'all',
  time_limit: 'all',
  no_progress: 'all',
  user_requested: 'all',
  // Retries ran out: the check of an answer quotes it, and a stop hook writes any text.
  retry_limit: ['model'],
  // A failed request, or no answer; a tool, a hook or a custom function may have written any text.
  error: ['model', 'media', 'answer'],
  stop_requested: ['permissions'],
  unknown: [],
}

const longestName = 256

/** Prepares a name or an id for export: many collectors reject everything that contains a lone surrogate. */
export function exportedName(name: string): string {
  return wellFormed(headOf(name, longestName))
}

/** Texts for attributes, redacted and then truncated. */
export class AttributeTexts {
  readonly wants: Required<ExportedContent>
  readonly #redact: (text: string) => string
  readonly #most: number

  constructor(
    { content = false, redact = redactSecrets, maxCharacters = 8192 }: TelemetryOptions,
    guard: FailureGuard,
  ) {
    this.wants = typeof content === 'boolean' ? (content ? all : none) : { ...none, ...content }
    // A text that cannot be redacted is not exported.
    this.#redact = (text) => guard.try(() => redact(text)) ?? ''
    this.#most = maxCharacters
  }

  /** Whether all content is requested. */
  get wantsAll(): boolean {
    return Object.values(this.wants).every(Boolean)
  }

  /** Prepares a text that is always exported: the message of an ending or an error. */
  text(text: string): string {
    return this.#cut(this.#redact(text))
  }

  /** Prepares a text of a hook, a tool or a check, which may quote the conversation: only with all content. */
  untrusted(text: string): string | undefined {
    return this.wantsAll ? this.text(text) : undefined
  }

  /** Returns the sentence of a signal if it may be exported. */
  sentence({ reason, source, message }: Pick<StopSignal, 'reason' | 'source' | 'message'>): string | undefined {
    const own = ownWords[reason]
    return own === 'all' || own.includes(source ?? '') ? this.text(message) : this.untrusted(message)
  }

  /**
   * Converts messages to the JSON of the conventions; it remains valid JSON when it is truncated. An interrupted reply
   * has no finish reason.
   */
  messages(role: string, contents: readonly MessageContent[], finishReason?: string | null): string {
    const room = { left: this.#most }
    const finish = finishReason === undefined ? {} : { finish_reason: exportedName(finishReason ?? 'error') }
    const messages = contents.map((content) => {
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
      return { role, parts: blocks.flatMap((block) => this.#part(block, room)), ...finish }
    })
    return JSON.stringify(messages.filter(({ parts }) => parts.length > 0))
  }

  json(value: unknown): string {
    return this.text(JSON.stringify(value) ?? 'null')
  }

  /** Returns the texts of a result, without image data. */
  result(content: unknown): string {
    if (typeof content === 'string') return this.text(content)
    if (!Array.isArray(content)) return ''
    const texts = content.map((block: unknown) =>
      typeof block === 'object' && block !== null && 'text' in block && typeof block.text === 'string'
        ? block.text
        : '',
    )
    return this.text(texts.filter((text) => text !== '').join('\n'))
  }

  #part(block: ContentBlock, room: Room): readonly Part[] {
    if (room.left <= 0) return []
    room.left -= maxOfPart
    if ('text' in block && typeof block.text === 'string')
      return [{ type: 'text', content: this.#fit(this.#redact(block.text), room) }]
    if (block.type === 'tool_use' && 'name' in block && 'id' in block) {
      const call = { type: 'tool_call', id: block.id, name: block.name }
      if (!this.wants.toolInputs) return [call]
      return [{ ...call, arguments: this.#fit(this.json('input' in block ? block.input : null), room) }]
    }
    if (block.type === 'tool_result' && 'tool_use_id' in block) {
      const response = { type: 'tool_call_response', id: block.tool_use_id }
      if (!this.wants.toolResults) return [response]
      return [{ ...response, response: this.#fit(this.result('content' in block ? block.content : ''), room) }]
    }
    // Of reasoning, images and documents export only the type.
    return [{ type: block.type }]
  }

  #fit(text: string, room: Room): string {
    const cut = cutAt(text, Math.max(room.left, 0))
    room.left -= cut.length
    return cut
  }

  #cut(text: string): string {
    return cutAt(text, this.#most)
  }
}

/** Returns the text of a user message, which comes first: files, command output and images follow. */
export function promptText(content: MessageContent): MessageContent {
  return typeof content === 'string' ? content : content.filter(isText).slice(0, 1)
}

/** Number of characters that messages may still use. */
interface Room {
  left: number
}

interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

/** Characters around the text of a part. */
const maxOfPart = 64

function cutAt(text: string, most: number): string {
  return text.length <= most ? wellFormed(text) : `${wellFormed(headOf(text, most))}… (${text.length} characters)`
}
