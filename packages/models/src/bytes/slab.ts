const pageBytes = 4_096

/**
 * A contiguous buffer that grows at its end. Texts are encoded in place.
 *
 * S1: every byte below `length` was written; bytes above are undefined.
 * S2: the spare capacity is at most an eighth and a page, so memory stays near the stored size.
 */
export class Slab {
  #bytes: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The last byte, or 0 if empty. */
  get last(): number {
    return this.#bytes[this.#length - 1] ?? 0
  }

  write(text: string): void {
    const { length } = text
    // A UTF-16 unit has at most three bytes. The bytes are counted only if there may not be enough room.
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

  /** Replaces the first `length` bytes. */
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

  /** Continues with a copy of the first `length` bytes; existing views are no longer overwritten. */
  leave(length: number): void {
    // The same amount will be written again.
    const needed = this.#length
    this.#length = length
    this.#move(needed)
  }

  /** Reserves room for more bytes. */
  reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed > this.#bytes.length) this.#move(needed)
  }

  #move(needed: number): void {
    const before = this.#bytes
    const capacity = Math.ceil((needed * 9) / 8 / pageBytes) * pageBytes
    // S1: what is not copied is never read.
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
    this.#bytes.set(before.subarray(0, this.#length), 0)
  }
}
