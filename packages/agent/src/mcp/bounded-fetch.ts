import { floodBytes } from './flood.ts'

/** Between two requests for a stream of events. A server may ask to be asked again at once, for ever. */
const pauseMs = 1_000

/** The time for the headers of an answer is that of the request; what comes after them has a bound of its own. */
export function boundedFetch(mostBytes: number): typeof fetch {
  let next = 0
  return async (input, init) => {
    if ((init?.method ?? 'GET') === 'GET') {
      const now = performance.now()
      const waitMs = next - now
      next = Math.max(next, now) + pauseMs
      if (waitMs > 0) await pause(waitMs, init?.signal)
    }
    const response = await fetch(input, init)
    const { body } = response
    if (body === null) return response
    const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream')
    const counted = body.pipeThrough(isStream ? eventBound(mostBytes) : bound(mostBytes))
    return new Response(counted, response)
  }
}

/** Over at once where the request is not wanted any more. */
function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
    if (signal?.aborted === true) done()
  })
}

/** An answer that never ends fills no memory. */
export function bound(mostBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = mostBytes
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) controller.error(new Error('The server sent a message that is too large.'))
      else controller.enqueue(chunk)
    },
  })
}

const [lineFeed, carriageReturn] = [10, 13]
/** Events in a second, over many seconds. */
const eventsPerSecond = 500
const eventsAtOnce = 5_000

/**
 * One event fills no memory, and events without end use up no processor. An event has any number of lines, and ends with an empty
 * one: what holds for a message holds for all of its lines together.
 */
function eventBound(mostBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let ofEvent = 0
  let ofLine = 0
  let before = 0
  let linesLeft = eventsAtOnce
  let bytesLeft = floodBytes.atOnce
  let at = performance.now()
  return new TransformStream({
    transform(chunk, controller) {
      const now = performance.now()
      const seconds = (now - at) / 1_000
      at = now
      linesLeft = Math.min(eventsAtOnce, linesLeft + seconds * eventsPerSecond)
      bytesLeft = Math.min(floodBytes.atOnce, bytesLeft + seconds * floodBytes.perSecond) - chunk.byteLength
      let most = 0
      for (const byte of chunk) {
        const isSecondOfEnd = byte === lineFeed && before === carriageReturn
        before = byte
        ofEvent += 1
        if (byte !== lineFeed && byte !== carriageReturn) ofLine += 1
        else if (!isSecondOfEnd) {
          most = Math.max(most, ofEvent)
          if (ofLine === 0) ofEvent = 0
          ofLine = 0
          linesLeft -= 1
        }
      }
      if (Math.max(most, ofEvent) > mostBytes)
        controller.error(new Error('The server sent a message that is too large.'))
      else if (linesLeft < 0 || bytesLeft < 0)
        controller.error(new Error('The server floods: it sends more than anybody asked for.'))
      else controller.enqueue(chunk)
    },
  })
}
