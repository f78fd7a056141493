import { refuse } from '../values/given.ts'
import type { Clock } from '../values/clock.ts'
import { systemClock } from '../values/system-clock.ts'
import { eventIdOf } from './event-ids.ts'

/** Options of `toSse`. */
export interface SseOptions {
  /** Milliseconds of silence after which a comment is sent, so that proxies keep the connection; none when absent. */
  readonly heartbeatMs?: number | undefined
  /** The timers of heartbeats; those of the system when absent. */
  readonly clock?: Pick<Clock, 'after'> | undefined
  /** Data of a last event, such as `[DONE]`, which some clients wait for; none when absent. */
  readonly done?: string | undefined
  /** The id of an item; `eventIdOf` when absent. */
  readonly idOf?: ((item: object) => string | undefined) | undefined
}

/** Headers of a response with a stream of `toSse`. The AI SDK tells the version of its stream by the last one. */
export const sseHeaders: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
})

/**
 * Writes a stream as server-sent events: one event for each item, with its JSON as data and its id. JSON has no line ends, so any text is safe in it.
 * Cancelling the bytes cancels the stream. Give them to `new Response(bytes, { headers: sseHeaders })`, or write them to a response of `node:http`.
 * @throws ConfigurationError for an interval that is no positive number.
 */
export function toSse<Item extends object>(
  items: ReadableStream<Item>,
  options: SseOptions = {},
): ReadableStream<Uint8Array> {
  const { heartbeatMs, clock = systemClock, done, idOf = eventIdOf } = options
  // A timer of zero or not a number would write without an end.
  if (heartbeatMs !== undefined && !(heartbeatMs >= 1)) refuse('heartbeatMs', 'at least 1 millisecond', heartbeatMs)
  const reader = items.getReader()
  const encoder = new TextEncoder()
  let stopTimer = (): void => {}
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const beat = (): void => {
          if (heartbeatMs === undefined) return
          stopTimer = clock.after(heartbeatMs, () => {
            // One that nobody has read yet is enough.
            if ((controller.desiredSize ?? 0) >= 0) controller.enqueue(encoder.encode(': heartbeat\n\n'))
            beat()
          })
        }
        beat()
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

/** An id with a line end would be more than one line, and one with a null is none. */
function withoutLineEnds(id: string): string {
  return id.replaceAll(/[\r\n\0]/g, '')
}
