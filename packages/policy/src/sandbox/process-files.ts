import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '@halting/core/adapters'

/** Files that hold the number of a process are named like this. */
const named = /(?:^|[._-])pids?(?:$|[._-])/i
/** Below a directory of the session, beside every folder directly in it. */
const usual: readonly string[] = ['tmp/pids', 'tmp/run', 'var/run', 'var/pids']
const mostFolders = 200
const mostBytes = 4096

/** A file in these folders that holds the number of a process that runs, where programs usually keep such files. */
export function liveProcessFile(directories: readonly string[]): string | undefined {
  for (const directory of directories) {
    const folders = entriesOf(directory).filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    const places = ['', ...usual, ...folders.slice(0, mostFolders).map(({ name }) => name)]
    for (const place of places)
      for (const entry of entriesOf(join(directory, place))) {
        const path = join(directory, place, entry.name)
        if (entry.isFile() && named.test(entry.name) && holdsLiveProcess(path)) return path
      }
  }
  return undefined
}

function entriesOf(folder: string): ReturnType<typeof readEntries> {
  try {
    return readEntries(folder)
  } catch {
    return []
  }
}

const readEntries = (folder: string) => readdirSync(folder, { withFileTypes: true })

function holdsLiveProcess(path: string): boolean {
  try {
    if (statSync(path).size > mostBytes) return false
    const number = Number(/^\s*(\d+)\s*(?:\n|$)/.exec(readFileSync(path, 'latin1'))?.[1])
    return number > 1 && isRunning(number)
  } catch {
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    // Somebody else's process runs.
    return codeOf(thrown) === 'EPERM'
  }
}
