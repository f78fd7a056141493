import { randomUUID } from 'node:crypto'
import { openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Opens a new file that no other process can open by name. */
export function openUnnamed(folder: string): number {
  const path = join(folder, randomUUID())
  const descriptor = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return descriptor
}

/** Opens such a file with a system call filter. Each bubblewrap process reads the file to its end, so each process needs its own. */
export function openFilter(filter: Uint8Array, folder: string): number {
  const descriptor = openUnnamed(folder)
  // The filter is written at a position, so that the file offset remains at the beginning.
  writeSync(descriptor, filter, 0, filter.length, 0)
  return descriptor
}
