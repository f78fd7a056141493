import type { FileHandle } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { runsOf, type StepRecord } from '@halting/core/steps'
import { openRegular } from './files/regular-file.ts'
import { checkText } from './check-input.ts'
import { checkFold } from './format/check-fold.ts'
import { crc32Of } from './files/crc32.ts'
import { FoldedLines } from './format/folded-lines.ts'
import { journalVersion, type Fields, type JournalState } from './format/encoder.ts'
import { foldMark, mostFoldedBytes, type FoldLine } from './format/fold.ts'
import { JournalDecoder, type RecordSelection } from './format/decoder.ts'
import { asciiOf, checkedLine, valueOf, valueOfWhole, wholeLine } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { longestLine } from './files/read-ahead-buffer.ts'
import { CutFileError, LongLineError, ReadAheadBuffer } from './files/read-ahead-buffer.ts'

/** What a journal holds. */
export interface ReadJournal {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** What it was called when it began. */
  readonly title?: string
  /** The records of each run, in order; only the last may be without an end. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** When each of them began, in milliseconds since 1970; null where that is not on record. */
  readonly began: readonly (number | null)[]
  /**
   * For each run at which time (milliseconds since 1970) its active clock stood where, at the end of a step: wherever the two differ by more than a second
   * from what the pair before says. Of what was folded there are none.
   */
  readonly clocks: readonly (readonly (readonly [at: number, moment: number])[])[]
  /** What goes on with the file must know of it. */
  readonly written: JournalState
  /** Bytes of whole lines; what stands behind them was being written when a process ended. */
  readonly wholeBytes: number
  /** Bytes of the torn tail; 0 for none. */
  readonly tornBytes: number
}

/**
 * Reads a journal. A last line that is not whole is a torn tail, which no synced record is part of: it is told, and not read.
 * `intents: 'open'` leaves out, of turns that are over, the intents that have their result: whoever asks what runs came to reads a quarter less.
 * @throws HaltingError `driver` for damage before it, with the number of the line; for another format; for a record with a field that is not of its type; and for a
 * file that cannot be read.
 */
export async function readJournal(
  path: string,
  {
    intents = 'all',
    mostBytes = Infinity,
  }: {
    /** `open` leaves out the intents of finished turns. Default: `all`. */
    readonly intents?: 'all' | 'open'
    /** Reads about as many bytes of the beginning; what is behind them is told as a torn tail. Default: the whole file. */
    readonly mostBytes?: number
  } = {},
): Promise<ReadJournal> {
  checkText('path', path)
  const read = await readSelected(path, intents === 'open' ? 'outcomes' : 'all', 'lines', mostBytes)
  // Who goes on with a session has written it. Who looks at one may have it from anybody, checksums and all.
  const { validateRuns: misfitOfRuns } = await import('./format/validate-runs.ts')
  const misfit = misfitOfRuns(read.runs)
  if (misfit !== undefined) throw journalError(path, `holds what no version of this program writes: ${misfit}`)
  return read
}

// Spec R-JOUR-12.
/**
 * The same for whoever goes on with a session: of what was folded there are the messages and how runs ended; `conversation` leaves
 * out all other records, too.
 */
export async function readForResume(path: string, selection: 'conversation' | 'open'): Promise<ReadJournal> {
  try {
    return await readSelected(path, selection, 'folds')
  } catch (error) {
    if (!(error instanceof NotAsFoldedError)) throw error
    // Line by line it comes out what is wrong, and where.
    return await readSelected(path, selection, 'lines')
  }
}

async function readSelected(
  path: string,
  selection: RecordSelection,
  by: ReadBy = 'lines',
  mostBytes = Infinity,
): Promise<ReadJournal> {
  const reader = new JournalReader(path, selection, by)
  let file: FileHandle | undefined
  try {
    file = await openRegular(path)
    return await readAll(file, reader, mostBytes)
  } catch (error) {
    if (error instanceof HaltingError || error instanceof NotAsFoldedError) throw error
    throw journalError(path, `cannot be read: ${messageOf(error)}`, error)
  } finally {
    await file?.close()
  }
}

/** The id of the entry that stands in the line of this uuid; the uuid itself where none does, as in files whose lines have none. */
export function entryOfLine({ written }: Pick<ReadJournal, 'written'>, uuid: string): string {
  return [...written.entryLines].find(([, line]) => line === uuid)?.[0] ?? uuid
}

/** All records of a session, and when each was recorded: for who copies them. @throws what `readJournal` throws. */
export async function readTimedRecords(
  path: string,
): Promise<Pick<ReadJournal, 'sessionId' | 'cwd' | 'title' | 'runs'> & { readonly times: readonly string[] }> {
  const { sessionId, cwd, title, runs, written } = await readJournal(path)
  // True: it is what read the file. What stands before the first run belongs to none.
  const { times } = written as JournalDecoder
  const named = title === undefined ? {} : { title }
  return { sessionId, cwd, ...named, runs, times: times.slice(times.length - runs.flat().length) }
}

/** The same for what was read. */
export function parseJournal(bytes: Buffer, path: string): ReadJournal {
  const reader = new JournalReader(path)
  reader.take(bytes, 'last')
  return reader.end(bytes.length)
}

