import type { FileHandle } from 'node:fs/promises'

/** Maximum bytes of a line in a session file, because it must fit into a JavaScript string. */
export const longestLine: number = 256 * 1_024 * 1_024

/** Bytes of a file, and their place in a buffer. */
interface Piece {
  readonly buffer: Buffer
  readonly at: number
  readonly length: number
}

/** A line is longer than the maximum. */
export class LongLineError extends Error {
  override readonly name = 'LongLineError'
}

/** The file shrank while it was read. */
export class CutFileError extends Error {
  override readonly name = 'CutFileError'
}

/** Options of reading a file. */
export interface ReadAheadOptions {
  readonly pieceBytes: number
  /** Bytes of room before each chunk, for the rest of the previous one. */
  readonly roomBytes: number
  /** Minimum size of the file. */
  readonly leastBytes: number
}

/**
 * Reads a file in chunks from its beginning. The next chunk is read from disk while the previous one is processed. It
 * uses two buffers, so a chunk is valid until the next one is requested.
 */
export class ReadAheadBuffer {
  readonly #file: Pick<FileHandle, 'read'>
  readonly #options: ReadAheadOptions
  #readBytes = 0
  #coming: Promise<Piece>
  #spare: Buffer | undefined

  constructor(file: Pick<FileHandle, 'read'>, options: ReadAheadOptions) {
    this.#file = file
    this.#options = options
    this.#coming = this.#read(this.#newBuffer(), options.roomBytes)
  }

  /**
   * Returns the unprocessed rest of the previous chunk and the following bytes, up to a chunk with a line end or the
   * end of the file; undefined at the end. Chunks without a line end are joined once, however many there are.
   * @throws LongLineError, CutFileError
   */
  async next(left: Buffer): Promise<Buffer | undefined> {
    let piece = await this.#nextPiece()
    if (piece.length === 0) return undefined
    let before: Buffer[] | undefined
    for (let lineBytes = left.length; ;) {
      const bytes = bytesOf(piece)
      const end = bytes.indexOf(10)
      lineBytes += end < 0 ? bytes.length : end
      if (lineBytes > longestLine) throw new LongLineError()
      if (end >= 0 || bytes.length === 0) break
      // Copy them: their buffer is reused.
      before ??= [Buffer.from(left)]
      before.push(Buffer.from(bytes))
      this.#readBehind(piece)
      piece = await this.#nextPiece()
    }
    const joined = before === undefined ? withLeft(left, piece) : Buffer.concat([...before, bytesOf(piece)])
    if (piece.length > 0) this.#readBehind(piece)
    return joined
  }

  /** Waits until no read is in progress. */
  async stop(): Promise<void> {
    await this.#coming.catch(() => {})
  }

  async #nextPiece(): Promise<Piece> {
    const piece = await this.#coming
    this.#readBytes += piece.length
    if (piece.length === 0 && this.#readBytes < this.#options.leastBytes) throw new CutFileError()
    return piece
  }

  /** Starts reading the next chunk; this one stays valid until that is requested. */
  #readBehind({ buffer, at, length }: Piece): void {
    const end = at + length
    // A file that ends here needs no second buffer.
    if (end < buffer.length) this.#coming = this.#read(buffer, end)
    else {
      this.#coming = this.#read(this.#spare ?? this.#newBuffer(), this.#options.roomBytes)
      this.#spare = buffer
    }
  }

  #newBuffer(): Buffer {
    const { roomBytes, pieceBytes } = this.#options
    return Buffer.allocUnsafe(roomBytes + pieceBytes)
  }

  #read(buffer: Buffer, at: number): Promise<Piece> {
    const reading = this.#file
      .read(buffer, at, buffer.length - at)
      .then(({ bytesRead }) => ({ buffer, at, length: bytesRead }))
    // The caller may never await this promise.
    reading.catch(() => {})
    return reading
  }
}

function bytesOf({ buffer, at, length }: Piece): Buffer {
  return buffer.subarray(at, at + length)
}

/** Returns the rest of the previous chunk followed by a chunk, in its buffer if there is room. */
function withLeft(left: Buffer, piece: Piece): Buffer {
  const { buffer, at, length } = piece
  if (left.length > at) return Buffer.concat([left, bytesOf(piece)])
  // The overwritten bytes were processed.
  left.copy(buffer, at - left.length)
  return buffer.subarray(at - left.length, at + length)
}
