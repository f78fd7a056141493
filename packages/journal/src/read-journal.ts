import type { FileHandle } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { splitRuns, type StepRecord } from '@halting/core/steps'
import { openRegular } from './files/regular-file.ts'
import { checkText } from './check-input.ts'
import { checkFold } from './format/check-fold.ts'
import { crc32Of } from './files/crc32.ts'
import { FoldedLines } from './format/folded-lines.ts'
import { journalVersion, type Fields, type JournalState } from './format/encoder.ts'
import { foldMark, maxFoldedBytes, type FoldLine } from './format/fold.ts'
import { JournalDecoder, type RecordSelection } from './format/decoder.ts'
import { asciiOf, checkedLine, valueOf, valueOfWhole, wholeLine } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { longestLine } from './files/read-ahead-buffer.ts'
import { CutFileError, LongLineError, ReadAheadBuffer } from './files/read-ahead-buffer.ts'

/** The content of a journal. */
export interface ReadJournal {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Title of the session when it was created. */
  readonly title?: string
  /** The records of each run, in order; only the last run may lack an end. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** When each run began, in milliseconds since 1970; null if it is not recorded. */
  readonly began: readonly (number | null)[]
  /**
   * For each run, points of its active clock and the time (milliseconds since 1970) at the end of a step, wherever they
   * diverge by more than a second from the previous point. Folded records have none.
   */
  readonly clocks: readonly (readonly (readonly [at: number, moment: number])[])[]
  /** State that is needed to continue the file. */
  readonly written: JournalState
  /** Bytes of complete lines; the rest was being written when a process ended. */
  readonly wholeBytes: number
  /** Bytes of the torn tail, 0 without one. */
  readonly tornBytes: number
}

/**
 * Reads a journal. An incomplete last line is a torn tail, which contains no synced record: it is reported, not read.
 * `intents: 'open'` omits intents that have a result, of finished turns; that saves a quarter of the work.
 * @throws HaltingError `driver` for damage, with the line number; for another format; for a record with an invalid
 * field; and for a file that cannot be read.
 */
export async function readJournal(
  path: string,
  {
    intents = 'all',
    maxBytes = Infinity,
  }: {
    /** `open` omits the intents of finished turns (default: `all`). */
    readonly intents?: 'all' | 'open'
    /**
     * Reads about this many bytes from the beginning; the rest is reported as a torn tail (default: the whole file).
     */
    readonly maxBytes?: number
  } = {},
): Promise<ReadJournal> {
  checkText('path', path)
  const read = await readSelected(path, intents === 'open' ? 'outcomes' : 'all', 'lines', maxBytes)
  // A program that resumes a session wrote it. A session that is only viewed may be forged, including checksums.
  const { validateRuns: misfitOfRuns } = await import('./format/validate-runs.ts')
  const misfit = misfitOfRuns(read.runs)
  if (misfit !== undefined) throw journalError(path, `holds what no version of this program writes: ${misfit}`)
  return read
}

// Spec R-JOUR-12.
/**
 * Reads a journal to resume the session. Folded records are reduced to messages and endings; `conversation` omits all
 * other records, too.
 */
export async function readForResume(path: string, selection: 'conversation' | 'open'): Promise<ReadJournal> {
  try {
    return await readSelected(path, selection, 'folds')
  } catch (error) {
    if (!(error instanceof NotAsFoldedError)) throw error
    // Reading line by line finds out what is wrong, and where.
    return await readSelected(path, selection, 'lines')
  }
}

async function readSelected(
  path: string,
  selection: RecordSelection,
  by: ReadBy = 'lines',
  maxBytes = Infinity,
): Promise<ReadJournal> {
  const reader = new JournalReader(path, selection, by)
  let file: FileHandle | undefined
  try {
    file = await openRegular(path)
    return await readAll(file, reader, maxBytes)
  } catch (error) {
    if (error instanceof HaltingError || error instanceof NotAsFoldedError) throw error
    throw journalError(path, `cannot be read: ${messageOf(error)}`, error)
  } finally {
    await file?.close()
  }
}

/**
 * Returns the id of the entry in the line with this uuid, or the uuid itself if it is missing: in newer formats lines
 * have no uuid.
 */
export function entryOfLine({ written }: Pick<ReadJournal, 'written'>, uuid: string): string {
  return [...written.entryLines].find(([, line]) => line === uuid)?.[0] ?? uuid
}

/** Reads all records of a session with their times, for copying. @throws the errors of `readJournal`. */
export async function readTimedRecords(
  path: string,
): Promise<Pick<ReadJournal, 'sessionId' | 'cwd' | 'title' | 'runs'> & { readonly times: readonly string[] }> {
  const { sessionId, cwd, title, runs, written } = await readJournal(path)
  // This cast is safe: the decoder read the file. Times before the first run belong to no record.
  const { times } = written as JournalDecoder
  const named = title === undefined ? {} : { title }
  return { sessionId, cwd, ...named, runs, times: times.slice(times.length - runs.flat().length) }
}

