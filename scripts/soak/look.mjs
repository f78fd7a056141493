// What this process, and what it started, has at this moment: processes, descriptors, timers, files, memory.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** The variable by which whatever a soak started is known, also when its parent is gone. */
export const markVariable = 'HALTING_SOAK'

/** Processes of this soak beside this one, each with its command. What only waits to be looked at by its parent does not run. */
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
        // It ended meanwhile, or is somebody else's.
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
      // The one that the folder was read by.
      return []
    }
  })
}

/** What keeps the event loop busy: timers, sockets, children, as Node names them. */
const activeResources = () => process.getActiveResourcesInfo()

/** Every file and folder below. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true }).map(String).toSorted()
}

/** Megabytes after garbage was collected: what is held, and what the system has given. */
export async function memory() {
  // What a collection finalizes is freed by the one after it.
  for (let time = 0; time < 4; time++) {
    collect()
    await setImmediate()
  }
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return { heldMb: (heap + external) / 2 ** 20, rssMb: process.memoryUsage.rss() / 2 ** 20 }
}

/** How many of each there are more of than before: what is left, by name. */
function moreThan(before, now) {
  const left = new Map()
  for (const name of now) left.set(name, (left.get(name) ?? 0) + 1)
  for (const name of before) if (left.has(name)) left.set(name, left.get(name) - 1)
  return [...left].filter(([, count]) => count > 0).map(([name, count]) => (count === 1 ? name : `${count} × ${name}`))
}

/** Names of what a killed or careless writer leaves behind: locks, and files that were to be renamed. */
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
 * What is there beside it now, in words.
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
