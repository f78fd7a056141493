import { readFileSync, readSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { SandboxError } from './sandbox-error.ts'

// Bubblewrap ends before the last of its processes. The first process of a PID namespace is the last one to end.

const maxWaitMs = 10_000
const maxBlockedMs = 2_000
const pollMs = 2

/**
 * Resolves when no process of a command runs any more whose bubblewrap has ended. `info`: the file of `--info-fd`.
 * @throws SandboxError if a process still runs after ten seconds.
 */
export async function waitForNamespaceEnd(info: number): Promise<void> {
  const first = firstProcessIn(info)
  if (first === undefined) return
  const deadline = performance.now() + maxWaitMs
  while (isFirstProcess(first)) {
    if (performance.now() >= deadline) throw new SandboxError('a process of a confined command could not be ended')
    await wait(pollMs)
  }
}

/** A synchronous version that blocks this program for at most two seconds. */
export function waitForNamespaceEndSync(info: number): void {
  const first = firstProcessIn(info)
  if (first === undefined) return
  const deadline = performance.now() + maxBlockedMs
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  while (isFirstProcess(first) && performance.now() < deadline) Atomics.wait(sleeper, 0, 0, 1)
}

/** The first process of the namespace. Undefined if bubblewrap failed before it started a process. */
function firstProcessIn(info: number): number | undefined {
  const buffer = Buffer.alloc(4_096)
  const text = buffer.toString('latin1', 0, readSync(info, buffer, 0, buffer.length, 0))
  const [, id] = /"child-pid"\s*:\s*(\d+)/.exec(text) ?? []
  return id === undefined ? undefined : Number(id)
}

/**
 * Whether the process with this id runs and is the first process of a namespace; another process may have received the
 * id. If the process is a zombie, its namespace has no other processes.
 */
function isFirstProcess(id: number): boolean {
  try {
    const status = readFileSync(`/proc/${id}/status`, 'latin1')
    return /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status) && !/^State:\t[ZX]/m.test(status)
  } catch {
    return false
  }
}
