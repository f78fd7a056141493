import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '@halting/core/adapters'

/** A process, told apart from a later one with its number by when it began. */
export interface ProcessIdentity {
  /** Number of the process. */
  readonly pid: number
  /** The kernel's count when it began, behind the id of the boot of its machine; '' where the system does not say. */
  readonly began: string
  /** Name of its machine. */
  readonly host: string
}

/** This process. */
export function ownProcess(): ProcessIdentity {
  return { pid: process.pid, began: beginningOf(process.pid), host: hostname() }
}

/** Whether both are the same process. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.began === b.began && a.host === b.host
}

/** Whether a process runs. On another machine nobody can tell: then it is taken for alive. */
export function isAlive({ pid, began, host }: ProcessIdentity): boolean {
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

/**
 * The same where both share one disk: `unknown` for a process of another host name, such as one in a container. A machine that was started anew since then
 * runs none of its earlier processes, whatever it is called now.
 */
export function livenessOnOneDisk(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const boot = identity.began.split(' ', 1)[0] ?? ''
  const own = bootId()
  if (boot !== '' && own !== '' && boot !== own) return 'dead'
  if (identity.host !== hostname()) return 'unknown'
  return isAlive(identity) ? 'alive' : 'dead'
}

/**
 * Whether a process of this machine was stopped, as by Ctrl-Z: it lives, and does nothing until somebody has it go on. False where the system does not say.
 */
export function isStopped({ pid, began, host }: ProcessIdentity): boolean {
  if (host !== hostname() || !/^[Tt]$/.test(statusOf(pid)[0] ?? '')) return false
  return began === '' || beginningOf(pid) === began
}

/** When a process began, by the kernel's own count since the machine did; '' where that cannot be found out. */
function beginningOf(pid: number): string {
  const started = statusOf(pid)[19]
  const boot = bootId()
  return started === undefined || boot === '' ? '' : `${boot} ${started}`
}

let boot: string | undefined

/** The id of this boot of the machine, which no process outlives; '' where the system does not say. */
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
