import { ModelError } from '@halting/core'
import { restartTimer } from './host-timer.ts'

export const defaultRequestTimeoutMs = 600_000
export const defaultIdleTimeoutMs = 300_000

export interface DeadlineLimits {
  /**
   * Maximum time until the response starts, and then between two events with content: a service that only sends `ping`
   * does not block a run forever. Infinity: no limit.
   */
  readonly requestTimeoutMs: number
  /** Maximum time between two chunks of the response of any kind. Infinity: no limit. */
  readonly idleTimeoutMs: number
  /** Maximum time between the stop reason and the end of the stream (default: 10,000). */
  readonly endTimeoutMs?: number | undefined
}

export interface Deadlines {
  /** Reports that a chunk of the response arrived. */
  onBytes(): void
  /** Reports that the chunk carried content of the reply. Ignored once only the end is missing. */
  onProgress(): void
  /** Reports that only the end of the stream is missing. */
  onFinishReason(): void
  dispose(): void
}

/** Starts waiting for a response; calls `onTimeout` once, when a limit has passed. */
export function startDeadlines(limits: DeadlineLimits, onTimeout: (error: ModelError) => void): Deadlines {
  const expire = (message: string): void => {
    dispose()
    onTimeout(new ModelError({ kind: 'timeout', message }))
  }
  let isAnswered = false
  const startNews = (): Timer =>
    startTimer(limits.requestTimeoutMs, (limit) =>
      expire(
        isAnswered ? `Only keep-alive events arrived for ${limit}.` : `The response did not start within ${limit}.`,
      ),
    )
  const startPieces = (): Timer =>
    startTimer(limits.idleTimeoutMs, (limit) => expire(`The stream was silent for ${limit}.`))
  let news = startNews()
  let pieces: Timer
  let isEnding = false

  function dispose(): void {
    clearTimeout(news)
    clearTimeout(pieces)
  }
  return {
    onBytes() {
      isAnswered = true
      pieces = pieces === undefined ? startPieces() : restartTimer(pieces, startPieces)
    },
    onProgress() {
      if (!isEnding && news !== undefined) news = restartTimer(news, startNews)
    },
    onFinishReason() {
      isEnding = true
      clearTimeout(news)
      const limit = Math.min(limits.endTimeoutMs ?? 10_000, limits.requestTimeoutMs)
      news = startTimer(limit, (duration) =>
        expire(`The reply was complete, but the stream did not end for ${duration}.`),
      )
    },
    dispose,
  }
}

/** Undefined for a duration that no timer supports. */
type Timer = NodeJS.Timeout | undefined

/** Maximum delay of Node's timers; longer ones fire at once. */
const maxTimerMs = 2_147_483_647

function startTimer(ms: number, onTimeout: (limit: string) => void): Timer {
  if (ms > maxTimerMs) return undefined
  return setTimeout(() => onTimeout(ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`), ms)
}
