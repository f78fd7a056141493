import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { onProcessExit, offProcessExit } from '../process-exit.ts'
import { type Environment, isInside, realPath } from '../files/paths.ts'
import type { TrialConfinement } from './confinement.ts'
import { editEnvironment } from './edit-environment.ts'
import { editArguments, type EditMounts } from './edit-mounts.ts'
import { CopiedSettings, visiblePlaces } from './edit-visible.ts'
import { maskedBy } from './edit-places.ts'
import { refuseOutsideLinks, repositoryAround } from './edit-wall.ts'
import { liveSockets } from './live-sockets.ts'
import { waitForNamespaceEnd } from './namespace-end.ts'
import { type Overlay, overlayCommand } from './overlay-launcher.ts'
import { abandonedFolders, processFolderName } from './process-folders.ts'
import { removeTree } from './remove-tree.ts'
import type { SandboxCommand, SandboxedCommand } from './sandbox.ts'
import { seccompFilter } from './seccomp.ts'
import { SandboxError } from './sandbox-error.ts'
import type { TrialMeans } from './trial-means.ts'
import { trialMounts, type TrialMounts } from './trial-mounts.ts'
import { readTrialReport, reportingScript } from './trial-report.ts'
import { endedItsShell, leftObjects, leftProcesses, mayConcern, neededNetwork, wrotePath } from './trial-texts.ts'
import { type SamePlace, writesOfTrial } from './trial-writes.ts'
import { openFilter, openUnnamed } from './unnamed-file.ts'
import { codeOf } from '@halting/core/adapters'
import { type CacheOptions, cachePlaces } from './cache-places.ts'

/** Options of the confinement of commands that are tried. */
export interface TrialWallOptions {
  /** What tries the commands. */
  readonly means: Extract<TrialMeans, { readonly kind: 'overlay' }>
  /** The person's own folder. */
  readonly home: string
  /** The folder with the caches of confined commands, which is not a cache of the person. */
  readonly cacheFolder: string
}

/** A command that is tried. */
export interface TrialCommand extends SandboxedCommand {
  /**
   * Resolves when no process of it runs any more; call it when the command has ended. @throws SandboxError if a process still runs after ten
   * seconds.
   */
  gone(): Promise<void>
  /**
   * Call this when the command and all its processes have ended. Discards what it wrote. Returns why it must run again with its effects, as the end
   * of a sentence; undefined if its output and exit code would be its only effects.
   */
  settle(): string | undefined
}

/**
 * Confines commands that are tried before a person is asked: to the workspace, and everything that they write is discarded.
 *
 * T1: a command that cannot be confined does not run.
 * T2: a command counts as having effects unless it was shown to have none.
 */
