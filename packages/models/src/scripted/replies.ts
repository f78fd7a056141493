import type { ScriptedReply } from './script.ts'

interface Numbered {
  readonly reply: ScriptedReply
  /** Its place in the script, counted from 1, repetitions too. */
  readonly number: number
}

/** The replies of a script that no request has taken. */
export class Replies {
  readonly count: number
  /** In order, and out of order. */
  readonly #queue: Numbered[] = []
  readonly #kept: Numbered[] = []
  #taken = 0

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

  /** The reply for a request with this last user message: one that is kept for it, else the next. Without one, the number of the request. */
  take(lastText: string): { readonly reply: ScriptedReply | undefined; readonly number: number } {
    this.#taken++
    const index = this.#kept.findIndex(({ reply: { when = '' } }) => lastText.includes(when))
    const [found] = index === -1 ? this.#queue.splice(0, 1) : this.#kept.splice(index, 1)
    return found ?? { reply: undefined, number: this.#taken }
  }
}
