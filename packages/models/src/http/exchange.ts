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

/** How reading a body ended: at its end, because enough was read, or because it broke. */
type BodyEnd = { readonly kind: 'ended' | 'enough' } | { readonly kind: 'broken'; readonly error: ModelError }

/**
 * One request and its response.
 *
 * E1: when the run's signal aborts, pending operations reject with its reason at once, even if the transport or the
 *     body ignores the signal.
 * E2: every other failure is returned as a ModelError.
 */
export interface Exchange {
  readonly answer: Pick<HttpAnswer, 'status' | 'headers'>
  /** The reader calls `onProgress()`: only it can distinguish content from keep-alive events. */
  readonly deadlines: Deadlines
  /**
   * Returns the first characters of the body without leading white space, or fewer if it ends. `read` returns them
   * again.
   */
  beginning(length: number): Promise<string>
  /** Passes chunks of the body to `take` until it has enough. Rethrows what `take` throws. */
  read(take: (bytes: Uint8Array) => 'more' | 'enough'): Promise<BodyEnd>
  /** Returns the beginning of the body as text, as far as it could be read, and how reading ended. */
  text(maxBytes: number): Promise<{ readonly text: string; readonly end: BodyEnd }>
  /** Closes what is still open. Call this exactly once, on every path. */
  dispose(): void
}

export type Opened =
  | { readonly kind: 'open'; readonly exchange: Exchange }
  | { readonly kind: 'failed'; readonly error: ModelError }

/** Sends a request and waits for the response to start. */
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
    // A `fetch` that ignores the signal may still respond, but nobody reads the response.
    answer?.then((late) => late.cancel()).catch(() => {})
    options.signal.throwIfAborted()
    return { kind: 'failed', error: networkError(scope.timeout() ?? thrown, url) }
  }
}

function createExchange(answer: HttpAnswer, scope: CallScope, url: string): Exchange {
  const cancel = (): void => answer.cancel()
  let isRead = false
  // Ends a pending read of a body that ignores the signal.
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
  /** Chunks that `beginning` read ahead. */
  const readAhead: (Uint8Array | BodyEnd)[] = []

  const read = async (take: (bytes: Uint8Array) => 'more' | 'enough'): Promise<BodyEnd> => {
    for (;;) {
      const piece = readAhead.shift() ?? (await next())
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
        readAhead.push(piece)
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
      // After an abort, or while the request is still being sent, close the connection.
      if (answer.isSent() && !scope.signal.aborted) void drain(answer)
      else cancel()
    },
  }
}

/** Reads the beginning of a body as text. */
async function textOf(read: Exchange['read'], maxBytes: number): ReturnType<Exchange['text']> {
  const decoder = new TextDecoder()
  let text = ''
  let remaining = maxBytes
  const end = await read((bytes) => {
    text += decoder.decode(bytes.subarray(0, remaining), { stream: true })
    remaining -= bytes.length
    return remaining > 0 ? 'more' : 'enough'
  })
  return { text, end }
}

/** Maximum time for a response to end after its relevant part was read, so that its connection can be reused. */
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
    // The connection is gone and cannot be reused.
  } finally {
    clearTimeout(timer)
  }
}