export class TrialWall {
  readonly #options: TrialWallOptions
  readonly #folders = new Set<string>()
  /** Copies of files of `/etc`, for all trials. */
  #settings: CopiedSettings | undefined
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: TrialWallOptions) {
    this.#options = options
    onProcessExit(this.#removeAtExit)
    for (const folder of abandonedFolders(options.means.folder, 'trial')) removeTree(folder)
  }

  /** @throws SandboxError for a command that cannot be confined. */
  confine(command: SandboxCommand, confinement: TrialConfinement): TrialCommand {
    const folder = this.#makeFolder(confinement.directories)
    try {
      // Searched before the start: the command may remove the file, and the process may end.
      const mightSignal = liveProcessFile(confinement.directories)
      const report = join(folder, 'report')
      const [reported, info] = [openSync(report, 'wx', 0o600), openUnnamed(folder)]
      const calls = seccompFilter(process.arch, { profile: 'project', unixSockets: true })
      const filter = calls === undefined ? undefined : openFilter(calls, folder)
      const env = { ...editEnvironment(command.env), GIT_OPTIONAL_LOCKS: '0' }
      const { firstDescriptor: first } = command
      const { home, cacheFolder, means } = this.#options
      const caches = trialCaches({ home, env, directories: confinement.directories, folder: cacheFolder }, folder)
      const args = editArguments({
        means: means.bubblewrap,
        // Startup files of the person's bash apply to the command itself only.
        command: {
          file: 'bash',
          args: ['-pc', reportingScript(first), 'bash', command.file, ...command.args],
          directory: command.directory,
          firstDescriptor: first + 1,
        },
        ...this.#visibleParts({ ...command, env }, confinement, folder),
        caches: caches.mounts,
        filterDescriptor: filter === undefined ? undefined : first + 2,
      })
      const end = args.indexOf('--')
      const mounts = trialMounts(args.slice(0, end), confinement.directories, folder)
      const inner = { file: means.bubblewrap.file, args: [...mounts.args, ...args.slice(end)] }
      const launched = overlayCommand(
        { ...inner, directory: command.directory, env },
        [...mounts.overlays, ...caches.overlays],
        { perl: means.perl },
      )
      if (launched === undefined) throw new SandboxError(`Commands cannot be tried on ${process.arch}.`)
      return {
        ...launched,
        descriptors: [reported, info, ...(filter === undefined ? [] : [filter])],
        started: (child) => {
          closeSync(reported)
          if (filter !== undefined) closeSync(filter)
          if (child?.pid !== undefined) return
          closeSync(info)
          this.#throwAway(folder)
        },
        gone: () => waitForNamespaceEnd(info),
        settle: () => {
          try {
            if (mightSignal !== undefined) return mayConcern(mightSignal)
            return this.#effects(mounts, readFileSync(report, 'utf8'))
          } finally {
            closeSync(info)
            this.#throwAway(folder)
          }
        },
      }
    } catch (thrown) {
      this.#throwAway(folder)
      throw thrown
    }
  }

  /** Removes what was created for commands. */
  dispose(): void {
    offProcessExit(this.#removeAtExit)
    this.#remove()
  }

  /** What the command sees, like one that is confined to the workspace. It does not see the shared temporary folder. */
  #visibleParts(
    { env, directory }: { readonly env: Environment; readonly directory: string },
    { directories, readable, denied }: TrialConfinement,
    folder: string,
  ): Pick<EditMounts, 'home' | 'visible' | 'copied' | 'temporary' | 'readable' | 'directories' | 'protectedTree'> {
    const { home } = this.#options
    refuseOutsideLinks(directories)
    const visible = visiblePlaces(home, env, directories)
    // Programs that clean up remove files that were not used for days. If the copies were removed, they are made again.
    this.#settings ??= new CopiedSettings(join(this.#makeFolder(directories), 'etc'))
    const mounted = visible.system.filter((path) => isInside(path, '/etc'))
    const masked = [
      ...maskedBy(denied, { roots: directories, directory }),
      ...liveSockets().map((path) => ({ path, isFolder: false })),
    ]
    return {
      home,
      visible,
      copied: this.#settings.folderFor(visible.copied, mounted),
      // An empty folder replaces it.
      temporary: { folder, shown: [], stubs: [] },
      readable: [...readable, ...directories.flatMap(repositoryAround)],
      directories,
      protectedTree: {
        readOnly: [],
        pinned: [],
        masked,
        missing: [],
        placeholders: { folders: [], files: [] },
        withoutCommon: [],
      },
    }
  }

  #effects(mounts: TrialMounts, reported: string): string | undefined {
    const report = readTrialReport(reported)
    if (report === undefined) return endedItsShell
    if (report.usedNetwork) return neededNetwork
    if (report.leftProcesses) return leftProcesses
    if (report.leftObjects) return leftObjects
    const { changed, same } = writesOfTrial(mounts)
    const path = changed ?? this.#differing(same)
    return path === undefined ? undefined : wrotePath(path)
  }

  /** A path whose attributes changed, or a folder that was removed and created again. Perl compares them, as Node cannot read extended attributes. */
  #differing(same: readonly SamePlace[]): string | undefined {
    const [first] = same
    if (first === undefined) return undefined
    const numbers = attributeCalls[process.arch]
    if (numbers === undefined) return first.at
    const input = same.map(({ upper, lower = '' }) => `${upper}\0${lower}\0`).join('')
    const { status, stdout } = spawnSync(this.#options.means.perl, ['-e', comparingAttributes, ...numbers], {
      encoding: 'utf8',
      input,
      env: { PERL_BADLANG: '0' },
    })
    if (status !== 0) return first.at
    return stdout === '' ? undefined : (same[Number(stdout)]?.at ?? first.at)
  }

  /** @throws SandboxError if it would be below an overlay that shows it. */
  #makeFolder(directories: readonly string[]): string {
    const place = realpathSync(this.#options.means.folder)
    if (directories.some((directory) => isInside(place, realPath(directory))))
      throw new SandboxError(`A command cannot be tried where ${place} is a part of the workspace.`)
    const folder = mkdtempSync(join(place, processFolderName('trial')))
    this.#folders.add(folder)
    return folder
  }

  #throwAway(folder: string): void {
    removeTree(folder)
    this.#folders.delete(folder)
  }

  #remove(): void {
    for (const folder of this.#folders) this.#throwAway(folder)
    this.#settings = undefined
  }
}

