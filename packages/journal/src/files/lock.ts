import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, mkdir, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { boundedFile } from './bounded-file.ts'
import { codeOf } from '@halting/core/adapters'

/** Who writes a session. A process is told apart from a later one with its number by when it began. */
export interface LockHolder {
  readonly pid: number
  readonly began: string
  readonly host: string
  readonly since: string
}

/** What comes of an attempt to take a lock. */
export type Locked =
  | { readonly kind: 'locked'; release(): Promise<void> }
  | { readonly kind: 'held'; readonly holder: LockHolder }

/** Takes the lock of a session; one that a dead process left is no lock. Of several who try at once, one gets it. */
export async function takeLock(path: string): Promise<Locked> {
  const own = `${path}.${process.pid}.${randomUUID()}`
  const holder = ownHolder(process.pid)
  await writeFile(own, JSON.stringify(holder), { mode: 0o600, flag: 'wx' })
  try {
    for (let tries = 0; tries < 50; tries++) {
      if (await linked(own, path)) return { kind: 'locked', release: () => release(path, holder) }
      const present = await readHolder(path)
      if (present === undefined) continue
      if (isAlive(present)) return { kind: 'held', holder: present }
      await removeLeft(path, present)
    }
  } finally {
    await unlink(own).catch(() => {})
  }
  throw new Error(`The lock ${path} could not be taken. Remove it, if no other process uses the session.`)
}

/** Who has the lock at this moment; undefined for nobody, and for a dead process. */
export async function holderOf(path: string): Promise<LockHolder | undefined> {
  const present = await readHolder(path)
  return present !== undefined && isAlive(present) ? present : undefined
}

async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function release(path: string, holder: LockHolder): Promise<void> {
  const present = await readHolder(path)
  if (present !== undefined && isSame(present, holder)) await unlink(path).catch(() => {})
}

/** How long somebody may take to remove a lock that was left, before that is left behind too. */
const removalMs = 2_000

/** Removes the lock of a dead process, if it is still that one: one process at a time does this. */
async function removeLeft(path: string, left: LockHolder): Promise<void> {
  const gate = `${path}.removal`
  try {
    await mkdir(gate)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    const began = await stat(gate).catch(() => undefined)
    if (began !== undefined && Date.now() - began.mtimeMs > removalMs) await rmdir(gate).catch(() => {})
    await wait(10)
    return
  }
  try {
    const present = await readHolder(path)
    if (present !== undefined && isSame(present, left)) await rm(path, { force: true })
  } finally {
    await rmdir(gate).catch(() => {})
  }
}

/** A lock says who holds it, and no more. */
const longestLock = 64 * 1_024

/** Undefined when there is none any more. What cannot be read was left by a process that died while it wrote. */
async function readHolder(path: string): Promise<LockHolder | undefined> {
  let text: string
  try {
    text = await boundedFile(path, longestLock)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENAMETOOLONG') return undefined
    // What the system refuses may be held all the same. What is no file, or a large one, is no lock of ours.
    if (code !== undefined && code !== 'ELOOP') throw error
    return nobody()
  }
  try {
    const told: unknown = JSON.parse(text)
    if (typeof told === 'object' && told !== null && 'pid' in told && typeof told.pid === 'number')
      return told as LockHolder
  } catch {
    // Damaged: nobody holds it.
  }
  return nobody()
}

function nobody(): LockHolder {
  return { pid: 0, began: '', host: hostname(), since: '' }
}

function isSame(a: LockHolder, b: LockHolder): boolean {
  return a.pid === b.pid && a.began === b.began && a.host === b.host
}

/** On another machine nobody can tell: then it is taken for alive. */
function isAlive({ pid, began, host }: LockHolder): boolean {
  if (host !== hostname()) return true
  if (pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false
  }
  // One that only waits for its parent to look writes nothing any more. Where the first process looks at none, as in containers, it waits for ever.
  if (/^[ZX]$/.test(statusOf(pid)[0] ?? '')) return false
  const now = beginningOf(pid)
  return began === '' || now === '' || now === began
}

function ownHolder(pid: number): LockHolder {
  return { pid, began: beginningOf(pid), host: hostname(), since: new Date().toISOString() }
}

/** When a process began, by the kernel's own count since the machine did; '' where that cannot be found out. */
function beginningOf(pid: number): string {
  const started = statusOf(pid)[19]
  if (started === undefined) return ''
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${started}`
  } catch {
    return ''
  }
}

/** Fields of proc(5) from the third on, the state; none where they cannot be found out. */
function statusOf(pid: number): readonly string[] {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program stands in parentheses and may hold anything.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
