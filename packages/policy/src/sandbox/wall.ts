import type { ChildProcess } from 'node:child_process'
import { closeSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { onProcessExit, offProcessExit } from '../process-exit.ts'
import { isInside } from '../files/paths.ts'
import type { ReadConfinement } from './confinement.ts'
import type { Place } from './description.ts'
import { landlockCommand } from './landlock.ts'
import { harmlessDevices, listedFolders, readablePlaces, rootEntries } from './readable-places.ts'
import { removeTree } from './remove-tree.ts'
import type { SandboxCommand, SandboxedCommand } from './sandbox.ts'
import { SandboxError } from './sandbox-error.ts'
import { seccompFilter } from './seccomp.ts'
import { openFilter } from './unnamed-file.ts'
import { forgetMeans, namespaceArguments, procArguments, type WallMeans } from './wall-means.ts'

export type { Confinement, EditConfinement, ReadConfinement, TrialConfinement } from './confinement.ts'
export type { CommandAftermath, EditCommand, EnteredCaches, ProjectCaches, MovedAside } from './edit-command.ts'
export { EditWall, type EditWallOptions } from './edit-wall.ts'
export { ToolCaches, type ToolCachesOptions } from './edit-caches.ts'
export { type TrialCommand, TrialWall, type TrialWallOptions } from './trial-wall.ts'

/** Options of the confinement by Landlock or bubblewrap. */
export interface WallOptions {
  /** What confines the commands. */
  readonly means: Extract<
    WallMeans,
    {
      readonly kind: 'landlock' | 'bubblewrap'
    }
  >
  /** The person's own folder. */
  readonly home: string
  /** The file that stores `means`; removed if `means` turns out to be wrong. */
  readonly memory?: string | undefined
}

/**
 * Confines commands to reading: they write only a temporary folder, and have no network, no sockets and no signals to other processes. Readable
 * places are listed one by one.
 *
 * W1: a command that cannot be confined does not run.
 * W2: the processes of a confined command are confined too, and cannot undo it.
 */
export class Wall {
  readonly #options: WallOptions
  /** Belongs to this session; created for the first command. */
  #folder: string | undefined
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: WallOptions) {
    this.#options = options
  }

  /** @throws SandboxError for a command that cannot be confined. */
  confine(
    command: SandboxCommand,
    directories: readonly string[],
    { kind, readable }: ReadConfinement,
  ): SandboxedCommand {
    const { means, home } = this.#options
    const temporary = this.#temporary([...directories, ...readable])
    const env = { ...command.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary }
    const places = readablePlaces({ directories: [...directories, ...readable], home, env })
    return means.kind === 'landlock'
      ? this.#byLandlock({ ...command, env }, places, temporary, means)
      : this.#byBubblewrap({ ...command, env }, places, temporary, { means, kind })
  }

  /** Call this when a confined command ended with `notConfinedCode`: the stored result for this machine may be wrong. */
  forget(): void {
    forgetMeans(this.#options.memory)
  }

  /** Removes what was created for confined commands. */
  dispose(): void {
    offProcessExit(this.#removeAtExit)
    this.#remove()
  }

  #byLandlock(
    command: SandboxCommand,
    readable: readonly Place[],
    temporary: string,
    means: Extract<WallMeans, { readonly kind: 'landlock' }>,
  ): SandboxedCommand {
    const places = { readable, listed: listedFolders, writable: [temporary], devices: harmlessDevices }
    const started = landlockCommand(command, places, means)
    if (started === undefined) throw new SandboxError(`Commands cannot be confined on ${process.arch}.`)
    return { ...started, descriptors: [], started: () => undefined }
  }

  #byBubblewrap(
    command: SandboxCommand,
    readable: readonly Place[],
    temporary: string,
    {
      means,
      kind,
    }: { readonly means: Extract<WallMeans, { readonly kind: 'bubblewrap' }>; readonly kind: ReadConfinement['kind'] },
  ): SandboxedCommand {
    const filter = seccompFilter(process.arch, { profile: 'read', scopesSignals: kind === 'read' && means.hasOwnProc })
    const descriptor = filter === undefined ? undefined : openFilter(filter, dirname(temporary))
    const args = [
      ...namespaceArguments(means, kind),
      '--tmpfs',
      '/',
      ...mountsOf(readable),
      '--dev',
      '/dev',
      ...procArguments({ hasOwnProc: kind === 'read' && means.hasOwnProc }),
      '--bind',
      temporary,
      temporary,
      '--remount-ro',
      '/',
      ...(descriptor === undefined ? [] : ['--seccomp', String(command.firstDescriptor)]),
      '--chdir',
      command.directory,
      '--',
      command.file,
      ...command.args,
    ]
    return {
      file: means.file,
      args,
      env: command.env,
      descriptors: descriptor === undefined ? [] : [descriptor],
      started: (_child?: ChildProcess) => {
        if (descriptor !== undefined) closeSync(descriptor)
      },
    }
  }

  #temporary(directories: readonly string[]): string {
    // Programs that clean up remove files that were not used for days.
    if (this.#folder === undefined || !existsSync(join(this.#folder, 'tmp'))) {
      this.#folder = makeTemporary(directories)
      mkdirSync(join(this.#folder, 'tmp'), { mode: 0o700 })
      onProcessExit(this.#removeAtExit)
    }
    return join(this.#folder, 'tmp')
  }

  #remove(): void {
    if (this.#folder !== undefined) removeTree(this.#folder)
    this.#folder = undefined
  }
}

/** Not in a folder of the session, where it would be visible. @throws SandboxError if none can be created. */
function makeTemporary(directories: readonly string[]): string {
  const own = tmpdir()
  const isFit = isAbsolute(own) && !directories.some((folder) => folder !== '/' && isInside(own, folder))
  for (const place of isFit ? [own, '/tmp'] : ['/tmp']) {
    try {
      return realpathSync(mkdtempSync(join(place, 'halting-read-')))
    } catch {
      // Continue with the next folder.
    }
  }
  throw new SandboxError(
    `No temporary folder can be created in ${own} or /tmp, so the command did not run. Set TMPDIR to a folder.`,
  )
}

/** Mounts from the outside in. Links in the root remain links, so that paths resolve as they do outside. */
function mountsOf(readable: readonly Place[]): readonly string[] {
  const links = rootEntries().filter((path) => lstatSync(path).isSymbolicLink())
  const places = readable
    .map(({ path }) => path)
    .filter((path) => !links.some((link) => isInside(path, link)) && !isInside(path, '/proc'))
    .toSorted((left, right) => left.split('/').length - right.split('/').length)
  return [
    ...links.flatMap((path) => ['--symlink', readlinkSync(path), path]),
    ...places.flatMap((path) => ['--ro-bind-try', path, path]),
  ]
}
