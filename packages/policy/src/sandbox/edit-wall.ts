import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, realpathSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit, notAtExit } from '../at-exit.ts'
import type { EditConfinement } from './confinement.ts'
import type { EditCommand, ProjectCaches } from './edit-command.ts'
import type { EditMeans } from './edit-means.ts'
import { gitFoldersOf, obeyedPlaces } from './edit-places.ts'
import { NamespaceReport } from './namespace-end.ts'
import { readablePlaces } from './readable-places.ts'
import { removeTree } from './remove-tree.ts'
import type { CommandToHold } from './sandbox.ts'
import { seccompFilter } from './seccomp.ts'

/** Options of the confinement to the workspace. */
export interface EditWallOptions {
  /** What confines the commands. */
  readonly means: Extract<EditMeans, { readonly kind: 'bubblewrap' }>
  /** The person's own folder. */
  readonly home: string
  /** What stays as it is wherever it lies: packages of this program, and what the person keeps for agents. */
  readonly keptFolders: readonly string[]
  /** Caches of tools for confined commands; the caches of the person are not there, and nothing is cached, when absent. */
  readonly caches?: ProjectCaches | undefined
}

/**
 * Confines commands to the workspace: they write there but for what is obeyed later, have no network, and see the system,
 * the workspace and the tools of the person.
 *
 * E1: a command that cannot be confined does not run.
 * E2: what a confined command starts is confined too, and gone when it has ended.
 */
export class EditWall {
  readonly #options: EditWallOptions
  #folder: string | undefined
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: EditWallOptions) {
    this.#options = options
  }

  /** @throws SandboxError for a command that cannot be confined. */
  confine(command: CommandToHold, confinement: EditConfinement): EditCommand {
    const { means, home, keptFolders } = this.#options
    const caches = this.#options.caches?.enter()
    const { directories, readable, writesGit } = confinement
    const temporary = this.#temporary()
    const shut = [...keptFolders, ...obeyedPlaces(directories), ...(writesGit ? [] : gitFoldersOf(directories))]
    const filter = seccompFilter(process.arch, { profile: 'project', unixSockets: true })
    const descriptor = filter === undefined ? undefined : this.#openFilter(filter)
    const report = new NamespaceReport(join(this.#folder ?? tmpdir(), randomUUID()))
    const descriptors = [...(descriptor === undefined ? [] : [descriptor]), report.descriptor]
    const env = { ...command.env, TMPDIR: '/tmp', ...withoutNetwork, ...caches?.env }
    const args = [
      '--unshare-all',
      '--unshare-user',
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      ...(means.canDisableUserNamespaces ? ['--disable-userns'] : []),
      '--tmpfs',
      '/',
      ...readablePlaces({ directories: readable, home, env }).flatMap(({ path }) =>
        path.startsWith('/proc') ? [] : ['--ro-bind-try', path, path],
      ),
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--bind',
      temporary,
      '/tmp',
      ...(caches?.mounts ?? []),
      ...directories.flatMap((path) => ['--bind', path, path]),
      ...shut.flatMap((path) => ['--ro-bind-try', path, path]),
      '--remount-ro',
      '/',
      ...(descriptor === undefined ? [] : ['--seccomp', String(command.firstDescriptor)]),
      '--info-fd',
      String(command.firstDescriptor + descriptors.indexOf(report.descriptor)),
      '--chdir',
      command.directory,
      '--',
      command.file,
      ...command.args,
    ]
    const launcher = caches?.launcher
    let hasLeft = false
    const leave = (): void => {
      if (!hasLeft) caches?.leave()
      hasLeft = true
    }
    return {
      file: launcher?.file ?? means.file,
      args: launcher === undefined ? args : [...launcher.args, means.file, ...args],
      env,
      descriptors,
      started: (child) => {
        if (descriptor !== undefined) closeSync(descriptor)
        if (child?.pid !== undefined) return
        report.close()
        leave()
      },
      gone: () => report.gone(),
      settle: () => {
        leave()
        return { takenBack: [] }
      },
    }
  }

  /** Removes what was made for confined commands. */
  dispose(): void {
    notAtExit(this.#removeAtExit)
    this.#remove()
  }

  #openFilter(filter: Uint8Array): number {
    const path = join(this.#folder ?? tmpdir(), randomUUID())
    const descriptor = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    writeSync(descriptor, filter, 0, filter.length, 0)
    return descriptor
  }

  #temporary(): string {
    if (this.#folder === undefined || !existsSync(join(this.#folder, 'tmp'))) {
      this.#folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-edit-')))
      mkdirSync(join(this.#folder, 'tmp'), { mode: 0o700 })
      atExit(this.#removeAtExit)
    }
    return join(this.#folder, 'tmp')
  }

  #remove(): void {
    if (this.#folder !== undefined) removeTree(this.#folder)
    this.#folder = undefined
  }
}

/** Programs that would wait for a network give up at once. */
const withoutNetwork = { npm_config_fetch_retries: '0', PIP_RETRIES: '0', CARGO_NET_RETRY: '0' }