/** Parses the bytes of a journal. */
export function parseJournal(bytes: Buffer, path: string): ReadJournal {
  const reader = new JournalReader(path)
  reader.take(bytes, 'last')
  return reader.end(bytes.length)
}

/** Bytes read at once. Memory holds two of these, and a longer line or fold. */
const pieceBytes: { readonly [by in ReadBy]: number } = { lines: 1 << 18, folds: 1 << 19 }

/**
 * Room before each chunk for the rest of the previous one, which is mostly a fold or a line, so that it need not be
 * copied twice.
 */
const roomBytes: number = 1 << 18

/** Lines are cut from texts of this many bytes; larger texts cause more garbage collections. */
const textBytes: number = 1 << 16

async function readAll(file: FileHandle, reader: JournalReader, maxBytes: number): Promise<ReadJournal> {
  const { size: leastBytes } = await file.stat()
  const pieces = new ReadAheadBuffer(file, { pieceBytes: pieceBytes[reader.by], roomBytes, leastBytes })
  try {
    let total = 0
    let left: Buffer = Buffer.alloc(0)
    for (;;) {
      // Sequential by design.
      const bytes = await pieces.next(left)
      if (bytes === undefined) {
        reader.take(left, 'last')
        return reader.end(total)
      }
      total += bytes.length - left.length
      left = bytes.subarray(reader.take(bytes, 'more'))
      if (total >= maxBytes) return reader.end(total)
    }
  } catch (error) {
    if (error instanceof LongLineError) throw reader.longLine()
    throw error instanceof CutFileError ? reader.cutFile() : error
  } finally {
    await pieces.stop()
  }
}

/** Reads line by line, or by folds, which summarize the lines before them. */
type ReadBy = 'lines' | 'folds'

/** The fold does not match the lines before it, or those lines are damaged. */
class NotAsFoldedError extends Error {
  override readonly name = 'NotAsFoldedError'
}

function foldIn(bytes: Buffer, start: number, end: number): FoldLine {
  try {
    return checkFold(valueOf(bytes, start, end)['fold'])
  } catch {
    throw new NotAsFoldedError()
  }
}

/** Reads a journal in chunks. */
export class JournalReader {
  readonly #path: string
  readonly #payloads: string
  readonly #decoder: JournalDecoder
  #head: { readonly [field: string]: unknown } | undefined
  #lines = 0
  #wholeBytes = 0
  /** What is wrong with the first damaged line. */
  #problem: string | undefined

  readonly by: ReadBy
  #wasFolded = false
  readonly #folded: FoldedLines = new FoldedLines()

  constructor(path: string, selection: RecordSelection = 'all', by: ReadBy = 'lines') {
    this.#path = path
    this.by = by
    this.#decoder = new JournalDecoder(selection)
    this.#payloads = payloadsFolder(path)
  }

  /**
   * Reads the complete lines in these bytes, and returns their length; the rest is passed again with the next chunk.
   */
  take(bytes: Buffer, comes: 'more' | 'last'): number {
    let start = 0
    if (this.by === 'folds') {
      for (let fold = this.#nextFold(bytes, start); fold !== undefined; fold = this.#nextFold(bytes, start))
        start = this.#takeFold(bytes, start, fold)
      // The lines of a fold precede it.
      if (comes === 'more' && bytes.length - start <= maxFoldedBytes) return start
    }
    start += this.#takeLines(bytes.subarray(start))
    if (bytes.length - start > longestLine) throw this.longLine()
    return start
  }

  #takeLines(bytes: Buffer): number {
    for (let start = 0; ;) {
      let end = bytes.lastIndexOf(10, start + textBytes)
      if (end < start) end = bytes.indexOf(10, start)
      if (end < 0) return start
      this.#takeWhole(bytes.subarray(start, end + 1))
      start = end + 1
    }
  }

  /** Reads lines that all end within these bytes. */
  #takeWhole(bytes: Buffer): void {
    const ascii = asciiOf(bytes)
    let start = 0
    for (let end = bytes.indexOf(10, start); end >= 0; end = bytes.indexOf(10, start)) {
      if (this.#problem === undefined) this.#line(bytes, start, end, ascii)
      // After a power failure, unsynced bytes may be missing in the middle; then no complete line follows.
      else if (wholeLine(bytes, start, end) !== undefined) throw this.#damage(this.#problem)
      start = end + 1
    }
  }

