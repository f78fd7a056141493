import type { ScriptedReply } from './script.ts'

interface Numbered {
  readonly reply: ScriptedReply
  /** Its place in the script, counted from 1, repetitions too. */
  readonly number: number
}

/** What one request gets. */
interface Taken {
  /** Absent when the script is exhausted. */
  readonly reply: ScriptedReply | undefined
  readonly number: number
  /** When an error that lasts ends, by the clock of `take`. */
  readonly endsMs?: number
}

/** The replies of a script that no request has taken. */
export class Replies {
  readonly count: number
  /** In order, and out of order. */
  readonly #queue: Numbered[] = []
  readonly #kept: Numbered[] = []
  #taken = 0
  /** An error that every request gets until it ends. */
  #lasting: (Taken & { readonly endsMs: number }) | undefined

  constructor(replies: readonly ScriptedReply[]) {
    const all = replies.flatMap((reply) => Array.from({ length: reply.repeat ?? 1 }, () => reply))
    this.count = all.length
    for (const [index, reply] of all.entries()) {
      const place = reply.when === undefined ? this.#queue : this.#kept
      place.push({ reply, number: index + 1 })
    }
  }

  get left(): number {
    return this.#queue.length + this.#kept.length
  }

  /**
   * The reply for a request with this last user message: an error that lasts, one that is kept for it, else the next.
   * Without one, the number of the request. `nowMs` is of a clock that nobody sets.
   */
  take(lastText: string, nowMs: number): Taken {
    this.#taken++
    if (this.#lasting !== undefined && nowMs < this.#lasting.endsMs) return this.#lasting
    const index = this.#kept.findIndex(({ reply: { when = '' } }) => lastText.includes(when))
    const [found] = index === -1 ? this.#queue.splice(0, 1) : this.#kept.splice(index, 1)
    if (found === undefined) return { reply: undefined, number: this.#taken }
    const { reply } = found
    if (!('error' in reply) || reply.error.for_ms === undefined) return found
    this.#lasting = { ...found, endsMs: nowMs + reply.error.for_ms }
    return this.#lasting
  }
}
