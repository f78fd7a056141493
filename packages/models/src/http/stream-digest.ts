import type { ServerSentEvent } from './event-stream.ts'

/** Most bytes at the beginning of a stream that its digest looks at. */
const mostBytes = 16_384
const firstCapacity = 1_024

/**
 * Tells streams of bytes apart, however they were cut into pieces: by how they begin and how long they are (two 32-bit
 * lanes, FNV-1a). Not for secrets. It is computed when it is asked for: until then a bounded beginning is kept.
 */
export class ByteDigest {
  readonly #most: number
  #head = new Uint8Array(0)
  #storedLength = 0
  #length = 0

  /** `most`: bytes that it looks at; of the rest it knows how many there were. */
  constructor(most: number = mostBytes) {
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

/** What is another one in every answer: names, times, and what makes lengths tell nothing. */
const changing =
  /"(?:id|\w{1,20}_id|created|created_at|timestamp|time|obfuscation|system_fingerprint)" {0,2}: {0,2}(?:"[^"\\]{0,200}"|\d{1,20})/g
/** Beyond it an event is another one by its length. */
const longestLook = 4_096
/** Most events that are looked at, and of their characters: of what follows the last event, and how many there were. */
const mostEvents = 256
const mostCharacters = 16_384
/** A sign of life is short. */
const longestPing = 100

/**
 * Tells what events say apart, whatever ids and times a service gives them, and however many of them say nothing. It is
 * computed when it is asked for: until then a bounded beginning is kept.
 */
export class EventDigest {
  readonly #first: ServerSentEvent[] = []
  #characters = 0
  #later = 0
  #last: ServerSentEvent | undefined

  add(received: ServerSentEvent): void {
    const { data } = received
    if (data === '' || (data.length <= longestPing && data.includes('"ping"'))) return
    if (this.#first.length < mostEvents && this.#characters < mostCharacters) {
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
