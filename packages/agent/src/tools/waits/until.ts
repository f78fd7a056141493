import type { ToolContext } from '@halting/core'
import { type CallWait, longestDurationMs } from '@halting/core/adapters'

/** Why a wait ended early. */
export type Unmet = 'over' | 'limit' | 'arrived' | 'aborted'

export type WaitEnd<Value> = { readonly kind: 'met'; readonly value: Value } | { readonly kind: Unmet }

/** Starts watching, and returns a function that stops the watch. May call back immediately. */
export type Watch<Value> = (met: (value: Value) => void) => () => void

/** Waits until `watch` calls back, or until the wait must end. Nothing remains running after that. */
export function waitUntil<Value>(
  { wait, signal, longestMs }: { readonly wait: CallWait; readonly signal: AbortSignal; readonly longestMs: number },
  watch: Watch<Value>,
): Promise<WaitEnd<Value>> {
  return new Promise((resolve) => {
    let isOver = false
    const stops: (() => void)[] = []
    const settle = (end: WaitEnd<Value>): void => {
      if (isOver) return
      isOver = true
      for (const stop of stops) stop()
      resolve(end)
    }
    const stopAtEnd = (stop: () => void): void => {
      if (isOver) stop()
      else stops.push(stop)
    }
    stopAtEnd(watch((value) => settle({ kind: 'met', value })))
    const onAbort = (): void => settle({ kind: 'aborted' })
    signal.addEventListener('abort', onAbort, { once: true })
    stopAtEnd(() => signal.removeEventListener('abort', onAbort))
    if (signal.aborted) onAbort()
    if (!isOver) stopAtEnd(wait.onEnd(longestMs, (kind) => settle({ kind })))
  })
}

/** Returns the wait of a call. Without a loop, the wait begins now and is never interrupted. */
export function waitOf({ wait }: Pick<ToolContext, 'wait'>): CallWait {
  return wait ?? new PlainWait()
}

class PlainWait implements CallWait {
  readonly sinceMs: number = Date.now()
  readonly leftMs: number = Infinity
  readonly #beganAt: number = performance.now()

  get waitedMs(): number {
    return performance.now() - this.#beganAt
  }

  onEnd(longestMs: number, listener: (why: 'over') => void): () => void {
    const timer = setTimeout(
      () => listener('over'),
      Math.min(Math.max(0, longestMs - this.waitedMs), longestDurationMs),
    )
    return () => clearTimeout(timer)
  }
}
