/** The time for the headers of an answer is that of the request; what comes after them has a bound of its own. */
export function boundedFetch(mostBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { body } = response
    if (body === null) return response
    const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream')
    const counted = body.pipeThrough(isStream ? eventBound(mostBytes) : bound(mostBytes))
    return new Response(counted, response)
  }
}

/** An answer that never ends fills no memory. */
function bound(mostBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = mostBytes
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) controller.error(new Error('The server sent a message that is too large.'))
      else controller.enqueue(chunk)
    },
  })
}

const lineEnd = 10
/** Events in a second, over many seconds. */
const eventsPerSecond = 500
const eventsAtOnce = 5_000

/** One event fills no memory, and events without end use up no processor. */
function eventBound(mostBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0
  let left = eventsAtOnce
  let at = performance.now()
  return new TransformStream({
    transform(chunk, controller) {
      const now = performance.now()
      left = Math.min(eventsAtOnce, left + ((now - at) / 1_000) * eventsPerSecond)
      at = now
      let from = 0
      for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, from)) {
        length = 0
        left -= 1
        from = end + 1
      }
      length += chunk.byteLength - from
      if (length > mostBytes) controller.error(new Error('The server sent a message that is too large.'))
      else if (left < 0) controller.error(new Error('The server floods: it sends more than anybody asked for.'))
      else controller.enqueue(chunk)
    },
  })
}
