import type { FileHandle } from 'node:fs/promises'

/** Bytes of a file, and where they are. */
interface Piece {
  readonly buffer: Buffer
  readonly at: number
  readonly length: number
}

/**
 * Reads a file from its beginning in pieces. The next piece comes from the disk while somebody works on the one before. Two buffers hold all of them: what
 * was given is of use until the next piece is asked for.
 */
export class PiecesAhead {
  readonly #file: Pick<FileHandle, 'read'>
  readonly #pieceBytes: number
  readonly #roomBytes: number
  #coming: Promise<Piece>
  #spare: Buffer | undefined

  /** In front of each piece is room for so many bytes of the one before. */
  constructor(file: Pick<FileHandle, 'read'>, pieceBytes: number, roomBytes: number) {
    this.#file = file
    this.#pieceBytes = pieceBytes
    this.#roomBytes = roomBytes
    this.#coming = this.#read(this.#newBuffer(), roomBytes)
  }

  /** The bytes that are left of what was given, with the next piece behind them; undefined where nothing comes any more. */
  async next(left: Buffer): Promise<Buffer | undefined> {
    const piece = await this.#coming
    const { buffer, at, length } = piece
    if (length === 0) return undefined
    const end = at + length
    const isInPlace = left.length <= at
    // What stands there was taken.
    if (isInPlace) left.copy(buffer, at - left.length)
    const given = isInPlace ? buffer.subarray(at - left.length, end) : Buffer.concat([left, buffer.subarray(at, end)])
    // A file that ends here needs no second buffer.
    if (end < buffer.length) this.#coming = this.#read(buffer, end)
    else {
      this.#coming = this.#read(this.#spare ?? this.#newBuffer(), this.#roomBytes)
      this.#spare = buffer
    }
    return given
  }

  /** Nothing is being read any more. */
  async stop(): Promise<void> {
    await this.#coming.catch(() => {})
  }

  #newBuffer(): Buffer {
    return Buffer.allocUnsafe(this.#roomBytes + this.#pieceBytes)
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
