import type { FileHandle } from 'node:fs/promises'

/** Longer lines of a file of a session are not read: what is made of one has to fit into a text of JavaScript. In bytes. */
export const longestLine: number = 256 * 1_024 * 1_024

/** Bytes of a file, and where they are. */
interface Piece {
  readonly buffer: Buffer
  readonly at: number
  readonly length: number
}

/** A line is longer than one is read of. */
export class LongLineError extends Error {
  override readonly name = 'LongLineError'
}

/** There are fewer bytes than there were: somebody cut the file while it was read. */
export class CutFileError extends Error {
  override readonly name = 'CutFileError'
}

/** How a file is read. */
export interface ReadAheadOptions {
  readonly pieceBytes: number
  /** In front of each piece is room for so many bytes of the one before. */
  readonly roomBytes: number
  /** So many bytes the file has, or more. */
  readonly leastBytes: number
}

/**
 * Reads a file from its beginning in pieces. The next piece comes from the disk while somebody works on the one before. Two buffers hold all of them: what
 * was given is of use until the next piece is asked for.
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
   * The bytes that are left of what was given, with what follows them up to a piece in which a line ends, or to the end of the file; undefined where
   * nothing comes any more. Pieces without an end of a line are put together once, however many these are.
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
      // What they stand in is read into again.
      before ??= [Buffer.from(left)]
      before.push(Buffer.from(bytes))
      this.#readBehind(piece)
      piece = await this.#nextPiece()
    }
    const joined = before === undefined ? withLeft(left, piece) : Buffer.concat([...before, bytesOf(piece)])
    if (piece.length > 0) this.#readBehind(piece)
    return joined
  }

  /** Nothing is being read any more. */
  async stop(): Promise<void> {
    await this.#coming.catch(() => {})
  }

  async #nextPiece(): Promise<Piece> {
    const piece = await this.#coming
    this.#readBytes += piece.length
    if (piece.length === 0 && this.#readBytes < this.#options.leastBytes) throw new CutFileError()
    return piece
  }

  /** Has the piece behind this one come; this one stays as it is until that one is asked for. */
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
    // Whoever asks for it is told; nobody may.
    reading.catch(() => {})
    return reading
  }
}

function bytesOf({ buffer, at, length }: Piece): Buffer {
  return buffer.subarray(at, at + length)
}

/** What was left in front of a piece, in its buffer if that has the room. */
function withLeft(left: Buffer, piece: Piece): Buffer {
  const { buffer, at, length } = piece
  if (left.length > at) return Buffer.concat([left, bytesOf(piece)])
  // What stands there was taken.
  left.copy(buffer, at - left.length)
  return buffer.subarray(at - left.length, at + length)
}
