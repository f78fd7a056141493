import { open, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { codeOf, messageOf } from '@halting/core/adapters'
import { makeDurableFolder, writeWhole } from '@halting/journal/files'
import { lineOf, valueOf } from '@halting/journal'
import type { KeptState } from './kept-state.ts'

/** One path, and what it was made of what. */
export interface FileChange {
  readonly path: string
  readonly before: KeptState
  readonly after: KeptState
  /** Folders above it that were missing, the outermost first. */
  readonly madeFolders?: readonly string[]
}

/** The call that changed something. */
export interface ChangeCall {
  readonly run: string
  /** The call of the main loop: for a subagent the one that started it. */
  readonly call: string
  readonly tool: string
}

/** What is known of the files of a session, in the order in which it happened. */
export type ChangeRecord =
  /** On disk before the file is changed. */
  | ({ readonly type: 'change' } & ChangeCall & { readonly changes: readonly FileChange[] })
  | ({ readonly type: 'command_start' } & ChangeCall & { readonly command: string })
  | ({ readonly type: 'command_end' } & ChangeCall & {
        /** The line of its start. */
        readonly of: number
        readonly changes: readonly FileChange[]
        /** What may have changed and was not looked at. */
        readonly unseen: readonly string[]
      })
  /** Files are about to be put back. What this takes back are numbers of lines; on disk before the first file is changed. */
  | {
      readonly type: 'restore_start'
      readonly kind: 'undo' | 'rewind' | 'redo'
      readonly takes: readonly number[]
      /** The restore that a redo takes back. */
      readonly of?: number
      readonly changes: readonly FileChange[]
    }
  | {
      readonly type: 'restore_end'
      readonly of: number
      /** Paths that were left as they are. */
      readonly left: readonly string[]
    }

/** The version of the format; a reader refuses a later one. */
const logVersion = 1

const nameOfLog = 'changes.jsonl'

interface ReadLog {
  readonly records: readonly ChangeRecord[]
  readonly wholeBytes: number
  readonly bytes: number
}

/** Records by the numbers of their lines; none where nothing was kept. @throws HaltingError `driver` for a damaged file. */
export async function readChanges(folder: string): Promise<readonly ChangeRecord[]> {
  return (await readLog(join(folder, nameOfLog))).records
}

/** The file of these records. One process writes it: the one that has the session. */
export class ChangeLog {
  readonly #path: string
  readonly #folder: string
  /** Records that there are, once the last line that was asked for is written. */
  #last: Promise<number | undefined> = Promise.resolve(undefined)

  constructor(folder: string) {
    this.#folder = folder
    this.#path = join(folder, nameOfLog)
  }

  /** Gives the number of its line. With `synced` it is on disk when it resolves, also after a power failure. After a failure nothing is written. */
  append(record: ChangeRecord, how: 'synced' | 'written'): Promise<number> {
    // One line after another: two that overlap would be none.
    const written = this.#last.then((count) => this.#write(count, record, how))
    this.#last = written
    written.catch(() => {})
    return written.then((count) => count - 1)
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
      // The checksum says that this program wrote it, and the head in which form.
      else records.push(value as unknown as ChangeRecord)
    } catch (thrown) {
      if (thrown instanceof HaltingError) throw thrown
      // The last line was being written when a process or the machine stopped.
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
