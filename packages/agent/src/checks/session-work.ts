import { isAbsolute, join, relative } from 'node:path'
import type { FileWork, ToolOutput } from '@halting/core'
import { boundedText, isInside } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { CommandChange, DisposableFiles } from './command-changes.ts'
import type * as CommandChanges from './command-changes.ts'
import type * as CommandWork from './command-work.ts'
import { isChecked, stemOf } from './file-places.ts'

/** How a command ended. */
interface EndedCommand {
  readonly command: string
  /** Null if the command has no exit code. */
  readonly exitCode: number | null
  readonly output: string
  /** The detected changes; undefined if nothing was inspected. */
  readonly seen?: readonly CommandChange[] | undefined
  /** Removes secrets from what is reported. */
  readonly redact?: ((text: string) => string) | undefined
}

/** What a tool reports with its result. */
type Work = Pick<ToolOutput, 'fileWork'>

const maxFiles = 2000
/** Files that other files reference by their folder name or load implicitly. */
const namedByFolder = /^(?:index|__init__|__main__|main|mod|lib|conftest)$/
const maxFilesRead = 200
const maxBytesRead = 256 * 1024

/**
 * Tracks how the tool calls of a session in this process changed its files: executing a changed file counts as a
 * check.
 */
export class SessionWork {
  readonly #folder: string
  readonly #real: string
  readonly #files = new Set<string>()
  /** Files that the run created. */
  readonly #made = new Set<string>()
  #changes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#real = realPath(folder)
  }

  /** Records files that a tool has changed. */
  async changed(files: readonly CommandChange[]): Promise<Work> {
    const { countedLines } = await loaded()
    const passing = await this.#disposable(files)
    const changedLines = countedLines(this.#entered(files), passing)
    return changedLines === 0 ? {} : { fileWork: { changedLines } }
  }

  /** Records the end of a command. */
  async ended({ command, exitCode, output, seen, redact }: EndedCommand): Promise<Work> {
    const { asTemporary: asMadeForTrying, commandChanges, commandWork } = await loaded()
    const files = seen ?? commandChanges(command).map(asMadeForTrying)
    const passing = await this.#disposable(files)
    const changes = this.#entered(files)
    const isElsewhere = (folder: string): boolean => this.#isElsewhere(folder)
    return redacted(commandWork(command, { exitCode, output, ...passing, seen: changes, isElsewhere }), redact)
  }

  /**
   * Records the start of a background command. Returns the changes in its text, and a function that reports its end. A
   * check proves nothing about changes made after the check began.
   */
  async backgroundStarted(
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

  /**
   * Returns the files whose deletion is not a change: those that the run created, unless another changed file refers
   * to them.
   */
  async #disposable(files: readonly CommandChange[]): Promise<Required<DisposableFiles>> {
    const changedFiles = [...this.#files]
    const deleted = files.flatMap(({ path, isDeleted }) => (isDeleted === true ? [this.#displayPath(path)] : []))
    const candidates = deleted.filter((path) => this.#made.has(path))
    if (candidates.length === 0) return { changedFiles, madeFiles: [] }
    const left = changedFiles.filter((path) => !deleted.includes(path)).slice(0, maxFilesRead)
    const texts = await Promise.all(left.map((path) => textOf(isAbsolute(path) ? path : join(this.#folder, path))))
    const words = new Set(texts.flatMap((text) => text.match(/[\w-]+/g) ?? []))
    return {
      changedFiles,
      madeFiles: candidates.filter((path) => !namedByFolder.test(stemOf(path)) && !words.has(stemOf(path))),
    }
  }

  /** Whether a folder is outside the session's folder, is not a parent of it, and has no changed files. */
  #isElsewhere(folder: string): boolean {
    const real = realPath(folder)
    const isNear = [this.#folder, this.#real].some((own) => isInside(real, own) || isInside(own, real))
    return !isNear && ![...this.#files].some((path) => isAbsolute(path) && isInside(path, folder))
  }

  /** The changes with session-relative paths. */
  #entered(files: readonly CommandChange[]): readonly CommandChange[] {
    const changes = files.map((file) => ({ ...file, path: this.#displayPath(file.path) }))
    for (const { path, isNew } of changes) {
      if (this.#files.size >= maxFiles) break
      // A project file that is deleted and created again does not count as created by the run.
      if (isNew === true && !this.#files.has(path)) this.#made.add(path)
      this.#files.add(path)
    }
    if (changes.some(({ path, lines }) => lines > 0 && isChecked(path))) this.#changes += 1
    return changes
  }

  /** Paths below the session's folder are relative to it, so that the location of the folder does not matter. */
  #displayPath(path: string): string {
    if (!isAbsolute(path)) return path
    const folder = [this.#folder, this.#real].find((one) => isInside(path, one))
    return folder === undefined ? path : relative(folder, path)
  }
}

async function textOf(path: string): Promise<string> {
  const read = await boundedText(path, maxBytesRead)
  return read.kind === 'text' ? read.text : ''
}

/** Loaded on demand. */
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
