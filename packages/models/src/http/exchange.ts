import type { ModelError } from '@halting/core'
import { startCallScope } from './call-scope.ts'
import type { CallScope } from './call-scope.ts'
import { ConnectionFailure } from './coded-error.ts'
import type { DeadlineLimits, Deadlines } from './deadlines.ts'
import { networkError } from './network-error.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'
import { unrefTimer } from './host-timer.ts'

export interface ExchangeOptions extends DeadlineLimits {
  readonly signal: AbortSignal
  readonly transport: Transport
}

/** How the reading of a body ended: by its end, because enough was read, or because something broke it. */
type BodyEnd = { readonly kind: 'ended' | 'enough' } | { readonly kind: 'broken'; readonly error: ModelError }

/**
 * One request and its answer.
 *
 * E1: when the run's signal aborts, whatever is awaited here rejects with the signal's reason at once, also when
 *     the transport or the body does not heed the signal.
 * E2: everything else that goes wrong is a ModelError and a value.
 */
export interface Exchange {
  readonly answer: Pick<HttpAnswer, 'status' | 'headers'>
  /** `onProgress()` is the reader's to call: only it can tell news from a sign of life. */
  readonly deadlines: Deadlines
  /** How the body begins, without white space: as many characters, or fewer where it ends. `read` gives them again. */
  beginning(length: number): Promise<string>
  /** Hands the pieces of the body to `take`, until it has enough. What `take` throws is thrown. */
  read(take: (bytes: Uint8Array) => 'more' | 'enough'): Promise<BodyEnd>
  /** The beginning of the body as text, as far as it could be read, and how the reading of it ended. */
  text(maxBytes: number): Promise<{ readonly text: string; readonly end: BodyEnd }>
  /** Ends what is still open. Call it once, on every path. */
  dispose(): void
}

export type Opened =
  | { readonly kind: 'open'; readonly exchange: Exchange }
  | { readonly kind: 'failed'; readonly error: ModelError }

/** Sends a request and waits for the answer to begin. */
export async function openExchange(request: HttpRequest, options: ExchangeOptions): Promise<Opened> {
  const { url } = request
  options.signal.throwIfAborted()
  const scope = startCallScope(options)
  let answer: Promise<HttpAnswer> | undefined
  try {
    answer = options.transport(request, scope.signal)
    return { kind: 'open', exchange: createExchange(await Promise.race([answer, scope.aborted]), scope, url) }
  } catch (thrown) {
    scope.dispose()
    // A `fetch` that does not heed the signal may still answer: nobody reads it.
    answer?.then((late) => late.cancel()).catch(() => {})
    options.signal.throwIfAborted()
    return { kind: 'failed', error: networkError(scope.timeout() ?? thrown, url) }
  }
}

function createExchange(answer: HttpAnswer, scope: CallScope, url: string): Exchange {
  const cancel = (): void => answer.cancel()
  let isRead = false
  // Ends a pending read of a body that does not heed the signal.
  scope.signal.addEventListener('abort', cancel, { once: true })
  scope.deadlines.onBytes()

  const next = async (): Promise<Uint8Array | BodyEnd> => {
    let piece: Uint8Array | undefined
    try {
      piece = await answer.next()
    } catch (thrown) {
      isRead = true
      cancel()
      scope.runSignal.throwIfAborted()
      return { kind: 'broken', error: scope.timeout() ?? networkError(new ConnectionFailure('connected', thrown), url) }
    }
    scope.runSignal.throwIfAborted()
    const error = scope.timeout()
    if (error !== undefined) return { kind: 'broken', error }
    if (piece === undefined) {
      isRead = true
      return { kind: 'ended' }
    }
    scope.deadlines.onBytes()
    return piece
  }
  /** What was read to see how the body begins. */
  const seen: (Uint8Array | BodyEnd)[] = []

  const read = async (take: (bytes: Uint8Array) => 'more' | 'enough'): Promise<BodyEnd> => {
    for (;;) {
      const piece = seen.shift() ?? (await next())
      if (!(piece instanceof Uint8Array)) return piece
      if (take(piece) === 'enough') return { kind: 'enough' }
    }
  }
  return {
    answer,
    deadlines: scope.deadlines,
    read,
    async beginning(length) {
      const decoder = new TextDecoder()
      let text = ''
      while (text.length < length) {
        const piece = await next()
        seen.push(piece)
        if (!(piece instanceof Uint8Array)) break
        text = (text + decoder.decode(piece, { stream: true })).trimStart()
      }
      return text.slice(0, length)
    },
    text: (maxBytes) => textOf(read, maxBytes),
    dispose() {
      scope.dispose()
      scope.signal.removeEventListener('abort', cancel)
      if (isRead) return
      // What is still going out is no longer ours.
      if (answer.isSent() && !scope.signal.aborted) void drain(answer)
      else cancel()
    },
  }
}

/** Reads the beginning of a body as text. */
async function textOf(read: Exchange['read'], maxBytes: number): ReturnType<Exchange['text']> {
  const decoder = new TextDecoder()
  let text = ''
  let left = maxBytes
  const end = await read((bytes) => {
    text += decoder.decode(bytes.subarray(0, left), { stream: true })
    left -= bytes.length
    return left > 0 ? 'more' : 'enough'
  })
  return { text, end }
}

/** How long an answer that was read as far as it matters may take to end, so that its connection can be used again. */
const drainMs = 250

async function drain(answer: HttpAnswer): Promise<void> {
  const cancel = (): void => answer.cancel()
  const timer = setTimeout(cancel, drainMs)
  unrefTimer(timer)
  try {
    let bytesLeft = 65_536
    for (;;) {
      const piece = await answer.next()
      if (piece === undefined) return
      bytesLeft -= piece.length
      if (bytesLeft < 0) return cancel()
    }
  } catch {
    // The connection is gone: nothing to use again.
  } finally {
    clearTimeout(timer)
  }
}
