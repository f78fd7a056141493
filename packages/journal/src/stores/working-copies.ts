import { basename, dirname, join } from 'node:path'
import { ConfigurationError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { JournalPlace } from '../format/encoder.ts'
import { sessionStoreVariable } from './store-place.ts'

// Each session of a store has a file, which is rebuilt from the store before it is read; all readers of sessions use
// these files. This registry has the stores that this process has opened, by the folder of their files. The code that opens a
// store loads its module.

/** A session of a store that only this process writes. */
export interface StoreSession {
  /** `timestamp` is when it was recorded: ISO 8601 in UTC. */
  append(record: StepRecord, timestamp: string): void
  /** Resolves when everything that was appended is durable. */
  flush(): Promise<void>
  /** Releases the session. Everything that was appended before is durable when it resolves. */
  close(): Promise<void>
}

/** The file of a session, and the content of its first line. */
export interface WorkingCopy extends JournalPlace {
  /** Path of the file. */
  readonly path: string
  /** When a copied session was created: ISO 8601 in UTC. */
  readonly createdAt?: string
}

/** A session of a store, and the path of its file once the file is current. */
export interface CopiedSession {
  /** Id of the session. */
  readonly sessionId: string
  /** Path of the file. */
  readonly path: string
  /** When its newest record was stored. */
  readonly changedAt: Date
}

/** The files of the sessions in one store. */
export interface WorkingCopies {
  /** Folder with one folder per project. */
  readonly base: string
  /**
   * Updates the files of all sessions, or of those that work in this folder. @throws HaltingError if the store cannot
   * be read.
   */
  refresh(cwd?: string): Promise<void>
  /** Updates one file. @throws HaltingError if the store cannot be read. */
  refreshOne(path: string, sessionId: string): Promise<void>
  /**
   * Lists the sessions of the store, of all folders or one, most recently written first. Their files may be missing.
   * @throws HaltingError
   */
  files(cwd?: string): Promise<readonly CopiedSession[]>
  /** Locks or creates a session, and updates its file. The caller has the lock of the file. @throws HaltingError */
  open(copy: WorkingCopy): Promise<StoreSession>
  /** Removes a session from the store. @throws HaltingError if a process has it open. */
  remove(sessionId: string): Promise<void>
  /** Removes the sessions that were not written since this time. Returns their number. */
  removeOlderThan(moment: Date): Promise<number>
}

const opened = new Map<string, WorkingCopies>()

/** Stores the files in this folder in a store, until the returned function is called. */
export function registerWorkingCopies(copies: WorkingCopies): () => void {
  opened.set(copies.base, copies)
  return () => void opened.delete(copies.base)
}

/** Folder with the folders of all stores. */
const storesFolder = 'stores'

/**
 * Returns the store that a session file is a copy of; undefined for a file that is the session itself.
 * @throws ConfigurationError for a file of a store that this process has not opened: writes to it would be lost.
 */
export function workingCopiesOf(path: string): WorkingCopies | undefined {
  return workingCopiesIn(dirname(dirname(path)))
}

/** The same for the folder of all projects. */
export function workingCopiesIn(base: string): WorkingCopies | undefined {
  const copies = opened.get(base)
  if (copies !== undefined || basename(dirname(dirname(base))) !== storesFolder || basename(base) !== 'projects')
    return copies
  throw new ConfigurationError(
    `The sessions in ${base} belong to a session store, and only the program opens it. Unset ${sessionStoreVariable} to use files.`,
  )
}

/** Returns where the files of a store are: `~/.halting/stores/<key>/projects`. */
export function workingCopiesFolder(configFolder: string, key: string): string {
  return join(configFolder, storesFolder, key, 'projects')
}
