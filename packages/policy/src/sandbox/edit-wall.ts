import type { ChildProcess } from 'node:child_process'
import { closeSync, lstatSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onProcessExit, offProcessExit } from '../process-exit.ts'
import { bothEnds, isInside, outermost, realPath } from '../files/paths.ts'
import { findRepository, isOwnRepository } from '../git/repository.ts'
import type { EditConfinement } from './confinement.ts'
import type { CommandAftermath, EditCommand, ProjectCaches, MovedAside } from './edit-command.ts'
import { editEnvironment, withoutGitMaintenance } from './edit-environment.ts'
import { EditJournal, type AbandonedCommand } from './edit-journal.ts'
import { type Baseline, baselineOf, moveIntrudersAside } from './edit-baseline.ts'
import { type EditMeans, tooBroadReason } from './edit-means.ts'
import { editArguments } from './edit-mounts.ts'
import { protectTree, type ProtectedTree } from './edit-places.ts'
import { EditTemporary, type EnteredTemporary, realTmp } from './edit-temporary.ts'
import { CopiedSettings, visiblePlaces } from './edit-visible.ts'
import { FolderScanner, type FolderScan, identityOf } from './folder-scan.ts'
import { directoriesLeadingOutside } from './outside-links.ts'
import { liveSockets } from './live-sockets.ts'
import { waitForNamespaceEndSync, waitForNamespaceEnd } from './namespace-end.ts'
import { textAt } from './on-disk.ts'
import { inPinnedFolder } from './pinned-folder.ts'
import { once } from './once.ts'
import { Placeholders } from './placeholders.ts'
import { removeTree } from './remove-tree.ts'
import type { SandboxCommand } from './sandbox.ts'
import { SandboxError } from './sandbox-error.ts'
import { seccompFilter } from './seccomp.ts'
import { openFilter, openUnnamed } from './unnamed-file.ts'

/** Options of the confinement to the workspace. */
export interface EditWallOptions {
  /** What confines the commands. */
  readonly means: Extract<EditMeans, { readonly kind: 'bubblewrap' }>
  /** The person's own folder. */
  readonly home: string
  /** Folders that remain unchanged wherever they are: packages of this program, and what the person keeps for agents. */
  readonly keptFolders: readonly string[]
  /** Caches of tools for confined commands. Without it, commands see no caches of the person and nothing is cached. */
  readonly caches?: ProjectCaches | undefined
  /**
   * The folder for files that were moved aside, and for the journal of running commands. Without it a temporary folder is used, and commands of a
   * killed process are not cleaned up.
   */
  readonly stateFolder?: string | undefined
}

/**
 * Confines commands to the workspace. They can write there except for control files, have no network, and see the system, the workspace and the
 * tools of the person.
 *
 * E1: a command that cannot be confined does not run.
 * E2: the processes of a confined command are confined too, and end with it.
 * E3: control files that a command created are moved aside when it has ended, and nothing is lost.
 * E4: files that existed before are never moved.
 */