/** Numbers of `lgetxattr` and `llistxattr`. */
const attributeCalls: Readonly<Record<string, readonly [get: string, list: string]>> = {
  x64: ['192', '195'],
  arm64: ['9', '12'],
}

/**
 * Prints the index of the first pair of its input with different attributes, or with an empty folder that replaces a non-empty one. Ignores
 * attributes that the kernel sets for overlays and for each file.
 */
const comparingAttributes = String.raw`
my ($get, $list) = map { $_ + 0 } @ARGV;
sub value { my ($path, $name) = ("$_[0]\0", "$_[1]\0"); my $value = ' ' x 65536;
  my $length = syscall($get, $path, $name, $value, 65536); $length < 0 ? undef : substr($value, 0, $length) }
sub attributes { my $path = "$_[0]\0"; my $names = ' ' x 65536; my $length = syscall($list, $path, $names, 65536);
  return '' if $length <= 0;
  join '', map { my $v = value($_[0], $_) // ''; "$_\0" . length($v) . "\0$v" }
    sort grep { !/^(?:user\.overlay|trusted|security)\./ } split /\0/, substr($names, 0, $length) }
sub holds { opendir(my $d, $_[0]) or return 0; my @names = grep { !/^\.\.?$/ } readdir $d; scalar @names }
binmode STDIN; local $/; my @paths = split /\0/, <STDIN>, -1; pop @paths;
for (my $i = 0; $i < @paths; $i += 2) {
  my ($upper, $lower) = @paths[$i, $i + 1];
  my $isOther = attributes($upper) ne ($lower eq '' ? '' : attributes($lower));
  my $isInPlace = $lower ne '' && (value($upper, 'user.overlay.opaque') // '') ne '' && holds($lower);
  if ($isOther || $isInPlace) { print $i / 2; last }
}
`

/** Names of files that contain a process id. */
const processFileName = /(?:^|[._-])pids?(?:$|[._-])/i
/** Searched in each directory of the session, in addition to the folders directly inside. */
const usualFolders: readonly string[] = ['tmp/pids', 'tmp/run', 'var/run', 'var/pids']
const maxFolders = 200
const maxBytes = 4096

/** A file with the id of a running process, in the folders where programs usually keep such files. */
function liveProcessFile(directories: readonly string[]): string | undefined {
  for (const directory of directories) {
    const folders = entriesOf(directory).filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    const places = ['', ...usualFolders, ...folders.slice(0, maxFolders).map(({ name }) => name)]
    for (const place of places)
      for (const entry of entriesOf(join(directory, place))) {
        const path = join(directory, place, entry.name)
        if (entry.isFile() && processFileName.test(entry.name) && namesLiveProcess(path)) return path
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

function namesLiveProcess(path: string): boolean {
  try {
    if (statSync(path).size > maxBytes) return false
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
    // The process belongs to another user, and runs.
    return codeOf(thrown) === 'EPERM'
  }
}

/** The caches of tools for a command that is tried. */
interface TrialCaches {
  /** Overlays to mount before bubblewrap starts. */
  readonly overlays: readonly Overlay[]
  /** Arguments of bubblewrap. */
  readonly mounts: readonly string[]
}

/** The caches of the person, as confined commands see them. Writes to them are discarded and do not count as changes. */
function trialCaches(options: CacheOptions, folder: string): TrialCaches {
  const shown = cachePlaces(options).map((place, index) => ({ ...place, own: join(folder, `cache-${index}`) }))
  for (const { own } of shown) mkdirSync(join(own, 'at'), { recursive: true, mode: 0o755 })
  return {
    overlays: shown.flatMap(({ real, isThere, own, shown: names, hidden }) =>
      !isThere
        ? []
        : [
            {
              lower: [real],
              upper: join(own, 'upper'),
              work: join(own, 'work'),
              at: join(own, 'at'),
              ...(names !== undefined && { shown: names }),
              ...(hidden !== undefined && { hidden }),
            },
          ],
    ),
    mounts: shown.flatMap(({ path, own }) => ['--bind', join(own, 'at'), path]),
  }
}
