import { refuse } from '../values/validators.ts'
import type { Clock } from '../values/clock.ts'
import { systemClock } from '../values/system-clock.ts'
import { eventIdOf } from './event-ids.ts'

/** Options of `toSse`. */
export interface SseOptions {
  /** Milliseconds without an event after which a comment is sent, so that proxies keep the connection open. Default: no comments. */
  readonly heartbeatMs?: number | undefined
  /** The timer for heartbeats. Default: the system's clock. */
  readonly clock?: Pick<Clock, 'after'> | undefined
  /** Data of a final event, such as `[DONE]`, which some clients expect. Default: none. */
  readonly done?: string | undefined
  /** Returns the id of an item. Default: `eventIdOf`. */
  readonly idOf?: ((item: object) => string | undefined) | undefined
}

/** Headers of a response with a stream of `toSse`. The last one is the version of the AI SDK stream. */
export const sseHeaders: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
})

/**
 * Writes a stream as server-sent events: one for each item, with its JSON as data and its id. JSON has no line ends, so
 * any text is safe in it.
 * Cancelling the byte stream cancels the source. Pass it to `new Response(bytes, { headers: sseHeaders })`, or write it
 * to a response of `node:http`.
 * @throws ConfigurationError for an interval that is not positive.
 */
export function toSse<Item extends object>(
  items: ReadableStream<Item>,
  options: SseOptions = {},
): ReadableStream<Uint8Array> {
  const { heartbeatMs, clock = systemClock, done, idOf = eventIdOf } = options
  // With zero or NaN, a timer would write endlessly.
  if (heartbeatMs !== undefined && !(heartbeatMs >= 1)) refuse('heartbeatMs', 'at least 1 millisecond', heartbeatMs)
  const reader = items.getReader()
  const encoder = new TextEncoder()
  let stopTimer = (): void => {}
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const startHeartbeat = (): void => {
          if (heartbeatMs === undefined) return
          stopTimer = clock.after(heartbeatMs, () => {
            // One unread heartbeat is enough.
            if ((controller.desiredSize ?? 0) >= 0) controller.enqueue(encoder.encode(': heartbeat\n\n'))
            startHeartbeat()
          })
        }
        startHeartbeat()
        try {
          const next = await reader.read()
          if (next.done) {
            if (done !== undefined) controller.enqueue(encoder.encode(`data: ${done}\n\n`))
            return controller.close()
          }
          const id = idOf(next.value)
          const named = id === undefined ? '' : `id: ${withoutLineEnds(id)}\n`
          controller.enqueue(encoder.encode(`${named}data: ${JSON.stringify(next.value)}\n\n`))
        } finally {
          stopTimer()
        }
      },
      async cancel(reason) {
        stopTimer()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** An id with a line end would span several lines, and an id with a null character is ignored. */
function withoutLineEnds(id: string): string {
  return id.replaceAll(/[\r\n\0]/g, '')
}
