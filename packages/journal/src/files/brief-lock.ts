import { randomUUID } from 'node:crypto'
import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { codeOf, digestOf } from '@halting/core/adapters'
import { isAlive, ownProcess, type ProcessIdentity } from './process-identity.ts'
import { removeExclusively } from './removal-gate.ts'

/** A lock that is held for microseconds, by code that awaits nothing. */
export interface BriefLock {
  /** Whether it is still this one: another process takes it over where it takes this one for dead. */
  isHeld(): boolean
  /** Releases the lock. */
  release(): void
}

/** What comes of an attempt to take a brief lock. `token` is another one each time that somebody takes it. */
export type BriefLocked =
  | {
      readonly kind: 'locked'
      /** The lock. */
      readonly lock: BriefLock
    }
  | {
      readonly kind: 'held'
      /** Names the holder: it differs each time the lock is taken. */
      readonly token: string
    }

let instance = ''
let locksTaken = 0

/**
 * Takes a lock at once, or says that it is held. It is a symbolic link to the identity of its holder: the system makes it in one call, whole or not at all.
 * It is short: file systems keep a link of up to 59 bytes in its own entry, which takes a third of the time. One
 * that a dead process left is taken over. `abandoned` is the token of one whose holder nobody here can look at, and which was held for far too long.
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

/** Undefined where there is none. @throws Error for what is no link. */
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

/** A process in few bytes: number, when it began, boot of the machine, host. `-` for what the system does not say. */
export function shortIdentity({ pid, began, host }: ProcessIdentity): string {
  const [boot = '', ticks = ''] = began.split(' ')
  return `${pid} ${ticks === '' ? '-' : ticks} ${boot === '' ? '-' : short(boot)} ${short(host)}`
}

const short = (text: string): string => digestOf(text).slice(0, 8)

/** What names no process was left by nobody who is alive. */
function parseHolder(target: string): { readonly token: string; readonly liveness: 'alive' | 'dead' | 'unknown' } {
  const [pid = '', ticks = '', boot = '', host = '', token = ''] = target.split(' ')
  if (!/^\d+$/.test(pid) || token === '') return { token: '', liveness: 'dead' }
  const own = ownProcess()
  const [ownBoot = ''] = own.began.split(' ')
  if (boot !== '-' && ownBoot !== '' && boot !== short(ownBoot)) return { token, liveness: 'dead' }
  if (host !== short(own.host)) return { token, liveness: 'unknown' }
  const began = ticks === '-' ? '' : `${ownBoot} ${ticks}`
  return { token, liveness: isAlive({ pid: Number(pid), began, host: own.host }) ? 'alive' : 'dead' }
}
