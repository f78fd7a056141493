import { ByteDigest } from './byte-digest.ts'
import type { ServerSentEvent } from './event-stream.ts'

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
