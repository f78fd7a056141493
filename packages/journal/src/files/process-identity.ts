import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '@halting/core/adapters'

/** A process, distinguished from later ones with the same id by its start time. */
export interface ProcessIdentity {
  /** Process id. */
  readonly pid: number
  /** Id of the machine's boot, and the kernel's start time of the process; '' if unknown. */
  readonly began: string
  /** Host name. */
  readonly host: string
}

/** Returns this process. */
export function ownProcess(): ProcessIdentity {
  return { pid: process.pid, began: beginningOf(process.pid), host: hostname() }
}

/** Whether both are the same process. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.began === b.began && a.host === b.host
}

/** Whether a process runs. A process on another machine is assumed to run, because that is unknown. */
export function isAlive({ pid, began, host }: ProcessIdentity): boolean {
  if (host !== hostname()) return true
  if (pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false
  }
  // A zombie that waits for its parent no longer writes. In containers whose first process does not reap children, the zombie waits forever.
  if (/^[ZX]$/.test(statusOf(pid)[0] ?? '')) return false
  const now = beginningOf(pid)
  return began === '' || now === '' || now === began
}

/**
 * Whether a process runs, for processes that share a disk: `unknown` for another host name, such as that of a
 * container. After a reboot no earlier process of the machine runs, whatever its host name is now.
 */
export function livenessOnSharedDisk(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const boot = identity.began.split(' ', 1)[0] ?? ''
  const own = bootId()
  if (boot !== '' && own !== '' && boot !== own) return 'dead'
  if (identity.host !== hostname()) return 'unknown'
  return isAlive(identity) ? 'alive' : 'dead'
}

/**
 * Whether a process of this machine is stopped, as by Ctrl-Z: alive, but suspended until it is continued. False if
 * unknown.
 */
export function isStopped({ pid, began, host }: ProcessIdentity): boolean {
  if (host !== hostname() || !/^[Tt]$/.test(statusOf(pid)[0] ?? '')) return false
  return began === '' || beginningOf(pid) === began
}

/** Returns when a process started, by the kernel's count since boot; '' if unknown. */
function beginningOf(pid: number): string {
  const started = statusOf(pid)[19]
  const boot = bootId()
  return started === undefined || boot === '' ? '' : `${boot} ${started}`
}

let boot: string | undefined

/** Returns the id of the machine's boot; processes of another boot have ended. '' if unknown. */
function bootId(): string {
  boot ??= readBootId()
  return boot
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

/** Returns the fields of proc(5) from the third on, the state; empty if unknown. */
function statusOf(pid: number): readonly string[] {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program name is in parentheses and may contain anything.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