  #line(bytes: Buffer, start: number, end: number, ascii: string | undefined): void {
    if (end - start > longestLine) throw this.longLine()
    try {
      const text = checkedLine(bytes, start, end, ascii)
      if (this.#head === undefined) this.#takeHead(valueOfWhole(text))
      else if (!this.#decoder.takesText(text))
        this.#decoder.add(withPayloads(valueOfWhole(text), this.#payloads), bytes.subarray(start, end + 1))
    } catch (error) {
      if (error instanceof HaltingError) throw error
      // It may refer to a skipped line.
      if (this.#wasFolded && wholeLine(bytes, start, end) !== undefined) throw new NotAsFoldedError()
      this.#problem = messageOf(error)
      return
    }
    this.#lines++
    this.#wholeBytes += end + 1 - start
  }

  #takeHead(head: { readonly [field: string]: unknown }): void {
    this.#head = head
    checkHead(head, this.#path)
    // The head was checked.
    if (head['format'] === 1) this.#decoder.format = 1
  }

  /** Finds the next fold that ends within these bytes. */
  #nextFold(bytes: Buffer, start: number): { readonly start: number; readonly end: number } | undefined {
    const at = bytes.indexOf(foldMark, start) + 1
    const end = at === 0 ? -1 : bytes.indexOf(10, at)
    return end < 0 ? undefined : { start: at, end }
  }

  /** Reads the lines before a fold, then the fold. */
  #takeFold(
    bytes: Buffer,
    start: number,
    { start: at, end }: { readonly start: number; readonly end: number },
  ): number {
    const fold = foldIn(bytes, at, end)
    const from = at - fold.bytes
    // There were too many lines to wait for the fold, so the lines were already read.
    if (from < start) return start + this.#takeLines(bytes.subarray(start, end + 1))
    const segment = bytes.subarray(from, at)
    if (crc32Of(segment) !== fold.crc) throw new NotAsFoldedError()
    const usedBytes = this.#takeLines(bytes.subarray(start, from))
    if (this.#head === undefined || this.#problem !== undefined) throw new NotAsFoldedError()
    const folded = this.#folded.of(segment)
    if (start + usedBytes !== from || this.#lines + folded.count + 1 !== fold.lines) throw new NotAsFoldedError()
    const lineAt = (place: number, length: number): Fields => withPayloads(folded.lineAt(place, length), this.#payloads)
    try {
      this.#decoder.fold(fold, folded, lineAt)
    } catch (error) {
      if (error instanceof HaltingError) throw error
      throw new NotAsFoldedError(messageOf(error))
    }
    this.#wasFolded = true
    this.#lines = fold.lines
    this.#wholeBytes += end + 1 - from
    return end + 1
  }

  #damage(problem: string): HaltingError {
    const line = this.#lines + 1
    const advice = `To keep the lines before it, delete line ${line} and all lines after it`
    return journalError(this.#path, `is damaged in line ${line}: ${problem}. ${advice}`)
  }

  /** Returns the error for a line that is too long to have been written by this program. */
  longLine(): Error {
    if (this.by === 'folds') return new NotAsFoldedError()
    return this.#damage(this.#problem ?? `it has more than ${longestLine / 1_048_576} MiB`)
  }

  /** Returns the error for a truncated file, which would look complete. */
  cutFile(): Error {
    return journalError(this.#path, truncatedProblem)
  }

  end(bytes: number): ReadJournal {
    const head = this.#head
    if (head === undefined) throw journalError(this.#path, 'is empty, or is no session of this program')
    this.#decoder.close((line) => withPayloads(valueOfWhole(line), this.#payloads))
    return {
      sessionId: String(head['sessionId']),
      cwd: String(head['cwd']),
      ...titleIn(head),
      runs: splitRuns(this.#decoder.records),
      began: this.#decoder.began.map((moment) => (Number.isFinite(moment) ? moment : null)),
      clocks: this.#decoder.clocks,
      written: this.#decoder,
      wholeBytes: this.#wholeBytes,
      tornBytes: bytes - this.#wholeBytes,
    }
  }
}

/** The problem of a file that shrank since it was opened. */
export const truncatedProblem = 'was cut while it was read. Read it again for what is left'

/** Checks the first line. @throws HaltingError if it is not a session of this program, or has a later format. */
export function checkHead(head: { readonly [field: string]: unknown }, path: string): void {
  const { type, format, sessionId, cwd } = head
  if (type !== 'halting' || typeof format !== 'number' || typeof sessionId !== 'string' || typeof cwd !== 'string')
    throw journalError(path, 'is no session of this program: its first line does not say so')
  if (format > journalVersion)
    throw journalError(
      path,
      `was written by a later version of this program (format ${format}; this one reads ${journalVersion}). Update it`,
    )
}

/** Returns the title in the first line, if it has one. */
export function titleIn({ title }: { readonly [field: string]: unknown }): { readonly title?: string } {
  return typeof title === 'string' && title !== '' ? { title } : {}
}

export function journalError(path: string, problem: string, cause?: unknown): HaltingError {
  return new HaltingError('driver', `The session ${path} ${problem}.`, cause === undefined ? {} : { cause })
}
