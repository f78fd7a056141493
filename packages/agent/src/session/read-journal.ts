import { readFile } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { JournalDecoder, journalVersion, type WrittenLines } from './journal-codec.ts'
import { valueOf } from './journal-line.ts'
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
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw refusal(path, `cannot be read: ${messageOf(error)}`, error)
  }
  return parseJournal(bytes, path)
}

/** The same for what was read. */
export function parseJournal(bytes: Buffer, path: string): ReadJournal {
  const decoder = new JournalDecoder()
  let head: { readonly [field: string]: unknown } | undefined
  let start = 0
  let lines = 0
  for (;;) {
    const end = bytes.indexOf(10, start)
    if (end < 0) break
    const text = bytes.toString('utf8', start, end)
    try {
      const line = valueOf(text)
      if (head === undefined) checkHead((head = line), path)
      else decoder.add(withPayloads(line, payloadsFolder(path)))
    } catch (error) {
      if (error instanceof HaltingError) throw error
      // Bytes that were never synced may be missing in the middle of what was written last: nothing whole follows then.
      if (!hasWholeLine(bytes, end + 1)) break
      throw refusal(
        path,
        `is damaged in line ${lines + 1}: ${messageOf(error)}. What stands before it can be kept by cutting the file there`,
      )
    }
    lines++
    start = end + 1
  }
  if (head === undefined) throw refusal(path, 'is empty, or is no session of this program')
  return {
    sessionId: String(head['sessionId']),
    cwd: String(head['cwd']),
    runs: runsOf(decoder.records),
    written: decoder,
    wholeBytes: start,
    tornBytes: bytes.length - start,
  }
}

function checkHead({ type, format }: { readonly [field: string]: unknown }, path: string): void {
  if (type !== 'halting' || typeof format !== 'number')
    throw refusal(path, 'is no session of this program: its first line does not say so')
  if (format > journalVersion)
    throw refusal(
      path,
      `was written by a later version of this program (format ${format}; this one reads ${journalVersion}). Update it`,
    )
}

function hasWholeLine(bytes: Buffer, from: number): boolean {
  for (let start = from; ;) {
    const end = bytes.indexOf(10, start)
    if (end < 0) return false
    try {
      valueOf(bytes.toString('utf8', start, end))
      return true
    } catch {
      start = end + 1
    }
  }
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
