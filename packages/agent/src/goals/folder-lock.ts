import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type LockHolder, realPath, takeLock } from '@halting/journal/files'

const lookAgainMs = 200

/** The environment variable that gives a check the real path of the folder being checked. */
export const checkedFolder = 'HALTING_CHECKED_FOLDER'

/** The last task in each folder, in this process. */
const turns = new Map<string, Promise<unknown>>()

/** The result of a task in a folder; `busy` if another process still held the folder's lock at the time limit. */
export type FolderLockResult<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'busy'; readonly holder: LockHolder | undefined }

/**
 * Runs one task in a folder at a time: tasks of this process one after another, and other processes of this user are
 * excluded by a lock below the temporary folder. If the lock cannot be created, such as on a full disk, processes do
 * not exclude each other.
 */
export async function withFolderLock<T>(
  folder: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<FolderLockResult<T>> {
  const real = realPath(folder)
  const before = turns.get(real)
  let done = (): void => undefined
  const own = new Promise<void>((resolve) => (done = resolve))
  const turn = (before ?? Promise.resolve()).then(() => own)
  turns.set(real, turn)
  try {
    if (before !== undefined && !(await endsFirst(before, signal))) return { kind: 'busy', holder: undefined }
    const lock = await lockOf(real, signal)
    if (lock.kind === 'busy') return lock
    try {
      return { kind: 'done', value: await work() }
    } finally {
      await lock.release()
    }
  } finally {
    done()
    if (turns.get(real) === turn) turns.delete(real)
  }
}

async function endsFirst(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  let onAbort = (): void => undefined
  const aborted = new Promise<false>((resolve) => {
    onAbort = () => resolve(false)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work.then(() => true), aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

type FolderLock =
  | { readonly kind: 'locked'; release(): Promise<void> }
  | { readonly kind: 'busy'; readonly holder: LockHolder }

async function lockOf(real: string, signal: AbortSignal): Promise<FolderLock> {
  // A check that itself checks goals in this folder would wait for its own end.
  const path = process.env[checkedFolder] === real ? undefined : lockPath(real)
  if (path === undefined) return { kind: 'locked', release: async () => undefined }
  while (true) {
    // oxlint-disable-next-line no-await-in-loop -- one attempt after another
    const lock = await takeLock(path).catch(() => undefined)
    if (lock === undefined) return { kind: 'locked', release: async () => undefined }
    if (lock.kind === 'locked') return lock
    // oxlint-disable-next-line no-await-in-loop -- the wait between two attempts
    await wait(lookAgainMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return { kind: 'busy', holder: lock.holder }
  }
}

/** Undefined if another user created something at this path. */
export function lockPath(real: string): string | undefined {
  const own = process.getuid?.()
  const folder = join(tmpdir(), `halting-checks-${own ?? 'locks'}`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const stats = lstatSync(folder)
    if (!stats.isDirectory() || (own !== undefined && stats.uid !== own)) return undefined
  } catch {
    return undefined
  }
  return join(folder, `${createHash('sha256').update(real).digest('hex').slice(0, 32)}.lock`)
}
