import { open, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { codeOf, messageOf } from '@halting/core/adapters'
import { makeDurableFolder, writeWhole } from '@halting/journal/files'
import { lineOf, valueOf } from '@halting/journal'
import type { PathState } from './path-state.ts'

/** A changed path, with its state before and after. */
export interface FileChange {
  readonly path: string
  readonly before: PathState
  readonly after: PathState
  /** Parent folders of the path that did not exist, outermost first. */
  readonly madeFolders?: readonly string[]
}

/** The call that changed something. */
export interface ChangeCall {
  readonly run: string
  /** The call of the main loop; for a subagent the call that started it. */
  readonly call: string
  readonly tool: string
}

/** The recorded file changes of a session, in order of time. */
export type ChangeRecord =
  /** Written to disk before the file is changed. */
  | ({ readonly type: 'change' } & ChangeCall & { readonly changes: readonly FileChange[] })
  | ({ readonly type: 'command_start' } & ChangeCall & { readonly command: string })
  | ({ readonly type: 'command_end' } & ChangeCall & {
        /** Line number of the start record of this call. */
        readonly of: number
        readonly changes: readonly FileChange[]
        /** Paths that may have changed but were not inspected. */
        readonly unseen: readonly string[]
      })
  /**
   * Files are about to be restored. `takes` lists the line numbers of the reverted records. This record is on disk
   * before the first file is changed.
   */
  | {
      readonly type: 'restore_start'
      readonly kind: 'undo' | 'rewind' | 'redo'
      readonly takes: readonly number[]
      /** Record number of the restore that a redo reverts. */
      readonly of?: number
      readonly changes: readonly FileChange[]
    }
  | {
      readonly type: 'restore_end'
      readonly of: number
      /** Paths that were left unchanged. */
      readonly left: readonly string[]
    }

/** Version of the format; readers refuse later versions. */
const logVersion = 1

const nameOfLog = 'changes.jsonl'

interface ReadLog {
  readonly records: readonly ChangeRecord[]
  readonly wholeBytes: number
  readonly bytes: number
}

/**
 * Records by line number; empty if nothing was stored.
 * @throws HaltingError `driver` for a damaged file.
 */
export async function readChanges(folder: string): Promise<readonly ChangeRecord[]> {
  return (await readLog(join(folder, nameOfLog))).records
}

/** The file of these records. Only the process that owns the session writes it. */
export class ChangeLog {
  readonly #path: string
  readonly #folder: string
  /** Number of records after the last requested line is written. */
  #last: Promise<number | undefined> = Promise.resolve(undefined)

  constructor(folder: string) {
    this.#folder = folder
    this.#path = join(folder, nameOfLog)
  }

  /**
   * Appends a record and returns its line number. With `synced`, resolves when the line is on disk, so that it
   * survives a power failure. After a failure, writes nothing more.
   */
  append(record: ChangeRecord, how: 'synced' | 'written'): Promise<number> {
    // Lines are written one after another: overlapping writes would damage both.
    const appended = this.#last.then((count) => this.#write(count, record, how))
    this.#last = appended
    appended.catch(() => {})
    return appended.then((count) => count - 1)
  }

  async #write(before: number | undefined, record: ChangeRecord, how: 'synced' | 'written'): Promise<number> {
    const count = before ?? (await this.#begin())
    const file = await open(this.#path, 'a', 0o600)
    try {
      await file.appendFile(lineOf({ ...record }))
      if (how === 'synced') await file.datasync()
    } finally {
      await file.close()
    }
    return count + 1
  }

  async #begin(): Promise<number> {
    await makeDurableFolder(this.#folder)
    const { records, wholeBytes, bytes } = await readLog(this.#path)
    if (wholeBytes === 0) await writeWhole(this.#path, lineOf({ type: 'halting-files', format: logVersion }))
    else if (bytes > wholeBytes) await truncate(this.#path, wholeBytes)
    return records.length
  }
}

async function readLog(path: string): Promise<ReadLog> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return { records: [], wholeBytes: 0, bytes: 0 }
    throw refusal(path, `cannot be read: ${messageOf(thrown)}`)
  }
  const records: ChangeRecord[] = []
  let start = 0
  for (let lines = 0; ; lines++) {
    const end = bytes.indexOf(10, start)
    if (end < 0) break
    try {
      const value = valueOf(bytes, start, end)
      if (lines === 0) checkHead(value, path)
      // The checksum shows that this program wrote the record; the header names the format.
      else records.push(value as unknown as ChangeRecord)
    } catch (thrown) {
      if (thrown instanceof HaltingError) throw thrown
      // The process or machine stopped while the last line was being written.
      if (bytes.indexOf(10, end + 1) < 0) break
      throw refusal(path, `is damaged in line ${lines + 1}: ${messageOf(thrown)}`)
    }
    start = end + 1
  }
  return { records, wholeBytes: start, bytes: bytes.length }
}

function checkHead({ type, format }: { readonly [field: string]: unknown }, path: string): void {
  if (type !== 'halting-files' || typeof format !== 'number') throw refusal(path, 'was not written by this program')
  if (format > logVersion)
    throw refusal(path, `was written by a later version of this program (format ${format}). Update it`)
}

function refusal(path: string, problem: string): HaltingError {
  return new HaltingError('driver', `The list of changed files, ${path}, ${problem}.`)
}
