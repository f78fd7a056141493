import { createHash } from 'node:crypto'
import { headOf } from '@halting/core/adapters'
import type { OpenFile } from '@halting/policy/files'
import { StringDecoder } from 'node:string_decoder'
import { hashOf } from './file-state.ts'
import { lineCut } from './path-texts.ts'
import { encodingOf, type TextEncoding } from './text-encoding.ts'

/** Part of a text file, as lines without line ends. */
export interface LinesRead {
  readonly lines: readonly string[]
  /** Number of lines of the whole file; undefined if reading stopped before its end. */
  readonly lineCount: number | undefined
  /** Whether more lines follow. */
  readonly hasMore: boolean
  readonly hash: string | undefined
  readonly encoding: TextEncoding
  /** Whether reading stopped before the end of the file. */
  readonly wasCut: boolean
}

export interface LineRange {
  /** Number of the first line, 1-based. */
  readonly firstLine: number
  readonly maxLines: number
  /** Stored characters of one line; the rest appears only in `[...]` notes of the caller. */
  readonly lineCharacters: number
  /** Stop storing lines after this many characters. */
  readonly maxCharacters: number
}

const chunkBytes = 64 * 1024

interface ReadLinesOptions {
  readonly hashes: boolean
  readonly signal: AbortSignal
  /** Maximum number of bytes to read. A file may grow while it is read, or be larger than reported. */
  readonly maxBytes?: number
}

/** A source of bytes, read in chunks. */
export interface ByteSource {
  /** Returns the next chunk, valid until the following call; empty at the end. */
  next(): Promise<Buffer>
  /** All bytes, if they are in memory. */
  readonly whole?: Buffer
}

/** An open file, from its current position. */
export function bytesOfFile(file: Pick<OpenFile, 'read'>): ByteSource {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes)
  return {
    async next() {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes)
      return buffer.subarray(0, bytesRead)
    },
  }
}

/** Bytes in memory. */
export function sourceOf(bytes: Buffer): ByteSource {
  let at = 0
  return {
    whole: bytes,
    async next() {
      const piece = bytes.subarray(at, at + chunkBytes)
      at += piece.length
      return piece
    },
  }
}

/**
 * Reads a range of lines in bounded memory. With `hashes`, continues to the end of the file for its hash and line
 * count; otherwise stops after the range.
 */
export async function readLines(
  source: ByteSource,
  range: LineRange,
  { hashes, signal, maxBytes = Infinity }: ReadLinesOptions,
): Promise<LinesRead> {
  const taker = new LineTaker(range)
  // Hashing all bytes at once takes half the time.
  const known = hashes && source.whole !== undefined ? hashOf(source.whole) : undefined
  const hash = hashes && known === undefined ? createHash('sha256') : undefined
  let decoder: Decoder | undefined
  let encoding: TextEncoding = 'utf-8'
  let total = 0
  for (;;) {
    signal.throwIfAborted()
    const bytes = await source.next()
    if (bytes.length === 0) break
    hash?.update(bytes)
    if (decoder === undefined) encoding = encodingOf(bytes)
    decoder ??= decoderOf(encoding)
    taker.take(decoder.write(bytes))
    total += bytes.length
    const wasCut = total > maxBytes
    if (wasCut || (!hashes && taker.hasMore)) {
      if (wasCut) taker.finish()
      return { lines: taker.lines, lineCount: undefined, hasMore: taker.hasMore, hash: undefined, encoding, wasCut }
    }
  }
  taker.take(decoder?.end() ?? '')
  taker.finish()
  const { lines, hasMore, lineCount } = taker
  return { lines, lineCount, hasMore, hash: known ?? hash?.digest('base64'), encoding, wasCut: false }
}

interface Decoder {
  write(bytes: Buffer): string
  end(): string
}

/** Returns a decoder that replaces invalid bytes with replacement characters. */
function decoderOf(encoding: TextEncoding): Decoder {
  if (encoding === 'utf-8') return new StringDecoder('utf8')
  const decoder = new TextDecoder(encoding, { ignoreBOM: true })
  return { write: (bytes) => decoder.decode(bytes, { stream: true }), end: () => decoder.decode() }
}

/**
 * Splits chunks into lines and stores those of a range. A line that is too long is stored as its head and its length.
 */
class LineTaker {
  readonly lines: string[] = []
  lineCount = 0
  hasMore = false
  readonly #range: LineRange
  #line = ''
  #lineLength = 0
  #characters = 0

  constructor(range: LineRange) {
    this.#range = range
  }

  take(text: string): void {
    let start = this.lineCount === 0 && this.#lineLength === 0 && text.startsWith('\uFEFF') ? 1 : 0
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      this.#extend(text, start, end)
      this.#endLine()
      start = end + 1
    }
    this.#extend(text, start, text.length)
  }

  finish(): void {
    if (this.#lineLength > 0) this.#endLine()
  }

  #extend(text: string, start: number, end: number): void {
    this.#lineLength += end - start
    const room = this.#range.lineCharacters + 1 - this.#line.length
    if (room > 0) this.#line += text.slice(start, Math.min(end, start + room))
  }

  #endLine(): void {
    this.lineCount += 1
    const { firstLine, maxLines, lineCharacters, maxCharacters } = this.#range
    if (this.lineCount >= firstLine) {
      const line = cutLine(this.#line, this.#lineLength, lineCharacters)
      const isFirst = this.lines.length === 0
      if (this.lines.length >= maxLines || (!isFirst && this.#characters + line.length > maxCharacters))
        this.hasMore = true
      if (!this.hasMore) {
        this.lines.push(line)
        this.#characters += line.length + 8
      }
    }
    this.#line = ''
    this.#lineLength = 0
  }
}

function cutLine(stored: string, length: number, lineCharacters: number): string {
  if (length > lineCharacters + 1) {
    return headOf(stored, lineCharacters) + lineCut(length - lineCharacters)
  }
  return stored.endsWith('\r') ? stored.slice(0, -1) : stored
}
