import type { IncomingMessage } from 'node:http'
import { codedError } from './coded-error.ts'

/** Returns the next chunk of a body; undefined at its end. Rejects if the body broke. */
export type Pieces = () => Promise<Uint8Array | undefined>

interface BodyOptions {
  /** Returns the failure of the request itself, which explains more than the fact that the body was truncated. */
  readonly failure: () => Error | undefined
  readonly onEnd: () => void
}

/** Number of bytes buffered while nobody reads; the other side retains the rest. */
const maxBuffered = 65_536

/** Reads the body of a response on demand. */
export function bodyOf(message: IncomingMessage, { failure, onEnd }: BodyOptions): Pieces {
  let buffered: Buffer[] = []
  let bufferedBytes = 0
  let end: { readonly error?: Error } | undefined
  let wake = (): void => {}
  const finish = (how: { readonly error?: Error }): void => {
    end ??= how
    wake()
  }
  message.on('data', (piece: Buffer) => {
    buffered.push(piece)
    bufferedBytes += piece.length
    if (bufferedBytes >= maxBuffered) message.pause()
    wake()
  })
  message.once('end', () => {
    // Node reports `end` for a body that lasts until the connection closes, even if the connection was interrupted.
    const error = isFramed(message) ? undefined : failure()
    finish(error === undefined ? {} : { error })
    onEnd()
  })
  message.on('error', (error) => finish({ error: failure() ?? error }))
  message.once('close', () => finish({ error: failure() ?? cut() }))
  return async () => {
    if (bufferedBytes === 0 && end === undefined) await new Promise<void>((resolve) => (wake = resolve))
    if (bufferedBytes === 0) {
      if (end?.error !== undefined) throw end.error
      return undefined
    }
    const [first, ...others] = buffered
    const piece = first !== undefined && others.length === 0 ? first : Buffer.concat(buffered)
    buffered = []
    bufferedBytes = 0
    if (message.isPaused()) message.resume()
    return piece
  }
}

/** Whether the headers determine where the body ends. */
function isFramed({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

function cut(): Error {
  return codedError('ECONNRESET', 'The connection was closed before the body was complete.')
}
