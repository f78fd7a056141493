import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs'

// Results of capability tests on this machine, in a file of the person. It stores what worked, never which program is started.

/** The results stored for the present circumstances; undefined if there are none. */
export function readMemory(memory: string | undefined): JsonObject | undefined {
  if (memory === undefined) return undefined
  try {
    const stored: unknown = JSON.parse(readFileSync(memory, 'utf8'))
    return isJsonObject(stored) && stored['circumstances'] === circumstances() ? stored : undefined
  } catch {
    return undefined
  }
}

/**
 * Writes only if the person has a settings folder of this program; the folder is not created for this file. Without it
 * the next start takes a few milliseconds more.
 */
export function writeMemory(memory: string | undefined, found: object): void {
  if (memory === undefined) return
  try {
    writeFileSync(memory, JSON.stringify({ circumstances: circumstances(), ...found }), { mode: 0o600 })
  } catch {
    // The folder does not exist, or is read-only.
  }
}

/** The boot, the namespaces and the user for which a result is valid: containers may share a home folder. */
function circumstances(): string {
  const read = (file: string): string => readFileSync(file, 'utf8').trim()
  return [
    read('/proc/sys/kernel/random/boot_id'),
    readlinkSync('/proc/self/ns/mnt'),
    readlinkSync('/proc/self/ns/user'),
    process.getuid?.(),
  ].join(' ')
}
