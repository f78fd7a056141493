import { statfs } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { EngineProcess } from './engine-process.ts'

const betweenLooksMs = 5_000
/** The engine clears a full disk's error when it has 64 MiB; a start of it takes some more. */
const enoughBytes = 160_000_000

/** Whether the metrics of a node say that its log takes no more records until it is started again: a write failed, as on a full disk. */
export function isLogDisabled(metrics: string): boolean {
  return /^restate_log_server_store_records_total\{[^}]*status="disabled"[^}]*\} 0*[1-9]/m.test(metrics)
}

export interface FullDiskOptions {
  readonly engine: Pick<EngineProcess, 'node' | 'restart'>
  /** Where it has its data. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly say: (message: string) => void
  /** For tests. */
  readonly freeBytes?: (folder: string) => Promise<number>
  readonly betweenMs?: number
}

/** Starts the engine again when its log takes no more records and its disk has room. Until it is aborted; what a restart throws is thrown. */
export async function watchFullDisk({
  engine,
  folder,
  signal,
  say,
  freeBytes = freeBytesOf,
  betweenMs = betweenLooksMs,
}: FullDiskOptions): Promise<void> {
  let isSaid = false
  while (!signal.aborted) {
    await pause(betweenMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted || !isLogDisabled(await metricsOf(engine.node))) continue
    if ((await freeBytes(folder)) < enoughBytes) {
      if (!isSaid)
        say(
          `the server cannot write: no room for ${folder}. It is started again when ${enoughBytes / 1e6} MB are free.`,
        )
      isSaid = true
      continue
    }
    await engine.restart()
    say('the server could not write and was started again. Sessions continue.')
    isSaid = false
  }
}

async function metricsOf(node: string): Promise<string> {
  const response = await fetch(`${node}/metrics`, { signal: AbortSignal.timeout(3_000) }).catch(() => undefined)
  return (await response?.text().catch(() => '')) ?? ''
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
