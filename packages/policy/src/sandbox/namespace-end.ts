import { readFileSync, readSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { SandboxError } from './sandbox-error.ts'

// Bubblewrap ends before the last of its processes has. The first process of a namespace of processes is the last to go.

const maxWaitMs = 10_000
const maxBlockedMs = 2_000
const pollMs = 2

/**
 * Resolves when nothing of a command runs any more whose bubblewrap has ended. `info`: the file of `--info-fd`.
 * @throws SandboxError where something is still there after ten seconds.
 */
export async function waitForNamespaceEnd(info: number): Promise<void> {
  const first = firstProcessIn(info)
  if (first === undefined) return
  const deadline = performance.now() + maxWaitMs
  while (isFirstProcess(first)) {
    if (performance.now() >= deadline) throw new SandboxError('what a confined command started could not be ended')
    await wait(pollMs)
  }
}

/** The same for who cannot wait for a promise: at most two seconds, in which this program does nothing else. */
export function waitForNamespaceEndSync(info: number): void {
  const first = firstProcessIn(info)
  if (first === undefined) return
  const deadline = performance.now() + maxBlockedMs
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  while (isFirstProcess(first) && performance.now() < deadline) Atomics.wait(sleeper, 0, 0, 1)
}

/** Undefined where bubblewrap did not come so far. */
function firstProcessIn(info: number): number | undefined {
  const buffer = Buffer.alloc(4_096)
  const text = buffer.toString('latin1', 0, readSync(info, buffer, 0, buffer.length, 0))
  const [, id] = /"child-pid"\s*:\s*(\d+)/.exec(text) ?? []
  return id === undefined ? undefined : Number(id)
}

/** Whether it runs and is the first of a namespace: a number may have been given to another process. A zombie has left no other behind. */
function isFirstProcess(id: number): boolean {
  try {
    const status = readFileSync(`/proc/${id}/status`, 'latin1')
    return /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status) && !/^State:\t[ZX]/m.test(status)
  } catch {
    return false
  }
}
