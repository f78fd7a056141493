import { closeSync, lstatSync, readSync, rmSync } from 'node:fs'
import { link, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf } from '@halting/core/adapters'
import { newUuid } from './new-uuid.ts'
import { isAlive, isSameProcess, ownProcess, type ProcessIdentity } from './process-identity.ts'
import { openRegularSync } from './regular-file.ts'
import { removeExclusively } from './removal-gate.ts'

/** The process that writes a session. */
export interface LockHolder extends ProcessIdentity {
  /** When the lock was taken: ISO 8601 in UTC. */
  readonly since: string
}

/** The result of trying to take a lock. */
export type Locked =
  | {
      readonly kind: 'locked'
      /** Releases the lock. */
      release(): Promise<void>
    }
  | {
      readonly kind: 'held'
      /** The holder of the lock. */
      readonly holder: LockHolder
    }

/** Acquires the lock of a session; a lock of a dead process is ignored. If several processes try concurrently, one succeeds. */
export async function takeLock(path: string): Promise<Locked> {
  const own = `${path}.${process.pid}.${newUuid()}`
  const holder = { ...ownProcess(), since: new Date().toISOString() }
  await writeFile(own, JSON.stringify(holder), { mode: 0o600, flag: 'wx' })
  try {
    for (let tries = 0; tries < 50; tries++) {
      if (await tryLink(own, path)) return { kind: 'locked', release: () => release(path, holder) }
      const present = readHolder(path)
      if (present === undefined) continue
      if (isAlive(present)) return { kind: 'held', holder: present }
      if (!removeExclusively(path, () => removeLeft(path, present))) await wait(10)
    }
  } finally {
    await unlink(own).catch(() => {})
  }
  throw new Error(`The lock ${path} could not be taken. Remove it, if no other process uses the session.`)
}

/** Returns the process that has the lock; undefined if there is none, or it is dead. */
export async function holderOf(path: string): Promise<LockHolder | undefined> {
  return holderNow(path)
}

/**
 * Like `holderOf`, but synchronous: for thousands of sessions, promises take longer than the system. @throws a system
 * error if the lock cannot be read.
 */
export function holderNow(path: string): LockHolder | undefined {
  const present = readHolder(path)
  return present !== undefined && isAlive(present) ? present : undefined
}

async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function release(path: string, holder: LockHolder): Promise<void> {
  const present = readHolder(path)
  if (present !== undefined && isSameProcess(present, holder)) await unlink(path).catch(() => {})
}

/** Removes the lock of a dead process, if it is still the same. */
function removeLeft(path: string, left: LockHolder): void {
  const present = readHolder(path)
  if (present !== undefined && isSameProcess(present, left)) rmSync(path, { force: true })
}

/** Maximum size of a lock, which only contains its holder. */
const longestLock = 64 * 1_024

/** @throws Error with the reason: a system error, not a regular file, or too large. */
function readSmall(path: string): string {
  const file = openRegularSync(path)
  try {
    const bytes = Buffer.allocUnsafe(longestLock)
    const size = readSync(file, bytes, 0, longestLock, 0)
    if (size === longestLock) throw new Error('it is larger than a lock')
    return bytes.toString('utf8', 0, size)
  } finally {
    closeSync(file)
  }
}

/** Returns undefined if there is no lock. An unreadable lock was left by a process that died while writing. */
function readHolder(path: string): LockHolder | undefined {
  let text: string
  try {
    // Tested without an exception, which would take ten times as long: most sessions are not locked.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
    text = readSmall(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENAMETOOLONG') return undefined
    // If the system denies access, the lock may still be held. A large file, or another kind of file, is not our lock.
    if (code !== undefined && code !== 'ELOOP') throw error
    return noHolder()
  }
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && 'pid' in parsed && typeof parsed.pid === 'number')
      return parsed as LockHolder
  } catch {
    // Damaged: nobody holds it.
  }
  return noHolder()
}

function noHolder(): LockHolder {
  return { pid: 0, began: '', host: hostname(), since: '' }
}