export class EditWall {
  readonly #options: EditWallOptions
  readonly #scanner = new FolderScanner()
  readonly #placeholders = new Placeholders()
  readonly #withoutCommon = new Set<string>()
  /** Sockets that confined commands left behind: no process listens on them. */
  readonly #ownSockets = new Map<string, string | undefined>()
  readonly #journals = new Map<string, EditJournal>()
  #temporary: EditTemporary | undefined
  #settings: CopiedSettings | undefined
  #running = 0
  /** Files moved aside after commands of a killed process, and not yet reported. */
  #unreported: readonly MovedAside[] = []
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: EditWallOptions) {
    this.#options = options
  }

  /** @throws SandboxError for a command that cannot be confined. */
  confine(command: SandboxCommand, requested: EditConfinement): EditCommand {
    refuseOutsideLinks(requested.directories)
    const roots = outermost(requested.directories.map(realPath))
    refuseTooBroad(roots, this.#options.home)
    const confinement = { ...requested, readable: [...requested.readable, ...roots.flatMap(repositoryAround)] }
    const journal = this.#journalOf(roots)
    const scan = this.#scanner.scan(roots)
    const sockets = [...scan.sockets, ...liveSockets()].filter((path) => !this.#isOwnSocket(path))
    const { keptFolders } = this.#options
    const protectedTree = protectTree({ roots, confinement, keptFolders, scan, sockets, directory: command.directory })
    this.#placeholders.create(protectedTree.placeholders.folders, protectedTree.placeholders.files)
    this.#running += 1
    for (const folder of protectedTree.withoutCommon) this.#withoutCommon.add(realPath(folder))
    const undo: (() => void)[] = [() => this.#release()]
    try {
      const baseline = baselineOf(roots, scan, [
        ...protectedTree.missing,
        ...roots.map((root) => join(root, 'commondir')),
      ])
      return this.#started(command, { confinement, roots, protectedTree, baseline, scan, journal, undo })
    } catch (thrown) {
      for (const step of undo.toReversed()) step()
      throw thrown
    }
  }

  /** Removes what was created for confined commands. */
  dispose(): void {
    offProcessExit(this.#removeAtExit)
    this.#remove()
  }

  #started(
    command: SandboxCommand,
    { confinement, roots, protectedTree, baseline, scan, journal, undo }: StartRequest,
  ): EditCommand {
    const { means, home, caches } = this.#options
    const env = editEnvironment(command.env)
    const base = confinement.writesGit ? { ...env, ...withoutGitMaintenance(env) } : env
    const entered = caches?.enter(base)
    const visible = visiblePlaces(home, base, confinement.directories)
    const ownPlaces = [home, ...confinement.directories, ...roots, ...confinement.readable].flatMap(bothEnds)
    const temporary = this.#enterTemporary(command, [...ownPlaces, ...visible.tools, ...visible.system])
    undo.push(() => this.#temporary?.leave(temporary))
    const close = journal.open(baseline, { folder: temporary.folder, stubs: temporary.stubs })
    undo.push(close)
    const [filter, info] = this.#openDescriptors()
    const args = editArguments({
      means,
      command,
      home,
      visible,
      copied: this.#copied(visible.copied, visible.system),
      temporary,
      caches: entered?.mounts ?? [],
      readable: confinement.readable,
      directories: confinement.directories,
      protectedTree,
      filterDescriptor: filter === undefined ? undefined : command.firstDescriptor + 1,
    })
    const launcher = entered?.launcher
    const finish = once((): CommandAftermath => {
      const takenBack = this.#settle({ info, temporary, baseline, scan, journal })
      close()
      return { takenBack }
    })
    return {
      file: launcher?.file ?? means.file,
      args: launcher === undefined ? args : [...launcher.args, means.file, ...args],
      env: { ...base, ...entered?.env },
      descriptors: [info, ...(filter === undefined ? [] : [filter])],
      started: (child?: ChildProcess) => {
        if (filter !== undefined) closeSync(filter)
        if (child?.pid === undefined) finish()
      },
      gone: () => waitForNamespaceEnd(info),
      settle: () => finish() ?? { takenBack: [] },
    }
  }

  #settle({ info, temporary, baseline, scan, journal }: SettleRequest): readonly MovedAside[] {
    waitForNamespaceEndSync(info)
    closeSync(info)
    this.#release()
    const folder = journal.folderForMoved()
    const { takenBack, scan: found } = moveIntrudersAside(baseline, this.#scanner, { first: scan.folders, folder })
    const before = new Set(scan.sockets)
    for (const path of found.sockets) if (!before.has(path)) this.#ownSockets.set(path, identityOf(path)?.node)
    this.#temporary?.leave(temporary)
    const all = [...this.#unreported, ...takenBack]
    this.#unreported = []
    return all
  }

  /** The journal of a list of directories. Cleans up after killed processes first. */
  #journalOf(roots: readonly string[]): EditJournal {
    const key = JSON.stringify(roots)
    const known = this.#journals.get(key)
    if (known !== undefined) return known
    const parent = this.#options.stateFolder ?? join(this.#temporaryOf().folder, 'state')
    const journal = new EditJournal(parent, roots)
    this.#journals.set(key, journal)
    for (const left of journal.takeAbandoned())
      this.#unreported = [...this.#unreported, ...this.#settleAbandoned(left, journal)]
    return journal
  }

  #settleAbandoned(
    { baseline, temporary, startedMs, untilMs }: AbandonedCommand,
    journal: EditJournal,
  ): readonly MovedAside[] {
    const folder = journal.folderForMoved()
    const mayMove = ({ path, bytes }: { readonly path: string; readonly bytes?: Buffer }): boolean => {
      const { ctimeMs = Infinity, birthtimeMs = 0 } = lstatSync(bytes ?? path, { throwIfNoEntry: false }) ?? {}
      return ctimeMs <= untilMs || (birthtimeMs >= startedMs && birthtimeMs <= untilMs)
    }
    const { takenBack } = moveIntrudersAside(baseline, this.#scanner, { first: [], folder, mayMove })
    // Removes `commondir` after a command that wrote to a repository.
    for (const root of baseline.directories) {
      const common = join(root, '.git/commondir')
      if (textAt(common) === '.\n') rmSync(common, { force: true })
    }
    if (temporary !== undefined && isInside(temporary.folder, realTmp)) {
      this.#temporaryOf().leave(temporary)
      removeTree(join(temporary.folder, '..'))
    }
    return takenBack
  }

  /** `mounted`: paths of other mounts, inside and outside of `/tmp`. */
  #enterTemporary(command: SandboxCommand, mounted: readonly string[]): EnteredTemporary {
    const inside = mounted.filter((path) => path !== realTmp && isInside(path, realTmp))
    const needed = new Set(inside.map((path) => path.split('/')[2] ?? ''))
    return this.#temporaryOf().enter(command.args.join(' '), needed)
  }

  #temporaryOf(): EditTemporary {
    if (this.#temporary === undefined || identityOf(this.#temporary.folder) === undefined) {
      this.#temporary = new EditTemporary()
      this.#settings = new CopiedSettings(join(this.#temporary.folder, 'etc'))
      onProcessExit(this.#removeAtExit)
    }
    return this.#temporary
  }

  #copied(paths: readonly string[], mounted: readonly string[]): string {
    this.#settings ??= new CopiedSettings(join(this.#temporaryOf().folder, 'etc'))
    return this.#settings.folderFor(
      paths,
      mounted.filter((path) => isInside(path, '/etc')),
    )
  }

  #isOwnSocket(path: string): boolean {
    const node = this.#ownSockets.get(path)
    return node !== undefined && identityOf(path)?.node === node
  }

  /** The system call filter, which each bubblewrap reads to its end, and the file in which it reports the process that it started. */
  #openDescriptors(): readonly [filter: number | undefined, info: number] {
    const folder = this.#temporary?.folder ?? tmpdir()
    const filter = seccompFilter(process.arch, { profile: 'project', unixSockets: true })
    return [filter === undefined ? undefined : openFilter(filter, folder), openUnnamed(folder)]
  }

  /** Call it when a command has ended, or did not start. */
  #release(): void {
    this.#running -= 1
    for (const folder of this.#withoutCommon)
      inPinnedFolder(join(folder, 'commondir'), [folder], (pinned) =>
        rmSync(join(pinned, 'commondir'), { recursive: true, force: true }),
      )
    if (this.#running > 0) return
    this.#withoutCommon.clear()
    this.#placeholders.remove()
  }

  #remove(): void {
    this.#placeholders.remove()
    for (const journal of this.#journals.values()) journal.dispose()
    this.#temporary?.dispose()
    this.#temporary = undefined
    this.#settings = undefined
    this.#journals.clear()
  }
}

