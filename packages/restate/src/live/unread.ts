import type { Writable } from 'node:stream'

/**
 * What was written to readers and is not read. U1: a reader that is so far behind is cut off. U2: where more waits for all of them together, the one that is furthest
 * behind is. U3: while that is so, or nearly, nobody else begins to read. Who is cut off or refused loses nothing: the records tell all.
 */
export class Unread {
  readonly #mostOfOne: number
  readonly #mostOfAll: number
  readonly #bytes = new Map<Writable, number>()
  #sum = 0

  constructor(mostOfOne: number, mostOfAll: number) {
    this.#mostOfOne = mostOfOne
    this.#mostOfAll = mostOfAll
  }

  /** Whether one more may read. */
  get hasRoom(): boolean {
    return this.#sum + this.#mostOfOne <= this.#mostOfAll
  }

  add(reader: Writable): void {
    this.#bytes.set(reader, 0)
    reader.on('drain', () => this.#count(reader))
    reader.on('close', () => this.#leave(reader))
  }

  write(reader: Writable, text: string): void {
    if (!this.#bytes.has(reader)) return
    if (reader.writableLength > this.#mostOfOne) return this.#cut(reader)
    reader.write(text)
    this.#count(reader)
    while (this.#sum > this.#mostOfAll) this.#cut(this.#furthestBehind)
  }

  #count(reader: Writable): void {
    const before = this.#bytes.get(reader)
    if (before === undefined) return
    this.#bytes.set(reader, reader.writableLength)
    this.#sum += reader.writableLength - before
  }

  get #furthestBehind(): Writable | undefined {
    const [[reader] = []] = [...this.#bytes].toSorted(([, one], [, other]) => other - one)
    return reader
  }

  #cut(reader: Writable | undefined): void {
    if (reader === undefined) return
    this.#leave(reader)
    reader.destroy()
  }

  #leave(reader: Writable): void {
    this.#sum -= this.#bytes.get(reader) ?? 0
    this.#bytes.delete(reader)
  }
}
