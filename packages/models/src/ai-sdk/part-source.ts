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
 * The parts of one stream of the AI SDK.
 *
 * F1: when the run's signal aborts, whatever is awaited here rejects with the signal's reason at once, also when the
 *     model or its stream does not heed the signal.
 * F2: everything else that goes wrong is a value.
 * F3: a stream that is left is cancelled; one whose message is whole may end by itself, so that its connection can be
 *     used again.
 * F4: a stream whose parts are there at once lets timers and aborts through, also when it never ends.
 */
export interface PartSource {
  /** Of the HTTP answer, where there was one. */
  readonly headers: Headers
  next(): Promise<Read>
  /** The last part was news of the reply. */
  onProgress(): void
  /** The message is whole: what still comes is of no interest. */
  finished(): void
  /** Call it once, on every path. */
  dispose(): void
}

export type OpenedParts =
  | { readonly kind: 'open'; readonly source: PartSource }
  | { readonly kind: 'failed'; readonly thrown: unknown }

type Start = (signal: AbortSignal) => PromiseLike<AiSdkStream>

/** Asks the model and waits for its stream to begin. */
export async function openParts(start: Start, options: SourceOptions): Promise<OpenedParts> {
  options.signal.throwIfAborted()
  const scope = startCallScope(options)
  let answer: Promise<AiSdkStream> | undefined
  try {
    // A model may throw where it should reject.
    answer = (async () => start(scope.signal))()
    const { stream, response } = await Promise.race([answer, scope.aborted])
    return { kind: 'open', source: sourceOf(stream.getReader(), headersOf(response?.headers), scope) }
  } catch (thrown) {
    scope.dispose()
    // A model that does not heed the signal may still answer: nobody reads it.
    answer?.then(({ stream }) => stream.cancel()).catch(() => {})
    options.signal.throwIfAborted()
    return { kind: 'failed', thrown: scope.timeout() ?? thrown }
  }
}

/** Headers as the AI SDK hands them on; those that are none are left out. */
export function headersOf(given: unknown): Headers {
  const headers = new Headers()
  if (typeof given !== 'object' || given === null) return headers
  for (const [name, value] of Object.entries(given)) {
    try {
      if (typeof value === 'string') headers.set(name, value)
    } catch {
      // Not every provider is HTTP; what it calls a header may have a name that cannot be one.
    }
  }
  return headers
}

function sourceOf(reader: AiSdkPartReader, headers: Headers, scope: CallScope): PartSource {
  const cancel = (): void => void reader.cancel().catch(() => {})
  let end: 'none' | 'finished' | 'ended' = 'none'
  // Ends a pending read of a stream that does not heed the signal.
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

/** How long parts are read without a turn of the event loop: reads that need not wait leave it none. */
const longestTurnMs = 50

/** How long, and for how many parts, a stream may go on after its message. */
const drainMs = 250
const drainParts = 64

async function drain(reader: AiSdkPartReader, cancel: () => void): Promise<void> {
  const timer = setTimeout(cancel, drainMs)
  unrefTimer(timer)
  try {
    for (let left = drainParts; left > 0; left--) if ((await reader.read()).done) return
    cancel()
  } catch {
    // It broke after it had said everything.
  } finally {
    clearTimeout(timer)
  }
}
