import type { Transform } from 'node:stream'
import type { Pieces } from './body.ts'
import { codedError } from './coded-error.ts'

/** More than one is rare, and each of many would multiply what comes out. */
const mostCodings = 3

/** A body without the compression that its header names. One in a coding that nobody here knows is handed on as it is. */
export function decodedBody(pieces: Pieces, header: string | null): Pieces {
  const codings = (header ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0 || codings.length > mostCodings) return pieces
  let opened: Promise<Pieces> | undefined
  return async () => {
    opened ??= open(pieces, codings)
    return (await opened)()
  }
}

async function open(pieces: Pieces, codings: readonly string[]): Promise<Pieces> {
  // Only who is sent such a body pays for it.
  const zlib = await import('node:zlib')
  let first: Uint8Array | undefined
  const make = (coding: string): Transform | undefined => {
    // What is there is given at once: an event must not wait for the next.
    const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants
    if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip({ flush: Z_SYNC_FLUSH })
    if (coding === 'br') return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH })
    // Not every Node that we run on has it.
    if (coding === 'zstd' && 'createZstdDecompress' in zlib) {
      return (zlib.createZstdDecompress as () => Transform)()
    }
    if (coding !== 'deflate') return undefined
    // Some servers leave out the head that belongs to it. Its first byte names the method, 8.
    const hasHead = ((first?.[0] ?? 8) & 15) === 8
    return hasHead ? zlib.createInflate({ flush: Z_SYNC_FLUSH }) : zlib.createInflateRaw({ flush: Z_SYNC_FLUSH })
  }
  let current = pieces
  for (const coding of codings.toReversed()) {
    const outer = current
    first = await outer()
    // No body, as of a 204, is no broken one.
    if (first === undefined) return async () => undefined
    let firstPiece: Uint8Array | undefined = first
    const whole: Pieces = async () => {
      const piece = firstPiece
      firstPiece = undefined
      return piece ?? outer()
    }
    const decoder = make(coding)
    if (decoder === undefined) return whole
    current = pipeThrough(decoder, whole)
  }
  return current
}

/** What comes out of a decoder: it is given the next piece when all of the one before was taken out of it. */
function pipeThrough(decoder: Transform, pieces: Pieces): Pieces {
  let failure: Error | undefined
  let isOver = false
  let isWorking = false
  let wake = (): void => {}
  decoder.on('error', ({ message }) => {
    failure = codedError('ERR_CONTENT_DECODING', message)
    wake()
  })
  decoder.once('end', () => {
    isOver = true
    wake()
  })
  decoder.on('readable', () => wake())
  const feed = async (): Promise<void> => {
    const piece = await pieces()
    isWorking = true
    if (piece === undefined) return void decoder.end()
    decoder.write(piece, () => {
      isWorking = false
      wake()
    })
  }
  return async () => {
    for (;;) {
      const piece: unknown = decoder.read()
      if (piece instanceof Uint8Array) return piece
      if (failure !== undefined) throw failure
      // What stands behind the end of what was packed is nobody's. Only its own end lets the connection go.
      if (isOver) {
        while ((await pieces()) !== undefined);
        return undefined
      }
      if (isWorking) await new Promise<void>((resolve) => (wake = resolve))
      else await feed()
    }
  }
}
