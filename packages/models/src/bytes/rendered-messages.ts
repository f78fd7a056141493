import type { ModelMessage } from '@halting/core'
import type { Slab } from './slab.ts'
import type { TurnKind, WireFormat } from './wire-format.ts'

/** Where settled bytes are kept. Their places count from where the messages begin, which a new head moves. */
export interface Home {
  settledBytes(at: number, length: number): Uint8Array
}

/**
 * JSON values of one message: a text until they are settled, then a place in a conversation's bytes.
 *
 * P1: they are held once. Where a conversation settles what another had settled, the place is the newer one's, so the
 *     bytes of a list that is gone can go.
 */
export class Part {
  #text: string | null
  #home: Home | null = null
  #at = 0
  #length = 0

  constructor(text: string) {
    this.#text = text
  }

  get home(): Home | null {
    return this.#home
  }

  /** In bytes, or in UTF-16 units while it is a text: enough to make room by. */
  get length(): number {
    return this.#text?.length ?? this.#length
  }

  write(slab: Slab): void {
    if (this.#text !== null) slab.write(this.#text)
    else if (this.#home !== null) slab.copy(this.#home.settledBytes(this.#at, this.#length))
  }

  /** Writes them where they stay. `base` is where the messages begin in `slab`. */
  settle(slab: Slab, home: Home, base: number): void {
    const start = slab.length
    this.write(slab)
    this.#text = null
    this.#home = home
    this.#at = start - base
    this.#length = slab.length - start
  }
}

export interface RenderedMessage {
  readonly role: ModelMessage['role']
  readonly by: string | undefined
  readonly kind: TurnKind
  readonly first: Part | null
  readonly rest: Part | null
}

/**
 * Everything that was rendered, for as long as the messages live.
 *
 * R1: a message is rendered once in its life, whatever lists it comes in. An assistant message of a fork or a replay is
 *     a new object around the same content, so the content tells them apart; the type forbids to change it in place.
 */
export class RenderedMessages {
  readonly #format: WireFormat
  readonly #known = new WeakMap<object, RenderedMessage>()

  constructor(format: WireFormat) {
    this.#format = format
  }

  of(message: ModelMessage): RenderedMessage {
    const key = keyOf(message)
    const by = writerOf(message)
    const before = this.#known.get(key)
    if (before !== undefined && before.role === message.role && before.by === by) return before
    const { kind, first, rest } = this.#format.render(message)
    const rendered = { role: message.role, by, kind, first: partOf(first), rest: partOf(rest) }
    this.#known.set(key, rendered)
    return rendered
  }

  /** Where a message is settled, if it is. */
  homeOf(message: ModelMessage): Home | null {
    const rendered = this.#known.get(keyOf(message))
    return rendered?.first?.home ?? rendered?.rest?.home ?? null
  }
}

function keyOf(message: ModelMessage): object {
  return typeof message.content === 'string' ? message : message.content
}

function writerOf(message: ModelMessage): string | undefined {
  return message.role === 'assistant' ? message.by : undefined
}

function partOf(text: string): Part | null {
  return text === '' ? null : new Part(text)
}
