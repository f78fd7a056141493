import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { ContentBlock, RunEvent } from '@halting/core'
import { replyExtra } from '../frontends/reply-extras.ts'

type ModelUpdated = Extract<RunEvent, { readonly type: 'model_update' }>

type Kind = 'agent_message_chunk' | 'agent_thought_chunk'

function textChunk(kind: Kind, text: string, messageId: string): SessionUpdate {
  return { sessionUpdate: kind, content: { type: 'text', text }, messageId }
}

/**
 * Streams the text of replies. Shown text cannot be withdrawn, so the reply of a retried request is a new message. Text that was not streamed is sent when
 * the reply is complete.
 */
export class ReplyText {
  /** The current reply, and how much of each kind of text was sent. */
  #entryId = ''
  #attempt = 0
  #sent: { [kind in Kind]: string } = emptyTexts()
  /** The last block; a new block starts a new paragraph. */
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

  /** The request is retried. Returns whether some of its text was sent. */
  retry(): boolean {
    const hadText = this.#sent.agent_message_chunk !== ''
    this.#attempt += 1
    this.#sent = emptyTexts()
    this.#lastBlock = undefined
    return hadText
  }

  /** Completes the reply: sends the part of its text that was not streamed. */
  message(entryId: string, content: readonly ContentBlock[]): readonly SessionUpdate[] {
    if (entryId !== this.#entryId) this.#begin(entryId)
    const updates: SessionUpdate[] = []
    for (const [kind, texts] of textsOf(content)) {
      const sent = this.#sent[kind]
      // Nothing was streamed: sends all texts in order.
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

  /** Images are sent as images; other content that is not text is described. */
  #extra(block: ContentBlock): readonly SessionUpdate[] {
    if (block.type === 'image') {
      // A stored record may contain anything.
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
