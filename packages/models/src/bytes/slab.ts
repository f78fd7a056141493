const pageBytes = 4_096

/**
 * Bytes in one piece, written at the end. Texts are encoded where they are to stand.
 *
 * S1: every byte below `length` was written; what lies above is nobody's.
 * S2: there is room for an eighth more at most, and for a page: memory stays near what is kept.
 */
export class Slab {
  #bytes: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The last byte, or 0 where there is none. */
  get last(): number {
    return this.#bytes[this.#length - 1] ?? 0
  }

  write(text: string): void {
    const { length } = text
    // A UTF-16 unit takes three bytes at most; they are counted only where that much room is not at hand.
    if (this.#bytes.length - this.#length < length * 3) this.reserve(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  copy(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  truncate(length: number): void {
    this.#length = length
  }

  /** Puts other bytes in place of the first `length` ones. */
  replaceStart(length: number, bytes: Uint8Array): void {
    const grown = bytes.length - length
    if (grown > 0) this.reserve(grown)
    this.#bytes.copyWithin(bytes.length, length, this.#length)
    this.#bytes.set(bytes, 0)
    this.#length += grown
  }

  view(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end)
  }

  /** Goes on with a copy of the first `length` bytes: views handed out so far are no longer written to. */
  leave(length: number): void {
    // As much is about to be written again.
    const needed = this.#length
    this.#length = length
    this.#move(needed)
  }

  /** Makes room for so many more. */
  reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed > this.#bytes.length) this.#move(needed)
  }

  #move(needed: number): void {
    const before = this.#bytes
    const capacity = Math.ceil((needed * 9) / 8 / pageBytes) * pageBytes
    // S1: what is not copied is not read either.
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
    this.#bytes.set(before.subarray(0, this.#length), 0)
  }
}
