import { isAbsolute, relative } from 'node:path'
import type { FileWork, ToolOutput } from '@halting/core'
import { isInside } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { CommandChange } from './command-changes.ts'
import type * as CommandChanges from './command-changes.ts'
import type * as CommandWork from './command-work.ts'
import { isChecked } from './file-places.ts'

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

/** What the calls of a session have done to its files, in this process: which files, so that to run one of them is a check. */
export class SessionWork {
  readonly #folder: string
  readonly #real: string
  readonly #files = new Set<string>()
  #changes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#real = realPath(folder)
  }

  /** A tool has changed files. */
  async changed(files: readonly CommandChange[]): Promise<Work> {
    const { countedLines } = await loaded()
    const written = [...this.#files]
    const changedLines = countedLines(this.#entered(files), written)
    return changedLines === 0 ? {} : { fileWork: { changedLines } }
  }

  /** A command has ended. */
  async ended({ command, exitCode, output, seen, redact }: EndedCommand): Promise<Work> {
    const { commandChanges, commandWork } = await loaded()
    const changedFiles = [...this.#files]
    const changes = this.#entered(seen ?? commandChanges(command))
    return redacted(commandWork(command, { exitCode, output, changedFiles, seen: changes }), redact)
  }

  /** What tells of the end of a command of the background that begins now. A check says nothing of changes that came since. */
  async beside(command: string): Promise<(ended: Omit<EndedCommand, 'command' | 'seen'>) => Work> {
    const { commandWork } = await loaded()
    const changesBefore = this.#changes
    return ({ exitCode, output, redact }) => {
      const { check } = commandWork(command, { exitCode, output, changedFiles: [...this.#files], seen: [] }) ?? {}
      if (check === undefined) return {}
      return redacted({ check: { ...check, passed: check.passed && this.#changes === changesBefore } }, redact)
    }
  }

  /** The changes by the paths that they have in the session. */
  #entered(files: readonly CommandChange[]): readonly CommandChange[] {
    const changes = files.map((file) => ({ ...file, path: this.#shown(file.path) }))
    for (const { path } of changes) if (this.#files.size < mostFiles) this.#files.add(path)
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
