import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Baseline } from './edit-baseline.ts'
import type { EnteredTemporary } from './edit-temporary.ts'
import { namesIn, ignoreErrors } from './on-disk.ts'

/** An entry that is stored while a confined command runs, so that a later process can finish the cleanup. */
export interface OpenCommand {
  readonly processId: number
  /** Start time of that process in ticks since boot: process ids are reused. */
  readonly startedTicks: string
  readonly baseline: Baseline
  readonly temporary: Pick<EnteredTemporary, 'folder' | 'stubs'> | undefined
}

/** An open command of a dead process, and the latest time at which it may have run. */
export interface AbandonedCommand extends OpenCommand {
  readonly startedMs: number
  readonly untilMs: number
}

/** How often the journal records that a command is still running, in milliseconds. */
const noteMs = 5_000

/** Journal of the running confined commands of a list of directories, in a folder. */
export class EditJournal {
  /** The folder for entries of these directories, and for files that were moved aside. */
  readonly folder: string
  #count = 0

  constructor(parent: string, directories: readonly string[]) {
    const name = createHash('sha256').update(JSON.stringify(directories)).digest('hex').slice(0, 16)
    this.folder = join(parent, name)
  }

  /** Stores a command before it starts. Returns a function that removes the entry after cleanup. */
  open(baseline: Baseline, temporary: OpenCommand['temporary']): () => void {
    this.#count += 1
    const file = join(this.folder, `open-${process.pid}-${this.#count}.json`)
    const open: OpenCommand = {
      processId: process.pid,
      startedTicks: startedTicks(process.pid) ?? '',
      baseline,
      temporary,
    }
    this.#write(file, JSON.stringify(open))
    const timer = setInterval(() => ignoreErrors(() => utimesSync(file, new Date(), new Date())), noteMs)
    timer.unref()
    return () => {
      clearInterval(timer)
      ignoreErrors(() => unlinkSync(file))
    }
  }

  /** Removes the folder unless files were moved aside. Not done after each command, as removing a folder takes milliseconds on some systems. */
  dispose(): void {
    for (const folder of [this.folder, dirname(this.folder)]) ignoreErrors(() => rmdirSync(folder))
  }

  /** Writes an entry. Another process may remove the empty folder in between. If nothing can be written, no later process can clean up. */
  #write(file: string, text: string): void {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        writeFileSync(file, text, { mode: 0o600 })
        return
      } catch {
        ignoreErrors(() => mkdirSync(this.folder, { recursive: true, mode: 0o700 }))
      }
    }
  }

  /** A folder for files that are moved aside after one command. Does not create it. */
  folderForMoved(): string {
    return join(this.folder, 'taken-back', new Date().toISOString().replaceAll(':', '-'))
  }

  /** Returns and removes the entries of dead processes. */
  takeAbandoned(): readonly AbandonedCommand[] {
    const names = namesIn(this.folder).filter((name) => name.startsWith('open-'))
    return names.flatMap((name) => {
      const file = join(this.folder, name)
      try {
        // This cast is safe: only this program writes this file, in a personal folder.
        const open = JSON.parse(readFileSync(file, 'utf8')) as OpenCommand
        const { mtimeMs, birthtimeMs } = statSync(file)
        if (startedTicks(open.processId) === open.startedTicks) return []
        unlinkSync(file)
        return [{ ...open, startedMs: birthtimeMs, untilMs: mtimeMs + 2 * noteMs }]
      } catch {
        ignoreErrors(() => unlinkSync(file))
        return []
      }
    })
  }
}

function startedTicks(processId: number): string | undefined {
  try {
    return readFileSync(`/proc/${processId}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[19]
  } catch {
    return undefined
  }
}
