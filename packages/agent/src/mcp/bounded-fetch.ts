import { floodBytes } from './flood.ts'

/** Minimum time between two requests for an event stream. A server may request immediate reconnection forever. */
const pauseMs = 1_000

/**
 * A fetch with bounds. The request's timeout applies to the headers of a response; its body has separate limits.
 * Redirects are followed only on the same server: no other server may receive the request or its headers, which may
 * contain keys.
 */
export function boundedFetch(maxBytes: number): typeof fetch {
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
    const counted = body.pipeThrough(isStream ? eventLimiter(maxBytes) : byteLimiter(maxBytes))
    return new Response(counted, response)
  }
}

const maxRedirects = 5
/** Redirect statuses for which the request is repeated unchanged; for other statuses, a POST becomes a GET. */
const sameRequest: readonly number[] = [307, 308]

async function fetchFromServer(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
  let url = new URL(input instanceof Request ? input.url : input)
  let request = init
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(redirects === 0 ? input : url, { ...request, redirect: 'manual' })
    const location = response.headers.get('location')
    if (![301, 302, 303, ...sameRequest].includes(response.status) || location === null) return response
    await response.body?.cancel()
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
    if (next === undefined || !isSameServer(url, next))
      throw new Error(
        `The server redirects to ${next?.origin ?? 'no address'}, which is not asked: name that address instead.`,
      )
    if (redirects >= maxRedirects) throw new Error('The server redirects without end.')
    if (!sameRequest.includes(response.status) && (request.method ?? 'GET') !== 'GET') {
      const { body: _, ...rest } = request
      request = { ...rest, method: 'GET' }
    }
    url = next
  }
}

/** Whether two URLs have the same origin, or the same host over TLS. */
function isSameServer(from: URL, to: URL): boolean {
  if (to.origin === from.origin) return true
  return from.protocol === 'http:' && to.protocol === 'https:' && to.hostname === from.hostname
}

/** Waits, but ends early when the request is aborted. */
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

/** Limits the size of a response, so that an endless one does not fill memory. */
export function byteLimiter(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) controller.error(new Error('The server sent a message that is too large.'))
      else controller.enqueue(chunk)
    },
  })
}

const [lineFeed, carriageReturn] = [10, 13]
/** Events per second, averaged over many seconds. */
const eventsPerSecond = 500
const eventsAtOnce = 5_000

/**
 * Limits the size of one event and the rate of events. An event consists of any number of lines and ends with an empty
 * line; the message limit applies to all of its lines together.
 */
function eventLimiter(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
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
      if (Math.max(most, ofEvent) > maxBytes)
        controller.error(new Error('The server sent a message that is too large.'))
      else if (linesLeft < 0 || bytesLeft < 0) controller.error(new Error('The server sent too much data too fast.'))
      else controller.enqueue(chunk)
    },
  })
}
