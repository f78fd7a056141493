import { ByteDigest } from './byte-digest.ts'
import type { ServerSentEvent } from './event-stream.ts'

/** What is another one in every answer: names, times, and what makes lengths tell nothing. */
const changing =
  /"(?:id|\w{1,20}_id|created|created_at|timestamp|time|obfuscation|system_fingerprint)" {0,2}: {0,2}(?:"[^"\\]{0,200}"|\d{1,20})/g
/** Beyond it an event is another one by its length. */
const longestLook = 4_096

/** Tells what events say apart, whatever ids and times a service gives them, and however many of them say nothing. */
export class EventDigest {
  readonly #digest = new ByteDigest()

  add({ event = '', data }: ServerSentEvent): void {
    if (data === '' || data.includes('"ping"')) return
    const text = data.slice(0, longestLook).replaceAll(changing, '')
    this.#digest.add(encoder.encode(`${event} ${data.length > longestLook ? data.length : ''} ${text}\n`))
  }

  toString(): string {
    return String(this.#digest)
  }
}

const encoder = new TextEncoder()
