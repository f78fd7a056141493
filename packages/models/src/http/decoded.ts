import type { Transform } from 'node:stream'
import type { Pieces } from './body.ts'
import { codedError } from './coded-error.ts'

/** More than one encoding is rare, and many nested ones would multiply the size of the output. */
const maxCodings = 3

/** Decompresses a body as its header says. A body with an unknown encoding is returned unchanged. */
export function decodedBody(pieces: Pieces, header: string | null): Pieces {
  const codings = (header ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0 || codings.length > maxCodings) return pieces
  let opened: Promise<Pieces> | undefined
  return async () => {
    opened ??= open(pieces, codings)
    return (await opened)()
  }
}

async function open(pieces: Pieces, codings: readonly string[]): Promise<Pieces> {
  // Load zlib only for a compressed body.
  const zlib = await import('node:zlib')
  let first: Uint8Array | undefined
  const make = (coding: string): Transform | undefined => {
    // Flush at once: an event must not wait for the next one.
    const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants
    if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip({ flush: Z_SYNC_FLUSH })
    if (coding === 'br') return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH })
    // Not every supported Node version has this function.
    if (coding === 'zstd' && 'createZstdDecompress' in zlib) {
      return (zlib.createZstdDecompress as () => Transform)()
    }
    if (coding !== 'deflate') return undefined
    // Some servers omit the zlib header. Its first byte names the method, 8.
    const hasHead = ((first?.[0] ?? 8) & 15) === 8
    return hasHead ? zlib.createInflate({ flush: Z_SYNC_FLUSH }) : zlib.createInflateRaw({ flush: Z_SYNC_FLUSH })
  }
  let current = pieces
  for (const coding of codings.toReversed()) {
    const outer = current
    first = await outer()
    // An empty body, such as that of a 204, is valid.
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

/** Reads the output of a decoder; the next chunk is written when the output of the previous one was read. */
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
      // Ignore data after the end of the compressed stream. Only the end of the body frees the connection.
      if (isOver) {
        while ((await pieces()) !== undefined);
        return undefined
      }
      if (isWorking) await new Promise<void>((resolve) => (wake = resolve))
      else await feed()
    }
  }
}
