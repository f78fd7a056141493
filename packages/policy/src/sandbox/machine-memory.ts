import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs'

// What was found out about this machine by trying, in a file of the person. It says what worked, and never what is started.

/** What is stored in a file about these circumstances; undefined where nothing is. */
export function readMemory(memory: string | undefined): JsonObject | undefined {
  if (memory === undefined) return undefined
  try {
    const stored: unknown = JSON.parse(readFileSync(memory, 'utf8'))
    return isJsonObject(stored) && stored['circumstances'] === circumstances() ? stored : undefined
  } catch {
    return undefined
  }
}

/** Only where the person has a folder of this program: none is made for it. Without it the next start takes a few milliseconds more. */
export function writeMemory(memory: string | undefined, found: object): void {
  if (memory === undefined) return
  try {
    writeFileSync(memory, JSON.stringify({ circumstances: circumstances(), ...found }), { mode: 0o600 })
  } catch {
    // See above.
  }
}

/** The start of the machine, the namespaces and the user for which an answer holds: containers may share a home. */
function circumstances(): string {
  const read = (file: string): string => readFileSync(file, 'utf8').trim()
  return [
    read('/proc/sys/kernel/random/boot_id'),
    readlinkSync('/proc/self/ns/mnt'),
    readlinkSync('/proc/self/ns/user'),
    process.getuid?.(),
  ].join(' ')
}
