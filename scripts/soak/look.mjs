// What this process and the processes that it started have at this moment: processes, descriptors, timers, files, memory.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** The environment variable that marks everything that a soak started, even after its parent has ended. */
export const markVariable = 'HALTING_SOAK'

/** Other processes of this soak, each with its command. Zombies do not count. */
export function processesOf(mark) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(`${markVariable}=${mark}`)) return []
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
        if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))) return []
        const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
        return [{ pid: Number(name), command: command.slice(0, 200) }]
      } catch {
        // It ended meanwhile, or belongs to another user.
        return []
      }
    })
}

/** Open descriptors by kind: sockets, pipes, files by their path. */
function descriptors() {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`).replace(/^(socket|pipe):.*/, '$1')]
    } catch {
      // The descriptor that reads the folder.
      return []
    }
  })
}

/** What keeps the event loop busy: timers, sockets, children, as Node names them. */
const activeResources = () => process.getActiveResourcesInfo()

/** Every file and folder below this folder. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true }).map(String).toSorted()
}

/** Megabytes after a garbage collection: what the heap holds, and the resident set size. */
export async function memory() {
  // Objects that one collection finalizes are freed by the next one.
  for (let time = 0; time < 4; time++) {
    collect()
    await setImmediate()
  }
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return { heldMb: (heap + external) / 2 ** 20, rssMb: process.memoryUsage.rss() / 2 ** 20 }
}

/** What there is more of than before, by name and with counts. */
function moreThan(before, now) {
  const left = new Map()
  for (const name of now) left.set(name, (left.get(name) ?? 0) + 1)
  for (const name of before) if (left.has(name)) left.set(name, left.get(name) - 1)
  return [...left].filter(([, count]) => count > 0).map(([name, count]) => (count === 1 ? name : `${count} × ${name}`))
}

/** Names of files that a killed or careless writer leaves behind: locks, and files that were to be renamed. */
function unfinished(folder) {
  return filesBelow(folder)
    .filter((name) => /\.(lock|tmp|part)\b|\.lock\.|~$/.test(name))
    .map((name) => join(folder, name))
}

/** What this process has open before anything begins. */
export const whatIsThere = () => ({ descriptors: descriptors(), resources: activeResources(), listeners: listeners() })

const listeners = () =>
  process.eventNames().flatMap((name) => Array.from({ length: process.listenerCount(name) }, () => String(name)))

/**
 * Describes what exists now and did not exist before.
 * @param {ReturnType<typeof whatIsThere>} before
 * @param {{ mark: string, root: string, temporary: string, folder: string }} place
 */
export function whatIsLeft(before, { mark, temporary, folder }) {
  return [
    ...processesOf(mark).map(({ pid, command }) => `a process is left: ${pid} ${command}`),
    ...moreThan(before.descriptors, descriptors()).map((name) => `open descriptors are left: ${name}`),
    ...moreThan(before.resources, activeResources()).map((name) => `the event loop is kept busy: ${name}`),
    ...moreThan(before.listeners, listeners()).map((name) => `a listener of the process is left: ${name}`),
    ...filesBelow(temporary).map((name) => `a temporary file is left: ${name}`),
    ...unfinished(folder).map((name) => `a file that is not finished is left: ${name}`),
  ]
}
