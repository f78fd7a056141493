import type { ModelMessage } from '@halting/core'
import type { Home, Part, RenderedMessage, RenderedMessages } from './rendered-messages.ts'
import { Slab } from './slab.ts'
import { lengthOf, markedTurns, settleTurn, turnsOf, writeTurn } from './turns.ts'
import type { Turn } from './turns.ts'
import type { TurnKind, WireFormat } from './wire-format.ts'

/**
 * The bytes of one conversation in sending order: the head, the settled turns, and the rest of the newest request. The
 * next request overwrites that rest, so it costs only what was added.
 *
 * C1: a settled turn is written once. A turn is settled when no message can join it and no breakpoint can be in it,
 *     however the list grows.
 * C2: a lent body is never overwritten: a concurrent request leaves the memory to it and uses a copy.
 * C3: a list continues the conversation only if its messages are the settled ones; any other list starts anew.
 * C4: the comma before the first message belongs to the head, because another head may need none.
 */
export class Conversation implements Home {
  readonly #format: WireFormat
  readonly #renderings: RenderedMessages
  readonly #slab = new Slab()
  #head = ''
  /** Start of the messages, and end of the settled ones. */
  #base = 0
  #settledEnd = 0
  /** Messages up to the end of the settled turns, and their renderings. */
  readonly #messages: ModelMessage[] = []
  readonly #rendered: RenderedMessage[] = []
  #lastKind: TurnKind | null = null
  /** What the last settled turn deferred. */
  #deferred: readonly Part[] = []
  #lent: Uint8Array | null = null
  #hasDeferredParts = false

  constructor(format: WireFormat, renderings: RenderedMessages) {
    this.#format = format
    this.#renderings = renderings
  }

  settledBytes(at: number, length: number): Uint8Array {
    return this.#slab.view(this.#base + at, this.#base + at + length)
  }

  /** Returns the turns of a list after the settled ones; undefined if it does not continue those. */
  openTurns(messages: readonly ModelMessage[]): readonly Turn[] | undefined {
    if (!this.#holds(messages)) return undefined
    const start = { from: this.#messages.length, lastKind: this.#lastKind, deferred: this.#deferred }
    const open = turnsOf(messages, start, this.#renderings, this.#format)
    if (this.#lastKind === null) return open
    // C1: a shorter list of the same messages may need a breakpoint, or end, inside the settled part.
    const { breakpoints } = this.#format
    const isEnough = open.length > 0 && markedTurns(open, breakpoints).length === (breakpoints?.turns ?? 0)
    // A turn that defers parts has another kind than the messages that join it.
    const isMerged = this.#lastKind.merges && open[0]?.kind.merges === true
    return isEnough && !isMerged ? open : undefined
  }

  /** Returns the body of a request, lent until `release`. */
  body(head: string, messages: readonly ModelMessage[], open: readonly Turn[], tail: string): Uint8Array {
    // C4: without a message there is no comma.
    if (open.length === 0 && this.#lastKind === null) return Buffer.from(head + tail)
    const slab = this.#slab
    if (this.#lent !== null) slab.leave(this.#settledEnd)
    slab.truncate(this.#settledEnd)
    this.#setHead(head)
    slab.reserve(lengthOf(open) + tail.length)
    const { breakpoints } = this.#format
    const marked = markedTurns(open, breakpoints)
    const settled = Math.min(marked[0] ?? open.length, open.length - 1)
    this.#settle(messages, open, settled)
    open.forEach((turn, index) => {
      if (index >= settled) writeTurn(slab, turn, marked.includes(index) ? (breakpoints?.fields ?? '') : '')
    })
    slab.write(tail)
    this.#hasDeferredParts = (open.at(-1)?.deferred.length ?? 0) > 0
    const body = slab.view(0, slab.length)
    this.#lent = body
    return body
  }

  /** Whether the newest body omits parts of its messages. */
  get hasDeferredParts(): boolean {
    return this.#hasDeferredParts
  }

  release(body: Uint8Array): void {
    if (this.#lent === body) this.#lent = null
  }

  /** C3 */
  #holds(messages: readonly ModelMessage[]): boolean {
    const mine = this.#messages
    if (messages.length < mine.length) return false
    for (let index = 0; index < mine.length; index++) {
      const message = messages[index]
      if (message === mine[index]) continue
      if (message === undefined || this.#renderings.of(message) !== this.#rendered[index]) return false
      // Forks and replays create new objects around the same content.
      mine[index] = message
    }
    return true
  }

  #setHead(head: string): void {
    if (head === this.#head) return
    const bytes = Buffer.from(head.endsWith('[') ? head : `${head},`)
    this.#slab.replaceStart(this.#base, bytes)
    this.#settledEnd += bytes.length - this.#base
    this.#base = bytes.length
    this.#head = head
  }

  #settle(messages: readonly ModelMessage[], open: readonly Turn[], count: number): void {
    const next = open[count]
    if (count <= 0 || next === undefined) return
    for (let index = 0; index < count; index++) {
      const turn = open[index]
      if (turn === undefined) continue
      settleTurn(this.#slab, turn, this, this.#base)
      this.#lastKind = turn.kind
      this.#deferred = turn.deferred
    }
    for (let index = this.#messages.length; index < next.from; index++) {
      const message = messages[index]
      if (message === undefined) continue
      this.#messages.push(message)
      this.#rendered.push(this.#renderings.of(message))
    }
    this.#settledEnd = this.#slab.length
  }
}
