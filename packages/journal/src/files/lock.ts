import { closeSync, lstatSync, readSync, rmSync } from 'node:fs'
import { link, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf } from '@halting/core/adapters'
import { newUuid } from './new-uuid.ts'
import { isAlive, isSameProcess, ownProcess, type ProcessIdentity } from './process-identity.ts'
import { openRegularSync } from './regular-file.ts'
import { removeExclusively } from './removal-gate.ts'

/** Who writes a session. */
export interface LockHolder extends ProcessIdentity {
  /** When the lock was taken: ISO 8601 in UTC. */
  readonly since: string
}

/** What comes of an attempt to take a lock. */
export type Locked =
  | {
      readonly kind: 'locked'
      /** Releases the lock. */
      release(): Promise<void>
    }
  | {
      readonly kind: 'held'
      /** Who has the lock. */
      readonly holder: LockHolder
    }

/** Takes the lock of a session; one that a dead process left is no lock. Of several who try at once, one gets it. */
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

/** Who has the lock at this moment; undefined for nobody, and for a dead process. */
export async function holderOf(path: string): Promise<LockHolder | undefined> {
  return holderNow(path)
}

/** The same, at once: who asks of some thousand sessions waits longer for promises than for the system. @throws what the system says of a lock that cannot be read. */
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

/** Removes the lock of a dead process, if it is still that one. */
function removeLeft(path: string, left: LockHolder): void {
  const present = readHolder(path)
  if (present !== undefined && isSameProcess(present, left)) rmSync(path, { force: true })
}

/** A lock says who holds it, and no more. */
const longestLock = 64 * 1_024

/** @throws Error that says why not: what the system says, that it is not a regular file, or that it is too large. */
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

/** Undefined when there is none any more. What cannot be read was left by a process that died while it wrote. */
function readHolder(path: string): LockHolder | undefined {
  let text: string
  try {
    // Of most sessions nobody writes: to be told so by an error takes ten times as long.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
    text = readSmall(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENAMETOOLONG') return undefined
    // What the system refuses may be held all the same. What is no file, or a large one, is no lock of ours.
    if (code !== undefined && code !== 'ELOOP') throw error
    return nobody()
  }
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && 'pid' in parsed && typeof parsed.pid === 'number')
      return parsed as LockHolder
  } catch {
    // Damaged: nobody holds it.
  }
  return nobody()
}

function nobody(): LockHolder {
  return { pid: 0, began: '', host: hostname(), since: '' }
}
