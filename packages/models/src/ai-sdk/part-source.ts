import { startCallScope } from '../http/call-scope.ts'
import type { CallScope } from '../http/call-scope.ts'
import type { DeadlineLimits } from '../http/deadlines.ts'
import type { AiSdkPartReader, AiSdkStream } from './language-model.ts'
import { unrefTimer } from '../http/host-timer.ts'

export interface SourceOptions extends DeadlineLimits {
  readonly signal: AbortSignal
}

type Read =
  | { readonly kind: 'part'; readonly part: unknown }
  | { readonly kind: 'ended' }
  | { readonly kind: 'broken'; readonly thrown: unknown }

/**
 * The parts of one AI SDK stream.
 *
 * F1: when the run's signal aborts, pending operations reject with its reason at once, even if the model or its stream
 *     ignores the signal.
 * F2: every other failure is returned as a value.
 * F3: an abandoned stream is cancelled. A stream with a complete message may end by itself, so that its connection can
 *     be reused.
 * F4: a stream whose parts are always available still yields to timers and aborts, even if it never ends.
 */
export interface PartSource {
  /** Headers of the HTTP response, if there was one. */
  readonly headers: Headers
  next(): Promise<Read>
  /** Reports that the last part carried content of the reply. */
  onProgress(): void
  /** Reports that the message is complete and the rest of the stream can be ignored. */
  finished(): void
  /** Call this exactly once, on every path. */
  dispose(): void
}

export type OpenedParts =
  | { readonly kind: 'open'; readonly source: PartSource }
  | { readonly kind: 'failed'; readonly thrown: unknown }

type Start = (signal: AbortSignal) => PromiseLike<AiSdkStream>

/** Calls the model and waits for its stream to start. */
export async function openParts(start: Start, options: SourceOptions): Promise<OpenedParts> {
  options.signal.throwIfAborted()
  const scope = startCallScope(options)
  let answer: Promise<AiSdkStream> | undefined
  try {
    // A model may throw instead of rejecting.
    answer = (async () => start(scope.signal))()
    const { stream, response } = await Promise.race([answer, scope.aborted])
    return { kind: 'open', source: sourceOf(stream.getReader(), headersOf(response?.headers), scope) }
  } catch (thrown) {
    scope.dispose()
    // A model that ignores the signal may still respond, but nobody reads the response.
    answer?.then(({ stream }) => stream.cancel()).catch(() => {})
    options.signal.throwIfAborted()
    return { kind: 'failed', thrown: scope.timeout() ?? thrown }
  }
}

/** Converts the AI SDK's headers and skips invalid ones. */
export function headersOf(given: unknown): Headers {
  const headers = new Headers()
  if (typeof given !== 'object' || given === null) return headers
  for (const [name, value] of Object.entries(given)) {
    try {
      if (typeof value === 'string') headers.set(name, value)
    } catch {
      // Not every provider uses HTTP, so a header may have an invalid name.
    }
  }
  return headers
}

function sourceOf(reader: AiSdkPartReader, headers: Headers, scope: CallScope): PartSource {
  const cancel = (): void => void reader.cancel().catch(() => {})
  let end: 'none' | 'finished' | 'ended' = 'none'
  // Ends a pending read of a stream that ignores the signal.
  scope.signal.addEventListener('abort', cancel, { once: true })
  let lastTurn = performance.now()
  const hadNoTurn = (): boolean => performance.now() - lastTurn >= longestTurnMs
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(() => {
        lastTurn = performance.now()
        resolve()
      })
    })
  scope.deadlines.onBytes()
  return {
    headers,
    onProgress: () => scope.deadlines.onProgress(),
    async next() {
      let piece: Awaited<ReturnType<AiSdkPartReader['read']>>
      try {
        if (hadNoTurn()) await turn()
        piece = await reader.read()
      } catch (thrown) {
        end = 'ended'
        scope.runSignal.throwIfAborted()
        return { kind: 'broken', thrown: scope.timeout() ?? thrown }
      }
      scope.runSignal.throwIfAborted()
      const timeout = scope.timeout()
      if (timeout !== undefined) return { kind: 'broken', thrown: timeout }
      if (piece.done) {
        end = 'ended'
        return { kind: 'ended' }
      }
      scope.deadlines.onBytes()
      return { kind: 'part', part: piece.value }
    },
    finished() {
      end = 'finished'
    },
    dispose() {
      scope.dispose()
      scope.signal.removeEventListener('abort', cancel)
      if (end === 'none') cancel()
      if (end === 'finished') void drain(reader, cancel)
    },
  }
}

/** Maximum time of reading without yielding to the event loop: reads that resolve immediately never yield. */
const longestTurnMs = 50

/** How long, and for how many parts, a stream may continue after its message. */
const drainMs = 250
const drainParts = 64

async function drain(reader: AiSdkPartReader, cancel: () => void): Promise<void> {
  const timer = setTimeout(cancel, drainMs)
  unrefTimer(timer)
  try {
    for (let left = drainParts; left > 0; left--) if ((await reader.read()).done) return
    cancel()
  } catch {
    // The stream broke after the message was complete.
  } finally {
    clearTimeout(timer)
  }
}
