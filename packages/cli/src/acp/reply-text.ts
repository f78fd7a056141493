import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { ContentBlock, RunEvent } from '@halting/core'
import { replyExtra } from '../frontends/reply-extras.ts'

type ModelUpdated = Extract<RunEvent, { readonly type: 'model_update' }>

type Kind = 'agent_message_chunk' | 'agent_thought_chunk'

function textChunk(kind: Kind, text: string, messageId: string): SessionUpdate {
  return { sessionUpdate: kind, content: { type: 'text', text }, messageId }
}

/**
 * The text of replies as it comes. What a client has shown cannot be taken back: a reply that is asked for again is another message, and what came without
 * a stream is told once it is whole.
 */
export class ReplyText {
  /** The reply that is coming, and how much of it each kind has been told. */
  #entryId = ''
  #attempt = 0
  #sent: { [kind in Kind]: string } = emptyTexts()
  /** A block is followed by another one: a person sees two paragraphs. */
  #lastBlock: { readonly kind: Kind; readonly index: number } | undefined

  update({ entryId, update }: ModelUpdated): readonly SessionUpdate[] {
    if (update.type !== 'text_delta' && update.type !== 'thinking_delta') return []
    if (update.text === '') return []
    if (entryId !== this.#entryId) this.#begin(entryId)
    const kind: Kind = update.type === 'text_delta' ? 'agent_message_chunk' : 'agent_thought_chunk'
    return [this.#chunk(kind, update.index, update.text)]
  }

  #chunk(kind: Kind, index: number, text: string): SessionUpdate {
    const last = this.#lastBlock
    const isNextBlock = last?.kind === kind && last.index !== index && this.#sent[kind] !== ''
    this.#lastBlock = { kind, index }
    this.#sent[kind] += text
    return textChunk(kind, isNextBlock ? `\n\n${text}` : text, this.#messageId)
  }

  /** The request is made again. Gives whether something of its reply had been told. */
  retry(): boolean {
    const hadText = this.#sent.agent_message_chunk !== ''
    this.#attempt += 1
    this.#sent = emptyTexts()
    this.#lastBlock = undefined
    return hadText
  }

  /** The reply is in the conversation: what was not told of its text is told now. */
  message(entryId: string, content: readonly ContentBlock[]): readonly SessionUpdate[] {
    if (entryId !== this.#entryId) this.#begin(entryId)
    const updates: SessionUpdate[] = []
    for (const [kind, texts] of textsOf(content)) {
      const sent = this.#sent[kind]
      // All of its text stands in the order in which it came.
      if (sent === '') for (const { index, text } of texts) updates.push(this.#chunk(kind, index, text))
      else {
        const whole = texts.map(({ text }) => text).join('')
        if (whole.length > sent.length && whole.startsWith(sent))
          updates.push(textChunk(kind, whole.slice(sent.length), this.#messageId))
      }
    }
    for (const block of content) updates.push(...this.#extra(block))
    this.#begin('')
    return updates
  }

  /** An image is one for the client; what else there is besides text is told in words. */
  #extra(block: ContentBlock): readonly SessionUpdate[] {
    if (block.type === 'image') {
      // A record may hold anything.
      const { data, media_type: mimeType }: { readonly data?: unknown; readonly media_type?: unknown } =
        block.source ?? {}
      if (typeof data === 'string' && typeof mimeType === 'string') {
        const content = { type: 'image' as const, data, mimeType }
        return [{ sessionUpdate: 'agent_message_chunk', content, messageId: this.#messageId }]
      }
    }
    const words = replyExtra(block)
    return words === undefined ? [] : [textChunk('agent_message_chunk', `\n\n${words}`, this.#messageId)]
  }

  get #messageId(): string {
    return this.#attempt === 0 ? this.#entryId : `${this.#entryId}#${this.#attempt + 1}`
  }

  #begin(entryId: string): void {
    this.#entryId = entryId
    this.#attempt = 0
    this.#sent = emptyTexts()
    this.#lastBlock = undefined
  }
}

function emptyTexts(): { [kind in Kind]: string } {
  return { agent_message_chunk: '', agent_thought_chunk: '' }
}

interface TextPiece {
  readonly index: number
  readonly text: string
}

function textsOf(content: readonly ContentBlock[]): readonly (readonly [Kind, readonly TextPiece[]])[] {
  const pieces = (read: (block: ContentBlock) => string): readonly TextPiece[] =>
    content.map((block, index) => ({ index, text: read(block) })).filter(({ text }) => text !== '')
  return [
    [
      'agent_thought_chunk',
      pieces((block) => (block.type === 'thinking' && 'thinking' in block ? block.thinking : '')),
    ],
    ['agent_message_chunk', pieces((block) => (block.type === 'text' && 'text' in block ? block.text : ''))],
  ]
}
