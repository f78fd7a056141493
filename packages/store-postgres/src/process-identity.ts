// Both stores have this file, because they depend only on core. Only the result for another boot differs.
// packages/core/test/packages.test.ts compares them.
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, distinguished from later ones with the same id by its start time. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Id of the machine's boot, and the kernel's start time of the process; '' if unknown. */
  readonly began: string
  /** Pid namespace: a container has its own. '' if unknown. */
  readonly namespace: string
}

/** Returns this process. */
export function ownProcess(): ProcessIdentity {
  return { pid: process.pid, host: hostname(), began: beginningOf(process.pid), namespace: pidNamespace() }
}

/** Whether a process runs: `unknown` on another host or after a reboot, which may be another machine. */
export function livenessOf({ pid, host, began, namespace }: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (host !== hostname()) return 'unknown'
  const boot = bootId()
  if (began !== '' && boot !== '' && !began.startsWith(`${boot} `)) return 'unknown'
  if (pid <= 0) return 'dead'
  // Containers may share a host name; this pid then means another process.
  if (namespace !== '' && namespace !== pidNamespace()) return 'unknown'
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of another user cannot be signalled, but runs.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'dead'
  }
  // A zombie that waits for its parent does not write any more.
  if (/^[ZX]$/.test(statusOf(pid)[0] ?? '')) return 'dead'
  const now = beginningOf(pid)
  return began === '' || now === '' || now === began ? 'alive' : 'dead'
}

/** Parses the holder of a lock; undefined if it is invalid. */
export function parsedHolder(text: string | null): ProcessIdentity | undefined {
  if (text === null) return undefined
  try {
    const { pid, host, began, namespace = '' } = JSON.parse(text) as Partial<ProcessIdentity>
    if (
      typeof pid === 'number' &&
      typeof host === 'string' &&
      typeof began === 'string' &&
      typeof namespace === 'string'
    )
      return { pid, host, began, namespace }
  } catch {
    // An unknown format.
  }
  return undefined
}

/** Describes a holder. */
export function nameOfHolder(holder: ProcessIdentity | undefined): string {
  if (holder === undefined) return 'another process'
  const isOwn = holder.pid === process.pid && holder.host === hostname() && holder.began === beginningOf(process.pid)
  return isOwn ? 'this process' : `process ${holder.pid} on ${holder.host}`
}

/** Returns when a process started; '' if unknown. */
function beginningOf(pid: number): string {
  const started = statusOf(pid)[19]
  const boot = bootId()
  return started === undefined || boot === '' ? '' : `${boot} ${started}`
}

let boot: string | undefined

/** Returns the id of the machine's boot, which no process outlives; '' if unknown. */
function bootId(): string {
  boot ??= textOf('/proc/sys/kernel/random/boot_id').trim()
  return boot
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

/** Returns the fields of proc(5) from the third on, the state; empty if unknown. */
function statusOf(pid: number): readonly string[] {
  const status = textOf(`/proc/${pid}/stat`)
  // The program name is in parentheses and may contain anything.
  return status === '' ? [] : status.slice(status.lastIndexOf(')') + 2).split(' ')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
