import type { ContentBlock, MessageContent } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { redactSecrets } from '../redact/secrets.ts'
import { wellFormed } from '../well-formed.ts'
import type { Guard } from './guard.ts'
import type { TelemetryOptions, ToldContent } from './options.ts'

const all: Required<ToldContent> = { prompts: true, replies: true, toolInputs: true, toolResults: true }
const none: Required<ToldContent> = { prompts: false, replies: false, toolInputs: false, toolResults: false }

const longestName = 256

/** A name or an id as it is told, whoever gave it: many a collector refuses all that comes with half a character. */
export function nameOf(name: string): string {
  return wellFormed(headOf(name, longestName))
}

/** Texts for attributes: redacted, then cut. */
export class ToldTexts {
  readonly wants: Required<ToldContent>
  readonly #redact: (text: string) => string
  readonly #most: number

  constructor({ content = false, redact = redactSecrets, mostCharacters = 8192 }: TelemetryOptions, guard: Guard) {
    this.wants = typeof content === 'boolean' ? (content ? all : none) : { ...none, ...content }
    // What could not be redacted is not told.
    this.#redact = (text) => guard.try(() => redact(text)) ?? ''
    this.#most = mostCharacters
  }

  /** A text that is told without being asked for: a message of an ending or of an error. */
  text(text: string): string {
    return this.#cut(this.#redact(text))
  }

  /** One message, in the form of the conventions. */
  message(role: string, content: MessageContent, finishReason?: string | null): string {
    const parts = typeof content === 'string' ? [this.#textPart(content)] : content.map((block) => this.#part(block))
    const finish = typeof finishReason === 'string' ? { finish_reason: finishReason } : {}
    return this.#cut(JSON.stringify([{ role, parts, ...finish }]))
  }

  json(value: unknown): string {
    return this.text(JSON.stringify(value) ?? 'null')
  }

  /** The texts of a result. Bytes of images are left out. */
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

  #textPart(text: string): { readonly type: string; readonly content: string } {
    return { type: 'text', content: this.text(text) }
  }

  #part(block: ContentBlock): { readonly type: string; readonly [field: string]: unknown } {
    if ('text' in block && typeof block.text === 'string') return this.#textPart(block.text)
    if (block.type === 'tool_use' && 'name' in block && 'id' in block)
      return {
        type: 'tool_call',
        id: block.id,
        name: block.name,
        ...(this.wants.toolInputs && { arguments: this.json('input' in block ? block.input : null) }),
      }
    if (block.type === 'tool_result' && 'tool_use_id' in block)
      return {
        type: 'tool_call_response',
        id: block.tool_use_id,
        ...(this.wants.toolResults && { response: this.result('content' in block ? block.content : '') }),
      }
    // Thinking, images and documents: that they are there.
    return { type: block.type }
  }

  #cut(text: string): string {
    if (text.length <= this.#most) return wellFormed(text)
    return `${wellFormed(headOf(text, this.#most))}… (${text.length} characters)`
  }
}
