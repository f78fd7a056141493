import { randomUUID } from 'node:crypto'
import { openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Opens a new file that nobody else can name. */
export function openUnnamed(folder: string): number {
  const path = join(folder, randomUUID())
  const descriptor = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return descriptor
}

/** Opens such a file with a filter of system calls. Each bubblewrap reads it to its end, so each gets one of its own. */
export function openFilter(filter: Uint8Array, folder: string): number {
  const descriptor = openUnnamed(folder)
  // At a given place: where reading begins stays the start.
  writeSync(descriptor, filter, 0, filter.length, 0)
  return descriptor
}
