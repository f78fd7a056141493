// Both stores have this file, since they depend on core alone: what differs is what another boot says. packages/core/test/packages.test.ts compares them.
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, told apart from a later one with its number by when it began. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** The id of this boot of the machine, and the kernel's count when the process began; '' where the system does not say. */
  readonly began: string
  /** The namespace in which its number counts: a container has one of its own. '' where the system does not say. */
  readonly namespace: string
}

/** This process. */
export function ownProcess(): ProcessIdentity {
  return { pid: process.pid, host: hostname(), began: beginningOf(process.pid), namespace: pidNamespace() }
}

/** Whether a process runs: `unknown` for one of another host. A machine that was started anew runs none of its earlier processes, whatever it is called now. */
export function livenessOf({ pid, host, began, namespace }: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (host !== hostname()) return 'unknown'
  const boot = bootId()
  if (began !== '' && boot !== '' && !began.startsWith(`${boot} `)) return 'dead'
  if (pid <= 0) return 'dead'
  // Containers may share the name of their host; what has this number here is another process.
  if (namespace !== '' && namespace !== pidNamespace()) return 'unknown'
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of another person may not be signalled, and runs.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'dead'
  }
  // One that only waits for its parent to look writes nothing any more.
  if (/^[ZX]$/.test(statusOf(pid)[0] ?? '')) return 'dead'
  const now = beginningOf(pid)
  return began === '' || now === '' || now === began ? 'alive' : 'dead'
}

/** Reads what a lock says of its holder; undefined for what is no process. */
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
    // Nobody that this version knows.
  }
  return undefined
}

/** A holder in words. */
export function nameOfHolder(holder: ProcessIdentity | undefined): string {
  if (holder === undefined) return 'another process'
  const isOwn = holder.pid === process.pid && holder.host === hostname() && holder.began === beginningOf(process.pid)
  return isOwn ? 'this process' : `process ${holder.pid} on ${holder.host}`
}

/** When a process began; '' where that cannot be found out. */
function beginningOf(pid: number): string {
  const started = statusOf(pid)[19]
  const boot = bootId()
  return started === undefined || boot === '' ? '' : `${boot} ${started}`
}

let boot: string | undefined

/** The id of this boot of the machine, which no process outlives; '' where the system does not say. */
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

/** Fields of proc(5) from the third on, the state; none where they cannot be found out. */
function statusOf(pid: number): readonly string[] {
  const status = textOf(`/proc/${pid}/stat`)
  // The name of the program is in parentheses and may hold anything.
  return status === '' ? [] : status.slice(status.lastIndexOf(')') + 2).split(' ')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
