import { headOf, tailOf } from '@halting/core/adapters'
import { headComesLast, outputLeftOut, tailComesFirst } from './shell-texts.ts'

const noteLength = 80
const tailFirstNoteLength = 130

/** The whole text, or its ends and the number of characters between them. */
interface Ends {
  readonly whole: string | undefined
  readonly head: string
  readonly tail: string
  readonly leftOut: number
}

function wholly(whole: string): Ends {
  return { whole, head: whole, tail: '', leftOut: 0 }
}

/**
 * A text of unlimited length of which only the head, the tail and the length in between are stored. B1:
 * `toString()` never exceeds `limit` characters. B2: the stored text never exceeds a small multiple of `limit`,
 * however much is appended.
 */
export class BoundedOutput {
  /** Maximum characters of the text. */
  readonly limit: number
  readonly #redact: ((text: string) => string) | undefined
  readonly #overflow: ((text: string) => void) | undefined
  #head = ''
  #tail = ''
  #length = 0
  readonly #followers = new Set<(text: string) => void>()

  /**
   * @param redact Receives the stored text before it is truncated, so that no secret is truncated to a part.
   * @param overflow Receives the whole text once it exceeds the limit.
   */
  constructor(limit: number, redact?: (text: string) => string, overflow?: (text: string) => void) {
    this.limit = limit
    this.#overflow = overflow
    this.#redact = redact
  }

  /** Number of characters received so far. */
  get length(): number {
    return this.#length
  }

  /** Calls the listener with all further text. Returns a function that removes the listener. */
  follow(listener: (text: string) => void): () => void {
    this.#followers.add(listener)
    return () => this.#followers.delete(listener)
  }

  /** Returns the text after so many characters, unchanged, without parts that are no longer stored. */
  since(characters: number): string {
    if (characters < this.#head.length) return this.#head.slice(characters) + this.#tail
    return this.#tail.slice(Math.max(0, characters - (this.#length - this.#tail.length)))
  }

  /** Adds text at the end. */
  append(text: string): void {
    for (const listener of this.#followers) listener(text)
    if (this.#length + text.length > this.limit) this.#overflow?.(this.#length <= this.limit ? this.#head + text : text)
    this.#length += text.length
    const room = this.limit - this.#head.length
    if (this.#tail === '' && room > 0) {
      this.#head += text.slice(0, room)
      text = text.slice(room)
    }
    if (text === '') return
    this.#tail += text
    // Truncates rarely (B2): truncating at every chunk would copy the tail each time.
    if (this.#tail.length > 4 * this.limit + 4096) this.#tail = this.#tail.slice(-this.limit)
  }

  /** The text within its limit: all of it, or head and tail. */
  toString(): string {
    const { whole, head, tail, leftOut } = this.#ends(noteLength)
    return whole ?? `${head}\n\n${outputLeftOut(leftOut)}\n\n${tail}`
  }

  /**
   * Like `toString`, but with the tail before the head if the text is shortened: the last lines of a failure matter
   * most.
   */
  tailFirst(): string {
    const { whole, head, tail, leftOut } = this.#ends(tailFirstNoteLength)
    return whole ?? `${tailComesFirst}\n${tail.replace(/\n+$/, '')}\n\n${headComesLast(leftOut)}\n${head}`
  }

  #ends(note: number): Ends {
    if (this.#redact !== undefined) return this.#redacted(this.#redact, note)
    if (this.#length <= this.limit) return wholly(this.#head)
    const room = this.limit - note
    // Reads one unit more, so that half a surrogate pair at the end is recognized.
    if (room <= 0) return wholly(headOf(`${this.#head} `, this.limit))
    const head = headOf(this.#head, Math.ceil(room / 2))
    const tail = tailOf(this.#head + this.#tail, Math.floor(room / 2))
    return { whole: undefined, head, tail, leftOut: this.#length - head.length - tail.length }
  }

  #redacted(redact: (text: string) => string, note: number): Ends {
    const whole = this.#head + this.#tail
    const isWhole = whole.length === this.#length
    // Where the tail was truncated, its first word may be incomplete.
    const tail = redact(isWhole ? whole : this.#tail.replace(/^\S+/, ''))
    if (isWhole && tail.length <= this.limit) return wholly(tail)
    const room = this.limit - note
    const head = redact(isWhole ? whole : this.#head)
    if (room <= 0) return wholly(headOf(`${head} `, this.limit))
    const [first, last] = [headOf(head, Math.ceil(room / 2)), tailOf(tail, Math.floor(room / 2))]
    return { whole: undefined, head: first, tail: last, leftOut: this.#length - first.length - last.length }
  }
}
