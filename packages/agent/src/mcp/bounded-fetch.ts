import { floodBytes } from './flood.ts'

/** Between two requests for a stream of events. A server may ask to be asked again at once, for ever. */
const pauseMs = 1_000

/**
 * The time for the headers of an answer is that of the request; what comes after them has a bound of its own. A redirect is followed on the server itself
 * alone: headers of the server, which may be keys, and what it is asked are for nobody else.
 */
export function boundedFetch(mostBytes: number): typeof fetch {
  let next = 0
  return async (input, init) => {
    if ((init?.method ?? 'GET') === 'GET') {
      const now = performance.now()
      const waitMs = next - now
      next = Math.max(next, now) + pauseMs
      if (waitMs > 0) await pause(waitMs, init?.signal)
    }
    const response = init?.redirect === 'manual' ? await fetch(input, init) : await fetchFromServer(input, init)
    const { body } = response
    if (body === null) return response
    const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream')
    const counted = body.pipeThrough(isStream ? eventBound(mostBytes) : bound(mostBytes))
    return new Response(counted, response)
  }
}

const mostRedirects = 5
/** With these a request is made again as it was; with the others a POST becomes a GET. */
const sameRequest: readonly number[] = [307, 308]

async function fetchFromServer(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
  let url = new URL(input instanceof Request ? input.url : input)
  let asked = init
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(redirects === 0 ? input : url, { ...asked, redirect: 'manual' })
    const location = response.headers.get('location')
    if (![301, 302, 303, ...sameRequest].includes(response.status) || location === null) return response
    await response.body?.cancel()
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
    if (next === undefined || !isSameServer(url, next))
      throw new Error(
        `The server redirects to ${next?.origin ?? 'no address'}, which is not asked: name that address instead.`,
      )
    if (redirects >= mostRedirects) throw new Error('The server redirects without end.')
    if (!sameRequest.includes(response.status) && (asked.method ?? 'GET') !== 'GET') {
      const { body: _, ...rest } = asked
      asked = { ...rest, method: 'GET' }
    }
    url = next
  }
}

/** The same origin, or the same host by TLS. */
function isSameServer(from: URL, to: URL): boolean {
  if (to.origin === from.origin) return true
  return from.protocol === 'http:' && to.protocol === 'https:' && to.hostname === from.hostname
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
      else if (linesLeft < 0 || bytesLeft < 0) controller.error(new Error('The server sent too much data too fast.'))
      else controller.enqueue(chunk)
    },
  })
}
