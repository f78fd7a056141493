import type { ModelMessage } from '@halting/core'
import type { Slab } from './slab.ts'
import type { TurnKind, WireFormat } from './wire-format.ts'

/** Stores settled bytes. Offsets count from the first message, which a new head moves. */
export interface Home {
  settledBytes(at: number, length: number): Uint8Array
}

/**
 * The JSON values of one message: a text until they are settled, then a range of a conversation's bytes.
 *
 * P1: they are stored once. If several conversations settle them, the newest one stores them, so that the bytes of a
 *     discarded list can be freed.
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

  /** Length in bytes, or in UTF-16 units while it is a text; precise enough to reserve memory. */
  get length(): number {
    return this.#text?.length ?? this.#length
  }

  write(slab: Slab): void {
    if (this.#text !== null) slab.write(this.#text)
    else if (this.#home !== null) slab.copy(this.#home.settledBytes(this.#at, this.#length))
  }

  /** Writes the values to their final place. `base` is the start of the messages in `slab`. */
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
 * All renderings, for the lifetime of the messages.
 *
 * R1: a message is rendered once, whatever lists contain it. Forks and replays create new message objects around the
 *     same content, so the content identifies them; its type forbids mutation.
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

  /** Returns where a message is settled, if it is. */
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
