import { createParser } from 'eventsource-parser'

/** One server-sent event: what stood in its `event:` and `data:` lines. */
export interface ServerSentEvent {
  readonly event?: string | undefined
  readonly data: string
}

/** Reads events out of bytes, wherever the network cut them: inside a line, a line ending or a character. */
export interface EventStream {
  /** The events that these bytes complete; `too_long` when one has grown past the limit: feed no more. */
  feed(bytes: Uint8Array): readonly ServerSentEvent[] | 'too_long'
}

/** Most characters that one event has, unless somebody says otherwise. */
export const longestEvent = 64_000_000

export function createEventStream(maxEventLength: number = longestEvent): EventStream {
  const decoder = new TextDecoder()
  let completed: ServerSentEvent[] = []
  let isTooLong = false
  let hasOpenReturn = false
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent(event) {
      completed.push(event)
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') isTooLong = true
    },
  })
  return {
    feed(bytes) {
      completed = []
      const text = (hasOpenReturn ? '\r' : '') + decoder.decode(bytes, { stream: true })
      // The parser looks for both line endings anew at every line.
      hasOpenReturn = text.endsWith('\r')
      parser.feed(withLineFeeds(hasOpenReturn ? text.slice(0, -1) : text))
      return isTooLong ? 'too_long' : completed
    },
  }
}

function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text
}

/** The same of a stream in which each line is the data of one event, and nothing else. */
export function createLineStream(maxEventLength: number = longestEvent): EventStream {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let length = 0
  return {
    feed(bytes) {
      const [first = '', ...lines] = decoder.decode(bytes, { stream: true }).split('\n')
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
