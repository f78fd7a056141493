import { createHash } from 'node:crypto'
import { headOf } from '@halting/core/adapters'
import type { OpenFile } from '@halting/policy/files'
import { StringDecoder } from 'node:string_decoder'
import { hashOf } from './file-state.ts'
import { lineCut } from './path-texts.ts'
import { encodingOf, type TextEncoding } from './text-encoding.ts'

/** Part of a text file, as lines without their ends. */
export interface LinesRead {
  readonly lines: readonly string[]
  /** Lines of the whole file; undefined when reading stopped before its end. */
  readonly lineCount: number | undefined
  /** More lines follow the ones returned. */
  readonly hasMore: boolean
  readonly hash: string | undefined
  readonly encoding: TextEncoding
  /** The file goes on, and was not read any further. */
  readonly wasCut: boolean
}

export interface LineRange {
  /** 1-based. */
  readonly firstLine: number
  readonly maxLines: number
  /** What is kept of one line; the rest counts towards `length` only through `[...]` notes of the caller. */
  readonly lineCharacters: number
  /** Stop keeping lines once this many characters are kept. */
  readonly maxCharacters: number
}

const chunkBytes = 64 * 1024

interface ReadLinesOptions {
  readonly hashes: boolean
  readonly signal: AbortSignal
  /** A file may grow while it is read, or be larger than it says. */
  readonly mostBytes?: number
}

/** What is read: its bytes, piece by piece. */
export interface ByteSource {
  /** The next piece, which may be used until the one after it; an empty one at the end. */
  next(): Promise<Buffer>
  /** All of them, where they are in memory. */
  readonly whole?: Buffer
}

/** A file that is open, from where it was read last. */
export function bytesOfFile(file: Pick<OpenFile, 'read'>): ByteSource {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes)
  return {
    async next() {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes)
      return buffer.subarray(0, bytesRead)
    },
  }
}

/** Bytes that are in memory already. */
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
 * Reads a range of lines in bounded memory. Goes on to the end of the file for its hash and line count when `hashes` is
 * true, and stops after the range when it is not.
 */
export async function readLines(
  source: ByteSource,
  range: LineRange,
  { hashes, signal, mostBytes = Infinity }: ReadLinesOptions,
): Promise<LinesRead> {
  const taker = new LineTaker(range)
  // At once it takes half.
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
    const wasCut = total > mostBytes
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

/** What is no text in its encoding becomes the sign for that. */
function decoderOf(encoding: TextEncoding): Decoder {
  if (encoding === 'utf-8') return new StringDecoder('utf8')
  const decoder = new TextDecoder(encoding, { ignoreBOM: true })
  return { write: (bytes) => decoder.decode(bytes, { stream: true }), end: () => decoder.decode() }
}

/** Splits chunks into lines and keeps those of a range. A line that is too long is kept as its head and its length. */
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

function cutLine(kept: string, length: number, lineCharacters: number): string {
  if (length > lineCharacters + 1) {
    return headOf(kept, lineCharacters) + lineCut(length - lineCharacters)
  }
  return kept.endsWith('\r') ? kept.slice(0, -1) : kept
}
