import type { ServerSentEvent } from './event-stream.ts'

/** Maximum number of bytes at the beginning of a stream that the digest includes. */
const maxBytes = 16_384
const firstCapacity = 1_024

/**
 * Identifies a stream of bytes, however it was split, by its beginning and its length (two 32-bit lanes, FNV-1a). Not
 * for secrets. The digest is computed on demand; until then a bounded beginning is stored.
 */
export class ByteDigest {
  readonly #most: number
  #head = new Uint8Array(0)
  #storedLength = 0
  #length = 0

  /** `most` is the number of bytes that are included; of the rest only the length counts. */
  constructor(most: number = maxBytes) {
    this.#most = most
  }

  add(bytes: Uint8Array): void {
    this.#length += bytes.length
    if (this.#storedLength < this.#most) this.#store(bytes.subarray(0, this.#most - this.#storedLength))
  }

  #store(bytes: Uint8Array): void {
    const needed = this.#storedLength + bytes.length
    if (needed > this.#head.length) {
      const larger = new Uint8Array(Math.min(this.#most, Math.max(firstCapacity, 2 * needed)))
      larger.set(this.#head.subarray(0, this.#storedLength))
      this.#head = larger
    }
    this.#head.set(bytes, this.#storedLength)
    this.#storedLength = needed
  }

  toString(): string {
    let [one, two] = [0x811c9dc5, 0x9e3779b9]
    for (const byte of this.#head.subarray(0, this.#storedLength)) {
      one = Math.imul(one ^ byte, 0x01000193)
      two = Math.imul(two ^ byte, 0x85ebca6b)
    }
    return [one, two].map((lane) => (lane >>> 0).toString(36)).join('') + `.${this.#length}`
  }
}

/** Fields that differ in every response: ids, times, and padding that varies the length. */
const changing =
  /"(?:id|\w{1,20}_id|created|created_at|timestamp|time|obfuscation|system_fingerprint)" {0,2}: {0,2}(?:"[^"\\]{0,200}"|\d{1,20})/g
/** Longer events are identified by their length and beginning. */
const longestLook = 4_096
/** Maximum number of events and characters that are stored; of later events only the last one and the count matter. */
const maxEvents = 256
const maxCharacters = 16_384
/** Keep-alive events are shorter than this. */
const longestPing = 100

/**
 * Identifies the content of events, ignoring ids, times and keep-alive events. The digest is computed on demand; until
 * then a bounded beginning is stored.
 */
export class EventDigest {
  readonly #first: ServerSentEvent[] = []
  #characters = 0
  #later = 0
  #last: ServerSentEvent | undefined

  add(received: ServerSentEvent): void {
    const { data } = received
    if (data === '' || (data.length <= longestPing && data.includes('"ping"'))) return
    if (this.#first.length < maxEvents && this.#characters < maxCharacters) {
      this.#first.push(received)
      this.#characters += data.length
    } else {
      this.#last = received
      this.#later++
    }
  }

  toString(): string {
    const digest = new ByteDigest(Infinity)
    for (const received of this.#first) digest.add(encoder.encode(lineOf(received)))
    if (this.#last !== undefined) digest.add(encoder.encode(`${this.#later} ${lineOf(this.#last)}`))
    return String(digest)
  }
}

function lineOf({ event = '', data }: ServerSentEvent): string {
  const text = data.slice(0, longestLook).replaceAll(changing, '')
  return `${event} ${data.length > longestLook ? data.length : ''} ${text}\n`
}

const encoder = new TextEncoder()
