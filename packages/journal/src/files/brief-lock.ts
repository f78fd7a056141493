import { randomUUID } from 'node:crypto'
import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { codeOf, digestOf } from '@halting/core/adapters'
import { isAlive, ownProcess, type ProcessIdentity } from './process-identity.ts'
import { removeExclusively } from './removal-gate.ts'

/** A lock that is held for microseconds by synchronous code. */
export interface BriefLock {
  /** Whether this process still has the lock: another process may take it over if it considers this one dead. */
  isHeld(): boolean
  /** Releases the lock. */
  release(): void
}

/** The result of trying to acquire a brief lock. `token` differs each time the lock is taken. */
export type BriefLocked =
  | {
      readonly kind: 'locked'
      /** The lock. */
      readonly lock: BriefLock
    }
  | {
      readonly kind: 'held'
      /** Identifies the holder; it differs each time the lock is taken. */
      readonly token: string
    }

let instance = ''
let locksTaken = 0

/**
 * Acquires a lock, or returns that another process has it. The lock is a symbolic link to the identity of its holder, which the system
 * creates atomically. It has at most 59 bytes, so that file systems store it in the inode, which takes a third of the
 * time.
 *
 * A lock of a dead process is taken over. `abandoned` is the token of a lock that was held for far too long by a
 * process whose state is unknown.
 */
export function tryBriefLock(path: string, abandoned?: string): BriefLocked {
  if (instance === '') instance = `${shortIdentity(ownProcess())} ${randomUUID().slice(0, 8)}`
  locksTaken += 1
  const target = `${instance}.${locksTaken.toString(36)}`
  for (let tries = 0; tries < 5; tries++) {
    if (trySymlink(target, path)) return { kind: 'locked', lock: lockOf(path, target) }
    const present = targetOf(path)
    if (present === undefined) continue
    const { token, liveness } = parseHolder(present)
    if (liveness === 'alive' || (liveness === 'unknown' && token !== abandoned)) return { kind: 'held', token }
    const isRemoved = removeExclusively(path, () => {
      if (targetOf(path) === present) unlinkSync(path)
    })
    if (!isRemoved) return { kind: 'held', token }
  }
  return { kind: 'held', token: '' }
}

function lockOf(path: string, target: string): BriefLock {
  const isHeld = (): boolean => targetOf(path) === target
  return {
    isHeld,
    release() {
      if (isHeld()) unlinkSync(path)
    },
  }
}

function trySymlink(target: string, path: string): boolean {
  try {
    symlinkSync(target, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Returns undefined if there is no lock. @throws Error if the path is not a link. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'EINVAL') throw new Error(`${path} is not a lock. Remove it.`, { cause: error })
    throw error
  }
}

/** Encodes a process in a few bytes: pid, start time, boot of the machine, host. `-` if unknown. */
export function shortIdentity({ pid, began, host }: ProcessIdentity): string {
  const [boot = '', ticks = ''] = began.split(' ')
  return `${pid} ${ticks === '' ? '-' : ticks} ${boot === '' ? '-' : shortHash(boot)} ${shortHash(host)}`
}

const shortHash = (text: string): string => digestOf(text).slice(0, 8)

/** Parses the holder; an invalid one counts as dead. */
function parseHolder(target: string): { readonly token: string; readonly liveness: 'alive' | 'dead' | 'unknown' } {
  const [pid = '', ticks = '', boot = '', host = '', token = ''] = target.split(' ')
  if (!/^\d+$/.test(pid) || token === '') return { token: '', liveness: 'dead' }
  const own = ownProcess()
  const [ownBoot = ''] = own.began.split(' ')
  if (boot !== '-' && ownBoot !== '' && boot !== shortHash(ownBoot)) return { token, liveness: 'dead' }
  if (host !== shortHash(own.host)) return { token, liveness: 'unknown' }
  const began = ticks === '-' ? '' : `${ownBoot} ${ticks}`
  return { token, liveness: isAlive({ pid: Number(pid), began, host: own.host }) ? 'alive' : 'dead' }
}