/** So much of a file is read at once. In memory are two of these, and a line or a fold that is longer. */
const pieceBytes: { readonly [by in ReadBy]: number } = { lines: 1 << 18, folds: 1 << 19 }

/** What is left of a piece is in front of the next one without another copy, if it is no longer: mostly a fold, or a line. */
const roomBytes: number = 1 << 18

/** Lines are cut out of texts of so many bytes: larger ones have the garbage collector run more often. */
const textBytes: number = 1 << 16

async function readAll(file: FileHandle, reader: JournalReader, mostBytes: number): Promise<ReadJournal> {
  const { size: leastBytes } = await file.stat()
  const pieces = new ReadAheadBuffer(file, { pieceBytes: pieceBytes[reader.by], roomBytes, leastBytes })
  try {
    let total = 0
    let left: Buffer = Buffer.alloc(0)
    for (;;) {
      // One piece after the other is the point.
      const bytes = await pieces.next(left)
      if (bytes === undefined) {
        reader.take(left, 'last')
        return reader.end(total)
      }
      total += bytes.length - left.length
      left = bytes.subarray(reader.take(bytes, 'more'))
      if (total >= mostBytes) return reader.end(total)
    }
  } catch (error) {
    if (error instanceof LongLineError) throw reader.longLine()
    throw error instanceof CutFileError ? reader.cutFile() : error
  } finally {
    await pieces.stop()
  }
}

/** Line by line, or by what folds say of lines before them. */
type ReadBy = 'lines' | 'folds'

/** What a fold says is not so, or something before it is damaged. */
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

/** Takes a journal in pieces. */
export class JournalReader {
  readonly #path: string
  readonly #payloads: string
  readonly #decoder: JournalDecoder
  #head: { readonly [field: string]: unknown } | undefined
  #lines = 0
  #wholeBytes = 0
  /** What is wrong with the first line that is not whole. */
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

  /** Takes the lines that end in these bytes, and says how many bytes they have: the rest comes again with what follows it. */
  take(bytes: Buffer, comes: 'more' | 'last'): number {
    let start = 0
    if (this.by === 'folds') {
      for (let fold = this.#nextFold(bytes, start); fold !== undefined; fold = this.#nextFold(bytes, start))
        start = this.#takeFold(bytes, start, fold)
      // What a fold is of stands before it.
      if (comes === 'more' && bytes.length - start <= mostFoldedBytes) return start
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

  /** Takes lines that all end in these bytes. */
  #takeWhole(bytes: Buffer): void {
    const ascii = asciiOf(bytes)
    let start = 0
    for (let end = bytes.indexOf(10, start); end >= 0; end = bytes.indexOf(10, start)) {
      if (this.#problem === undefined) this.#line(bytes, start, end, ascii)
      // Bytes that were never synced may be missing in the middle of what was written last: nothing whole follows then.
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
      // It may refer to a line that was passed over.
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
    // It was looked at.
    if (head['format'] === 1) this.#decoder.format = 1
  }

  /** Where the next fold stands of which all lines are in these bytes. */
  #nextFold(bytes: Buffer, start: number): { readonly start: number; readonly end: number } | undefined {
    const at = bytes.indexOf(foldMark, start) + 1
    const end = at === 0 ? -1 : bytes.indexOf(10, at)
    return end < 0 ? undefined : { start: at, end }
  }

  /** The lines that were not folded, and then those that were. */
  #takeFold(
    bytes: Buffer,
    start: number,
    { start: at, end }: { readonly start: number; readonly end: number },
  ): number {
    const fold = foldIn(bytes, at, end)
    const from = at - fold.bytes
    // Its lines were read already where there were too many of them to wait for it.
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

  /** What is to be thrown where the next line is too long to be read: nobody writes one, and nobody cuts it off. */
  longLine(): Error {
    if (this.by === 'folds') return new NotAsFoldedError()
    return this.#damage(this.#problem ?? `it has more than ${longestLine / 1_048_576} MiB`)
  }

  /** What is to be thrown where there is less than there was: what is left would look like all of it. */
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
      runs: runsOf(this.#decoder.records),
      began: this.#decoder.began.map((moment) => (Number.isFinite(moment) ? moment : null)),
      clocks: this.#decoder.clocks,
      written: this.#decoder,
      wholeBytes: this.#wholeBytes,
      tornBytes: bytes - this.#wholeBytes,
    }
  }
}

/** What is wrong with a file that has fewer bytes than when it was opened. */
export const truncatedProblem = 'was cut while it was read. Read it again for what is left'

/** Of the first line. @throws HaltingError for one of no session of ours, or of a later format. */
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

/** Of the first line; nothing where it says none. */
export function titleIn({ title }: { readonly [field: string]: unknown }): { readonly title?: string } {
  return typeof title === 'string' && title !== '' ? { title } : {}
}

export function journalError(path: string, problem: string, cause?: unknown): HaltingError {
  return new HaltingError('driver', `The session ${path} ${problem}.`, cause === undefined ? {} : { cause })
}
