import { open, type FileHandle } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { checkText } from './given.ts'
import { journalVersion, type WrittenLines } from './journal-codec.ts'
import { JournalDecoder, type KeptRecords } from './journal-decoder.ts'
import { valueOf, wholeLine } from './journal-line.ts'
import { payloadsFolder, withPayloads } from './journal-payloads.ts'

/** What a journal holds. */
export interface ReadJournal {
  readonly sessionId: string
  readonly cwd: string
  /** The records of each run, in order; only the last may be without an end. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** What goes on with the file must know of it. */
  readonly written: WrittenLines
  /** Bytes of whole lines; what stands behind them was being written when a process ended. */
  readonly wholeBytes: number
  readonly tornBytes: number
}

/**
 * Reads a journal. A last line that is not whole is a torn tail, which no synced record is part of: it is told, and not read.
 * @throws HaltingError `driver` for damage before it, with the number of the line; for another format; and for a file that cannot be read.
 */
export async function readJournal(path: string): Promise<ReadJournal> {
  checkText('path', path)
  return readKeeping(path, 'all')
}

/** The same for whoever wants to know what was said in runs that ended, and how: other records are left out of `runs`. */
export async function readConversation(path: string): Promise<ReadJournal> {
  return readKeeping(path, 'conversation')
}

async function readKeeping(path: string, keeps: KeptRecords): Promise<ReadJournal> {
  const reader = new JournalReader(path, keeps)
  let file: FileHandle | undefined
  try {
    file = await open(path)
    return await readAll(file, reader)
  } catch (error) {
    if (error instanceof HaltingError) throw error
    throw refusal(path, `cannot be read: ${messageOf(error)}`, error)
  } finally {
    await file?.close()
  }
}

/** The id of the entry that stands in the line of this uuid; the uuid itself where none does. */
export function entryOfLine({ written }: Pick<ReadJournal, 'written'>, uuid: string): string {
  return [...written.entryLines].find(([, line]) => line === uuid)?.[0] ?? uuid
}

/** The same for what was read. */
export function parseJournal(bytes: Buffer, path: string): ReadJournal {
  const reader = new JournalReader(path)
  reader.take(bytes)
  return reader.end(bytes.length)
}

/** So much of a file is in memory at once, unless a line is longer. */
const pieceBytes = 1 << 20

async function readAll(file: FileHandle, reader: JournalReader): Promise<ReadJournal> {
  let buffer = Buffer.allocUnsafe(pieceBytes)
  let filled = 0
  let total = 0
  for (;;) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    // One piece after the other is the point.
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled)
    if (bytesRead === 0) return reader.end(total)
    filled += bytesRead
    total += bytesRead
    const taken = reader.take(buffer.subarray(0, filled))
    buffer.copyWithin(0, taken, filled)
    filled -= taken
  }
}

/** Takes a journal in pieces. */
class JournalReader {
  readonly #path: string
  readonly #payloads: string
  readonly #decoder: JournalDecoder
  #head: { readonly [field: string]: unknown } | undefined
  #lines = 0
  #wholeBytes = 0
  /** What is wrong with the first line that is not whole. */
  #problem: string | undefined

  constructor(path: string, keeps: KeptRecords = 'all') {
    this.#path = path
    this.#decoder = new JournalDecoder(keeps)
    this.#payloads = payloadsFolder(path)
  }

  /** Takes the lines that end in these bytes, and says how many bytes they have: the rest comes again with what follows it. */
  take(bytes: Buffer): number {
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      if (this.#problem === undefined) this.#line(bytes, start, end)
      // Bytes that were never synced may be missing in the middle of what was written last: nothing whole follows then.
      else if (wholeLine(bytes, start, end) !== undefined) throw this.#damage(this.#problem)
      start = end + 1
    }
    return start
  }

  #line(bytes: Buffer, start: number, end: number): void {
    try {
      const line = valueOf(bytes, start, end)
      if (this.#head === undefined) checkHead((this.#head = line), this.#path)
      else this.#decoder.add(withPayloads(line, this.#payloads))
    } catch (error) {
      if (error instanceof HaltingError) throw error
      this.#problem = messageOf(error)
      return
    }
    this.#lines++
    this.#wholeBytes += end + 1 - start
  }

  #damage(problem: string): HaltingError {
    return refusal(
      this.#path,
      `is damaged in line ${this.#lines + 1}: ${problem}. What stands before it can be kept by cutting the file there`,
    )
  }

  end(bytes: number): ReadJournal {
    const head = this.#head
    if (head === undefined) throw refusal(this.#path, 'is empty, or is no session of this program')
    return {
      sessionId: String(head['sessionId']),
      cwd: String(head['cwd']),
      runs: runsOf(this.#decoder.records),
      written: this.#decoder,
      wholeBytes: this.#wholeBytes,
      tornBytes: bytes - this.#wholeBytes,
    }
  }
}

/** Of the first line. @throws HaltingError for one of no session of ours, or of a later format. */
export function checkHead({ type, format }: { readonly [field: string]: unknown }, path: string): void {
  if (type !== 'halting' || typeof format !== 'number')
    throw refusal(path, 'is no session of this program: its first line does not say so')
  if (format > journalVersion)
    throw refusal(
      path,
      `was written by a later version of this program (format ${format}; this one reads ${journalVersion}). Update it`,
    )
}

function runsOf(records: readonly StepRecord[]): readonly (readonly StepRecord[])[] {
  const runs: StepRecord[][] = []
  for (const record of records) {
    if (record.type === 'start' && record.scope === '') runs.push([])
    runs.at(-1)?.push(record)
  }
  return runs
}

function refusal(path: string, problem: string, cause?: unknown): HaltingError {
  return new HaltingError('driver', `The session ${path} ${problem}.`, cause === undefined ? {} : { cause })
}
