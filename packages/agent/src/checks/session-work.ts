import { isAbsolute, join, relative } from 'node:path'
import type { FileWork, ToolOutput } from '@halting/core'
import { boundedText, isInside } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { CommandChange, PassingFiles } from './command-changes.ts'
import type * as CommandChanges from './command-changes.ts'
import type * as CommandWork from './command-work.ts'
import { isChecked, stemOf } from './file-places.ts'

/** How a command ended. */
interface EndedCommand {
  readonly command: string
  /** Null for one that came to no exit code. */
  readonly exitCode: number | null
  readonly output: string
  /** What it was seen to change; undefined where nobody looked. */
  readonly seen?: readonly CommandChange[] | undefined
  /** Takes secrets out of what is told. */
  readonly redact?: ((text: string) => string) | undefined
}

/** What a tool tells with its result. */
type Work = Pick<ToolOutput, 'fileWork'>

const mostFiles = 2000
/** Others name these by their folder, or load them without a name. */
const namedByFolder = /^(?:index|__init__|__main__|main|mod|lib|conftest)$/
const mostFilesRead = 200
const mostBytesRead = 256 * 1024

/** What the calls of a session have done to its files, in this process: which files, so that to run one of them is a check. */
export class SessionWork {
  readonly #folder: string
  readonly #real: string
  readonly #files = new Set<string>()
  /** Those that were not there before. */
  readonly #made = new Set<string>()
  #changes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#real = realPath(folder)
  }

  /** A tool has changed files. */
  async changed(files: readonly CommandChange[]): Promise<Work> {
    const { countedLines } = await loaded()
    const passing = await this.#passing(files)
    const changedLines = countedLines(this.#entered(files), passing)
    return changedLines === 0 ? {} : { fileWork: { changedLines } }
  }

  /** A command has ended. */
  async ended({ command, exitCode, output, seen, redact }: EndedCommand): Promise<Work> {
    const { asMadeForTrying, commandChanges, commandWork } = await loaded()
    const files = seen ?? commandChanges(command).map(asMadeForTrying)
    const passing = await this.#passing(files)
    const changes = this.#entered(files)
    const isElsewhere = (folder: string): boolean => this.#isElsewhere(folder)
    return redacted(commandWork(command, { exitCode, output, ...passing, seen: changes, isElsewhere }), redact)
  }

  /**
   * A command of the background begins: what its text tells that it changes, and what tells of its end. A check says nothing of changes that came since.
   */
  async beside(
    command: string,
  ): Promise<{ readonly begun: Work; readonly atEnd: (ended: Omit<EndedCommand, 'command' | 'seen'>) => Work }> {
    const { commandChanges, commandWork } = await loaded()
    const begun = await this.changed(commandChanges(command))
    const changesBefore = this.#changes
    const isElsewhere = (folder: string): boolean => this.#isElsewhere(folder)
    const atEnd = ({ exitCode, output, redact }: Omit<EndedCommand, 'command' | 'seen'>): Work => {
      const changedFiles = [...this.#files]
      const { check } = commandWork(command, { exitCode, output, changedFiles, seen: [], isElsewhere }) ?? {}
      if (check === undefined) return {}
      return redacted({ check: { ...check, passed: check.passed && this.#changes === changesBefore } }, redact)
    }
    return { begun, atEnd }
  }

  /** What of the files of the run may be deleted without a change: what it made itself, unless another file that it changed names it, as one that imports it does. */
  async #passing(files: readonly CommandChange[]): Promise<Required<PassingFiles>> {
    const changedFiles = [...this.#files]
    const deleted = files.flatMap(({ path, isDeleted }) => (isDeleted === true ? [this.#shown(path)] : []))
    const candidates = deleted.filter((path) => this.#made.has(path))
    if (candidates.length === 0) return { changedFiles, madeFiles: [] }
    const left = changedFiles.filter((path) => !deleted.includes(path)).slice(0, mostFilesRead)
    const texts = await Promise.all(left.map((path) => textOf(isAbsolute(path) ? path : join(this.#folder, path))))
    const words = new Set(texts.flatMap((text) => text.match(/[\w-]+/g) ?? []))
    return {
      changedFiles,
      madeFiles: candidates.filter((path) => !namedByFolder.test(stemOf(path)) && !words.has(stemOf(path))),
    }
  }

  /** Whether a folder is neither in that of the session, around it, nor one with files that were changed. */
  #isElsewhere(folder: string): boolean {
    const real = realPath(folder)
    const isNear = [this.#folder, this.#real].some((own) => isInside(real, own) || isInside(own, real))
    return !isNear && ![...this.#files].some((path) => isAbsolute(path) && isInside(path, folder))
  }

  /** The changes by the paths that they have in the session. */
  #entered(files: readonly CommandChange[]): readonly CommandChange[] {
    const changes = files.map((file) => ({ ...file, path: this.#shown(file.path) }))
    for (const { path, isNew } of changes) {
      if (this.#files.size >= mostFiles) break
      // One made anew where a file of the project was is none that the run made.
      if (isNew === true && !this.#files.has(path)) this.#made.add(path)
      this.#files.add(path)
    }
    if (changes.some(({ path, lines }) => lines > 0 && isChecked(path))) this.#changes += 1
    return changes
  }

  /** Below the folder of the session a path is relative to it: where that lies is no matter, as in a folder for temporary files. */
  #shown(path: string): string {
    if (!isAbsolute(path)) return path
    const folder = [this.#folder, this.#real].find((one) => isInside(path, one))
    return folder === undefined ? path : relative(folder, path)
  }
}

async function textOf(path: string): Promise<string> {
  const read = await boundedText(path, mostBytesRead)
  return read.kind === 'text' ? read.text : ''
}

/** Loaded when used. */
async function loaded(): Promise<typeof CommandWork & typeof CommandChanges> {
  const [work, changes] = await Promise.all([import('./command-work.ts'), import('./command-changes.ts')])
  return { ...work, ...changes }
}

function redacted(work: FileWork | undefined, redact: EndedCommand['redact']): Work {
  if (work === undefined) return {}
  const { check } = work
  if (check === undefined || redact === undefined) return { fileWork: work }
  return { fileWork: { ...work, check: { ...check, command: redact(check.command) } } }
}
