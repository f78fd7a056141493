import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit, notAtExit } from '../at-exit.ts'
import { isInside } from '../files/paths.ts'
import type { TrialConfinement } from './confinement.ts'
import type { EditMeans } from './edit-means.ts'
import { EditWall } from './edit-wall.ts'
import { overlayCommand } from './overlay-launcher.ts'
import { removeTree } from './remove-tree.ts'
import type { CommandToHold, SandboxedCommand } from './sandbox.ts'
import { SandboxError } from './sandbox-error.ts'
import { trialMounts, type TrialMounts } from './trial-mounts.ts'
import { readTrialReport, reportingScript } from './trial-report.ts'
import { writesOfTrial } from './trial-writes.ts'

/** Options of the confinement of commands that are tried. */
export interface TrialWallOptions {
  /** What confines the commands. */
  readonly means: Extract<EditMeans, { readonly kind: 'bubblewrap' }>
  /** Path of perl, which mounts overlays. */
  readonly perl: string
  /** The person's own folder. */
  readonly home: string
}

/** A command that is tried. */
export interface TrialCommand extends SandboxedCommand {
  /**
   * To be called when the command, and all that it started, has ended: throws away what it wrote, and says why it has to run
   * again with its effects, as the end of a sentence; undefined when its output and exit code are all that would be left of it.
   */
  settle(): string | undefined
}

/**
 * Confines commands that are tried before a person is asked: to the workspace, with everything that they write thrown away.
 *
 * T1: a command that cannot be confined does not run.
 * T2: what is not seen to have had no effects has had some.
 */
export class TrialWall {
  readonly #options: TrialWallOptions
  readonly #wall: EditWall
  readonly #folders = new Set<string>()
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: TrialWallOptions) {
    this.#options = options
    this.#wall = new EditWall({ means: options.means, home: options.home, keptFolders: [] })
    atExit(this.#removeAtExit)
    removeAbandoned()
  }

  /** @throws SandboxError for a command that cannot be confined. */
  confine(command: CommandToHold, { directories, readable, denied }: TrialConfinement): TrialCommand {
    const folder = this.#makeFolder(directories)
    try {
      const report = join(folder, 'report')
      const descriptor = openSync(report, 'wx', 0o600)
      const held = this.#wall.confine(
        {
          ...command,
          file: 'bash',
          // Not what the person has bash read at its start: that is for the command itself.
          args: ['-pc', reportingScript(command.firstDescriptor), 'bash', command.file, ...command.args],
          firstDescriptor: command.firstDescriptor + 1,
          env: { ...command.env, GIT_OPTIONAL_LOCKS: '0' },
        },
        { kind: 'edit', directories, readable, denied, writesGit: false },
      )
      const end = held.args.indexOf('--')
      const mounts = trialMounts(held.args.slice(0, end), directories, folder)
      const inner = { file: held.file, args: [...mounts.args, ...held.args.slice(end)], directory: command.directory }
      const launched = overlayCommand({ ...inner, env: held.env }, mounts.overlays, { perl: this.#options.perl })
      if (launched === undefined) throw new SandboxError(`Commands cannot be tried on ${process.arch}.`)
      return {
        ...launched,
        descriptors: [descriptor, ...held.descriptors],
        started: (child) => {
          closeSync(descriptor)
          held.started(child)
          if (child?.pid === undefined) this.#throwAway(folder)
        },
        settle: () => {
          held.settle()
          try {
            return this.#effects(mounts, readFileSync(report, 'utf8'))
          } finally {
            this.#throwAway(folder)
          }
        },
      }
    } catch (thrown) {
      this.#throwAway(folder)
      throw thrown
    }
  }

  /** Removes what was made for commands. */
  dispose(): void {
    notAtExit(this.#removeAtExit)
    this.#wall.dispose()
    this.#remove()
  }

  #effects(mounts: TrialMounts, reported: string): string | undefined {
    const report = readTrialReport(reported)
    if (report === undefined) return 'it ended its own shell'
    if (report.usedNetwork) return 'it needs the network'
    if (report.leftProcesses) return 'it left processes running'
    const { changed, replaced } = writesOfTrial(mounts)
    const path = changed ?? this.#opaque(replaced)
    return path === undefined ? undefined : `it writes ${path}`
  }

  /** Which folder was removed and made anew. Node cannot read attributes of files. */
  #opaque(replaced: readonly { readonly folder: string; readonly at: string }[]): string | undefined {
    const [first] = replaced
    if (first === undefined) return undefined
    const number = getxattr[process.arch]
    if (number === undefined) return first.at
    const args = ['-e', opaqueFolders, String(number), ...replaced.map(({ folder }) => folder)]
    const { status, stdout } = spawnSync(this.#options.perl, args, { encoding: 'utf8', env: { PERL_BADLANG: '0' } })
    if (status !== 0) return first.at
    return stdout === '' ? undefined : replaced[Number(stdout)]?.at ?? first.at
  }

  /** Not in a directory of the session, where it would lie below the overlay that is mounted from it. */
  #makeFolder(directories: readonly string[]): string {
    const isFit = !directories.some((directory) => isInside(tmpdir(), directory))
    const folder = realpathSync(mkdtempSync(join(isFit ? tmpdir() : '/tmp', ownName())))
    this.#folders.add(folder)
    return folder
  }

  #throwAway(folder: string): void {
    removeTree(folder)
    this.#folders.delete(folder)
  }

  #remove(): void {
    for (const folder of this.#folders) this.#throwAway(folder)
  }
}

const getxattr: Readonly<Record<string, number>> = { x64: 191, arm64: 8 }

/** Prints the place among its arguments of the first folder that shows nothing of the one below it. */
const opaqueFolders = String.raw`
$number = shift(@ARGV) + 0;
for (0 .. $#ARGV) {
  ($path, $name, $value) = ("$ARGV[$_]\0", "user.overlay.opaque\0", ' ' x 8);
  if (syscall($number, $path, $name, $value, 8) > 0) { print $_; last }
}
`

const prefix = 'halting-trial-'

/** Processes are numbered by namespace, and containers may share a folder for temporary files. */
function ownName(): string {
  const [namespace = '0'] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? []
  return `${prefix}${namespace}-${process.pid}-`
}

/** Removes what a process that was killed has left. */
function removeAbandoned(): void {
  const ours = `${ownName().split('-').slice(0, -2).join('-')}-`
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = name.startsWith(ours) ? (/^(\d+)-/.exec(name.slice(ours.length)) ?? []) : []
    if (pid !== undefined && !isAlive(Number(pid))) removeTree(join(tmpdir(), name))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    // Somebody else's process lives.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}
