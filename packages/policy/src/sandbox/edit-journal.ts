import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Baseline } from './edit-baseline.ts'
import type { EnteredTemporary } from './edit-temporary.ts'
import { namesIn, ignoreErrors } from './on-disk.ts'

/** What is stored while a confined command runs, so that a later process can do what is left to do after it. */
export interface OpenCommand {
  readonly processId: number
  /** When that process started, in ticks since the machine did: numbers of processes are used again. */
  readonly startedTicks: string
  readonly baseline: Baseline
  readonly temporary: Pick<EnteredTemporary, 'folder' | 'stubs'> | undefined
}

/** An open command of a process that is gone, and until when it ran at the latest. */
export interface AbandonedCommand extends OpenCommand {
  readonly startedMs: number
  readonly untilMs: number
}

/** How often it is noted that a command still runs. */
const noteMs = 5_000

/** The open commands of the confinement of some directories, in a folder. */
export class EditJournal {
  /** Where the commands of these directories are stored, and what was taken back. */
  readonly folder: string
  #count = 0

  constructor(parent: string, directories: readonly string[]) {
    const name = createHash('sha256').update(JSON.stringify(directories)).digest('hex').slice(0, 16)
    this.folder = join(parent, name)
  }

  /** Stores a command before it starts. Gives what removes it again when all is done. */
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

  /** Where nothing was taken back, nothing is left. Not after each command: to remove a folder takes milliseconds on some systems. */
  dispose(): void {
    for (const folder of [this.folder, dirname(this.folder)]) ignoreErrors(() => rmdirSync(folder))
  }

  /** Another process may remove the empty folder in between. Where nothing can be written, no later process knows of the command. */
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

  /** Gives the folder for what is taken back after one command. It is not made by this. */
  folderForMoved(): string {
    return join(this.folder, 'taken-back', new Date().toISOString().replaceAll(':', '-'))
  }

  /** Commands of processes that are gone. They are forgotten by this. */
  takeAbandoned(): readonly AbandonedCommand[] {
    const names = namesIn(this.folder).filter((name) => name.startsWith('open-'))
    return names.flatMap((name) => {
      const file = join(this.folder, name)
      try {
        // Written by this program alone, in a folder of the person.
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
