import { ModelError } from '@halting/core'
import { restartTimer } from './host-timer.ts'

export const defaultRequestTimeoutMs = 600_000
export const defaultIdleTimeoutMs = 300_000

export interface DeadlineLimits {
  /**
   * Most that may pass until the answer begins, and then between two pieces of news: a service that only ever
   * sends `ping` does not hold a run for ever. Infinity: no limit.
   */
  readonly requestTimeoutMs: number
  /** Most that may pass between two pieces of the answer, of whatever kind. Infinity: no limit. */
  readonly idleTimeoutMs: number
  /** Most that may pass between the reason why the reply ended and the end of the stream; 10,000 when absent. */
  readonly endTimeoutMs?: number | undefined
}

export interface Deadlines {
  /** A piece of the answer came. */
  onBytes(): void
  /** It was news of the reply. Of no account once nothing is missing but the end. */
  onProgress(): void
  /** Nothing is missing any more but the end. */
  onFinishReason(): void
  dispose(): void
}

/** Starts to wait for an answer; calls `onTimeout` once, when one of the limits has passed. */
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

/** None for a time that no timer can wait. */
type Timer = NodeJS.Timeout | undefined

/** The longest that Node's timers can wait; above it they fire at once. */
const maxTimerMs = 2_147_483_647

function startTimer(ms: number, onTimeout: (limit: string) => void): Timer {
  if (ms > maxTimerMs) return undefined
  return setTimeout(() => onTimeout(ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`), ms)
}
