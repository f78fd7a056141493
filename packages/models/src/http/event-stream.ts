/** One server-sent event: the content of its `event:` and `data:` lines. */
export interface ServerSentEvent {
  readonly event?: string | undefined
  readonly data: string
}

/** Parses events from bytes, wherever the network split them: inside a line, a line ending or a character. */
export interface EventStream {
  /** Returns the events that these bytes complete; `too_long` if one exceeded the limit: do not feed more. */
  feed(bytes: Uint8Array): readonly ServerSentEvent[] | 'too_long'
}

/** Default maximum number of characters in one event. */
export const longestEvent = 64_000_000

/** Parses a `text/event-stream` as the HTML standard defines it. Ids and retry times are ignored. */
export function createEventStream(maxEventLength: number = longestEvent): EventStream {
  return new EventParser(maxEventLength)
}

const lineFeed = 0x0a
const space = 0x20
const colon = 0x3a
const letterD = 0x64
const letterE = 0x65

class EventParser implements EventStream {
  readonly #decoder = createUtf8Decoder()
  readonly #maxEventLength: number
  /** Chunks of a line that has not ended, and their total length; they are joined only once. */
  #pieces: string[] = []
  #piecesLength = 0
  #event: string | undefined
  #data: string | undefined
  /** The text so far ended with a carriage return; a following line feed belongs to it. */
  #isAfterReturn = false

  constructor(maxEventLength: number) {
    this.#maxEventLength = maxEventLength
  }

  feed(bytes: Uint8Array): readonly ServerSentEvent[] | 'too_long' {
    const completed: ServerSentEvent[] = []
    const text = this.#withLineFeeds(this.#decoder.decode(bytes))
    let start = 0
    let end = text.indexOf('\n')
    if (end >= 0 && this.#pieces.length > 0) {
      const line = this.#pieces.join('') + text.slice(0, end)
      this.#pieces = []
      this.#piecesLength = 0
      this.#takeLine(line, 0, line.length, completed)
      start = end + 1
      end = text.indexOf('\n', start)
    }
    while (end >= 0) {
      this.#takeLine(text, start, end, completed)
      start = end + 1
      end = text.indexOf('\n', start)
    }
    if (start < text.length) {
      this.#pieces.push(start === 0 ? text : text.slice(start))
      this.#piecesLength += text.length - start
    }
    const isTooLong = this.#piecesLength + (this.#data?.length ?? 0) > this.#maxEventLength
    return isTooLong ? 'too_long' : completed
  }

  /** A line ends with a line feed, a carriage return, or both. */
  #withLineFeeds(text: string): string {
    if (text === '') return text
    const rest = this.#isAfterReturn && text.charCodeAt(0) === lineFeed ? text.slice(1) : text
    this.#isAfterReturn = text.endsWith('\r')
    return rest.includes('\r') ? rest.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : rest
  }

  #takeLine(text: string, start: number, end: number, completed: ServerSentEvent[]): void {
    if (start === end) {
      if (this.#data !== undefined) completed.push({ event: this.#event, data: this.#data })
      this.#data = this.#event = undefined
      return
    }
    const first = text.charCodeAt(start)
    if (first === letterD) {
      const data = valueIn(text, start, end, 'data')
      if (data !== undefined) this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`
    } else if (first === letterE) {
      const event = valueIn(text, start, end, 'event')
      if (event !== undefined) this.#event = event === '' ? undefined : event
    }
  }
}

/** Returns the value of a field in this line; undefined for a line of another field, or a comment. */
function valueIn(text: string, start: number, end: number, field: string): string | undefined {
  const at = start + field.length
  if (!text.startsWith(field, start)) return undefined
  if (at === end) return ''
  if (text.charCodeAt(at) !== colon) return undefined
  return text.slice(text.charCodeAt(at + 1) === space ? at + 2 : at + 1, end)
}

/** Parses a stream in which each line is the data of one event. */
export function createLineStream(maxEventLength: number = longestEvent): EventStream {
  const decoder = createUtf8Decoder()
  let pieces: string[] = []
  let length = 0
  return {
    feed(bytes) {
      const [first = '', ...lines] = decoder.decode(bytes).split('\n')
      pieces.push(first)
      length += first.length
      const events: ServerSentEvent[] = []
      for (const line of lines) {
        events.push({ data: pieces.join('').trim() })
        pieces = [line]
        length = line.length
      }
      return length > maxEventLength ? 'too_long' : events
    },
  }
}

/** Decodes UTF-8, wherever the bytes were split. */
interface Utf8Decoder {
  /** Returns the characters that these bytes complete; an incomplete character waits for the rest. */
  decode(bytes: Uint8Array): string
}

const nothing = new Uint8Array(0)

/**
 * Decodes like a streaming `TextDecoder`, several times as fast. A byte order mark at the beginning is skipped, and
 * invalid UTF-8 becomes U+FFFD. An incomplete character at the end is never returned.
 */
export function createUtf8Decoder(): Utf8Decoder {
  let pending: Uint8Array = nothing
  let isBeginning = true
  return {
    decode(bytes) {
      const all = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
      const end = endOfLastCharacter(all)
      // Copy the bytes: the caller may reuse its buffer.
      pending = end === all.length ? nothing : all.slice(end)
      if (end === 0) return ''
      const text = Buffer.from(all.buffer, all.byteOffset, end).toString('utf8')
      if (!isBeginning) return text
      isBeginning = false
      return text.startsWith('\u{feff}') ? text.slice(1) : text
    },
  }
}

/** Returns the end of the last complete character. A lead byte always starts a character, whatever precedes it. */
function endOfLastCharacter(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0
    if (byte < 0x80) return length
    if (byte >= 0xc0) return bytesOfCharacter(byte) > back ? length - back : length
  }
  return length
}

function bytesOfCharacter(first: number): number {
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}
