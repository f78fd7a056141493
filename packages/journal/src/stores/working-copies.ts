import { basename, dirname, join } from 'node:path'
import { ConfigurationError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { JournalPlace } from '../format/encoder.ts'
import { sessionStoreVariable } from './store-place.ts'

// Sessions of a store have a file each, which is rebuilt from the store before it is read: whatever reads sessions reads these files. This is the list of
// the stores that this process has opened, by the folder of their files. The store itself is loaded by whoever opens it.

/** A session of a store that this process alone writes. */
export interface StoreSession {
  /** `timestamp` is when it was recorded: ISO 8601 in UTC. */
  append(record: StepRecord, timestamp: string): void
  /** Resolves when everything that was appended is durable. */
  flush(): Promise<void>
  /** Releases the session. Everything that was appended is durable then. */
  close(): Promise<void>
}

/** The file of a session, and what its first line says. */
export interface WorkingCopy extends JournalPlace {
  /** Path of the file. */
  readonly path: string
  /** When a session that begins began elsewhere, for a copy: ISO 8601 in UTC. */
  readonly createdAt?: string
}

/** A session of a store, and where its file is once it was brought up to date. */
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
  /** The folder that has one folder a project. */
  readonly base: string
  /** Brings the files up to date: all of them, or those of sessions that work in this folder. @throws HaltingError where the store cannot be read. */
  refresh(cwd?: string): Promise<void>
  /** Brings one file up to date. @throws HaltingError where the store cannot be read. */
  refreshOne(path: string, sessionId: string): Promise<void>
  /** The sessions of the store, of all folders or of one, the one that was written last first. Files need not be there. @throws HaltingError */
  files(cwd?: string): Promise<readonly CopiedSession[]>
  /** Locks a session, or begins it, and brings its file up to date. The caller has the lock of the file. @throws HaltingError */
  open(copy: WorkingCopy): Promise<StoreSession>
  /** Removes a session from the store. @throws HaltingError where a process has it open. */
  remove(sessionId: string): Promise<void>
  /** Removes the sessions that were not written since. Gives how many. */
  removeOlderThan(moment: Date): Promise<number>
}

const opened = new Map<string, WorkingCopies>()

/** Has the files below this folder kept in a store until the function that it gives is called. */
export function registerWorkingCopies(copies: WorkingCopies): () => void {
  opened.set(copies.base, copies)
  return () => void opened.delete(copies.base)
}

/** The folder that has the folders of all stores. */
export const storesFolder = 'stores'

/**
 * The store that a session file is a copy of; undefined for a file that is the session itself.
 * @throws ConfigurationError for a file of a store that this process has not opened: what is written to it would be lost.
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

/** Where the files of a store are: `~/.halting/stores/<key>/projects`. */
export function workingCopiesFolder(configFolder: string, key: string): string {
  return join(configFolder, storesFolder, key, 'projects')
}
