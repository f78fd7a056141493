import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseMounts } from '../files/mounts.ts'
import { isDirectory, isInside, isInsideAny, outermost, realPath } from '../files/paths.ts'
import type { Overlay } from './overlay-launcher.ts'
import { SandboxError } from './sandbox-error.ts'

/** What replaces the writable places of a command. */
export interface TrialMounts {
  /** Arguments of bubblewrap, before `--`. */
  readonly args: readonly string[]
  /** Overlays to mount before bubblewrap starts, including those of the workspace. */
  readonly overlays: readonly Overlay[]
  /** The overlays that show the workspace: writes to them count as changes. */
  readonly workspace: readonly Overlay[]
  /** Folders that were empty, each with its path for the command: they contain mount points, and what the command created. */
  readonly emptied: readonly EmptiedFolder[]
  /** Paths at which bubblewrap mounts something. */
  readonly mountPoints: ReadonlySet<string>
  /** Folders that bubblewrap creates in the empty folders. */
  readonly madeFolders: ReadonlySet<string>
  /** The time just before the command starts, in milliseconds since the epoch. */
  readonly startMs: number
}

export interface EmptiedFolder {
  readonly folder: string
  readonly at: string
  /** Its initial mode. */
  readonly mode: number
}

/** Options of bubblewrap by the number of their arguments. */
const optionsByArity: readonly (readonly string[])[] = [
  [
    '--unshare-all',
    '--unshare-user',
    '--unshare-net',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-uts',
    '--unshare-cgroup',
    '--unshare-cgroup-try',
    '--die-with-parent',
    '--new-session',
    '--disable-userns',
  ],
  [
    '--tmpfs',
    '--dev',
    '--proc',
    '--dir',
    '--remount-ro',
    '--chdir',
    '--seccomp',
    '--info-fd',
    '--cap-drop',
    '--perms',
    '--size',
  ],
  ['--bind', '--bind-try', '--ro-bind', '--ro-bind-try', '--symlink', '--chmod', '--setenv'],
]

interface Operation {
  readonly name: string
  readonly given: readonly string[]
  /** Options before this operation that modify it. */
  readonly before: readonly string[]
}

/** @throws SandboxError for unknown arguments: they could make a path writable for real. */
function operationsOf(args: readonly string[]): readonly Operation[] {
  const operations: Operation[] = []
  let before: readonly string[] = []
  let at = 0
  while (at < args.length) {
    const name = args[at] ?? ''
    const count = optionsByArity.findIndex((names) => names.includes(name))
    if (count < 0) throw new SandboxError(`A command cannot be tried with ${name}.`)
    const given = args.slice(at + 1, at + 1 + count)
    at += 1 + count
    if (name === '--perms' || name === '--size') {
      before = [...before, name, ...given]
      continue
    }
    operations.push({ name, given, before })
    before = []
  }
  return operations
}

/**
 * Replaces everything that a confined command could write: its root, home and `/tmp` become empty folders on disk, folders of the workspace and of
 * caches become overlays. Nothing in the workspace is protected, so that changes there are visible.
 * @param args Arguments of bubblewrap for a command that may change the workspace, before `--`.
 * @param folder An empty folder that is discarded later.
 * @throws SandboxError if that is impossible.
 */
export function trialMounts(args: readonly string[], directories: readonly string[], folder: string): TrialMounts {
  const roots = outermost(directories.map(realFolder))
  const overlays: Overlay[] = []
  const emptied: EmptiedFolder[] = []
  const overlayOf = (path: string): void => {
    const at = realFolder(path)
    if (overlays.some((one) => isInside(at, one.at))) return
    const place = makeFolder(folder, `overlay-${overlays.length}`)
    overlays.push({ lower: [at], upper: join(place, 'upper'), work: join(place, 'work'), at })
  }
  const emptyAt = (at: string, mode: number = 0o755): Operation => {
    const place = makeFolder(folder, `empty-${emptied.length}`)
    chmodSync(place, mode)
    emptied.push({ folder: place, at, mode })
    return { name: '--bind', given: [place, at], before: [] }
  }
  for (const path of roots) overlayOf(path)
  const shown = operationsOf(args).flatMap((operation): readonly Operation[] => {
    const { name, given, before } = operation
    const [from = '', to = ''] = given
    const mode = Number.parseInt(before[before.indexOf('--perms') + 1] ?? '0755', 8)
    // A folder that nobody may enter hides something.
    if (name === '--tmpfs') return [(mode & 0o222) === 0 ? operation : emptyAt(from, mode)]
    // Only files in memory are visible, and nothing else is created in this folder.
    if (name === '--dev') return [operation, emptyAt(`${from}/shm`, 0o1777), remountReadOnly(from)]
    if (name === '--remount-ro' && emptied.some(({ at }) => at === from)) return []
    if (name === '--bind' || name === '--bind-try') {
      if (to === '/tmp') return [emptyAt(to, 0o1777)]
      // The source is in the folder that is discarded anyway.
      if (isInside(from, folder)) return [operation]
      if (isDirectory(from)) overlayOf(from)
      else if (!isInsideAny(realPath(from), roots)) return [{ ...operation, name: '--ro-bind-try' }]
    }
    const isProtection = name.startsWith('--ro-bind') && from === to && isInsideAny(realPath(to), roots)
    return isProtection ? [] : [operation]
  })
  refuseMounts(roots)
  const mountPoints = new Set(shown.flatMap(({ name, given }) => (mounting.has(name) ? given.slice(-1) : [])))
  const madeFolders = new Set(shown.flatMap(({ name, given }) => (name === '--dir' ? given : [])))
  const workspace = overlays.slice(0, roots.length)
  return {
    args: shown.flatMap(({ name, given, before }) => [...before, name, ...given]),
    overlays,
    workspace,
    emptied,
    mountPoints,
    madeFolders,
    startMs: Date.now(),
  }
}

const remountReadOnly = (path: string): Operation => ({ name: '--remount-ro', given: [path], before: [] })

const mounting: ReadonlySet<string> = new Set(
  '--bind --bind-try --ro-bind --ro-bind-try --dev --proc --symlink --tmpfs'.split(' '),
)

/** An overlay does not show mounts below its folder. @throws SandboxError */
function refuseMounts(roots: readonly string[]): void {
  for (const { point: at } of parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'))) {
    if (at.startsWith('/') && roots.some((root) => root !== at && isInside(at, root)))
      throw new SandboxError(`A command cannot be tried where ${at} is mounted.`)
  }
}

function makeFolder(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o755 })
  return path
}

/** @throws SandboxError for a missing folder. */
function realFolder(path: string): string {
  const real = realPath(path)
  if (!isDirectory(real)) throw new SandboxError(`A command cannot be tried without ${path}, which is not a folder.`)
  return real
}