interface StartRequest {
  readonly confinement: EditConfinement
  readonly roots: readonly string[]
  readonly protectedTree: ProtectedTree
  readonly baseline: Baseline
  readonly scan: FolderScan
  readonly journal: EditJournal
  readonly undo: (() => void)[]
}

interface SettleRequest {
  readonly info: number
  readonly temporary: EnteredTemporary
  readonly baseline: Baseline
  readonly scan: FolderScan
  readonly journal: EditJournal
}

/** Directories may be added to a session after the detection. */
function refuseTooBroad(roots: readonly string[], home: string): void {
  const tooMuch = tooBroadReason(roots, home)
  if (tooMuch === undefined) return
  throw new SandboxError(
    `The command cannot be confined to the workspace and did not run: ${tooMuch}. Work in a folder below, or allow the command by a rule.`,
  )
}

/** Rejects a directory that is named inside another one, where a command can replace it by a link. */
export function refuseOutsideLinks(directories: readonly string[]): void {
  const [first] = directoriesLeadingOutside(directories)
  if (first === undefined) return
  const end = realPath(first)
  throw new SandboxError(
    `${first}, a directory of the session, leads to ${end} by a link that commands can change, so the command did not run. Remove the link, or name ${end} itself as a directory.`,
  )
}

/**
 * The repository around a directory of the session, including that of a linked work tree. If it does not name the work tree itself, it is not
 * visible, as a `.git` file can name any repository.
 */
export function repositoryAround(root: string): readonly string[] {
  const found = findRepository(root)
  if (found?.kind !== 'repository' || !isOwnRepository(found) || isInside(found.commonFolder, root)) return []
  return [found.workTree, found.gitFolder, found.commonFolder]
}
