import { isInside } from '../files/paths.ts'
import type { PlainCommand, SandboxDescription } from './description.ts'

export interface BubblewrapMeans {
  /** The descriptor from which bubblewrap reads the system call filter; undefined without a filter. */
  readonly filterDescriptor: number | undefined
  /** Whether this bubblewrap can forbid further user namespaces. */
  readonly canDisableUserNamespaces: boolean
}

/** These folders contain sockets of services: D-Bus, docker, the ssh agent, X11. Programs of NixOS are found through `/run`. */
const emptiedFolders = ['/run', '/var/tmp']
/** Bubblewrap protects these folders only where it considers that necessary; as root, `core_pattern` could be written in a new `/proc`. */
const readOnlyOfProc = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'].map((name) => `/proc/${name}`)
const visibleInRun = ['/run/current-system', '/run/opengl-driver', '/run/wrappers']

/** The arguments of bwrap for a command. Does not access the disk: the description is complete. */
export function bubblewrapArguments(
  description: SandboxDescription,
  command: PlainCommand,
  means: BubblewrapMeans,
): readonly string[] {
  const { temporary } = description
  return [
    '--unshare-all',
    '--unshare-user',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...(means.canDisableUserNamespaces ? ['--disable-userns'] : []),
    '--hostname',
    'sandbox',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...readOnlyOfProc.flatMap((path) => ['--ro-bind-try', path, path]),
    ...emptiedFolders.flatMap((path) => ['--tmpfs', path]),
    ...visibleInRun.flatMap((path) => ['--ro-bind-try', path, path]),
    '--bind',
    temporary,
    '/tmp',
    '--bind',
    temporary,
    temporary,
    ...mountsOf(description),
    ...(means.filterDescriptor === undefined ? [] : ['--seccomp', String(means.filterDescriptor)]),
    '--chdir',
    command.directory,
    '--',
    command.file,
    ...command.args,
  ]
}

interface Mount {
  readonly path: string
  /** Order of mounts at the same path: the highest wins. */
  readonly rank: number
  readonly args: readonly string[]
  readonly after?: readonly string[]
}

/** Ordered from the outside in, because a later mount covers earlier ones. */
function mountsOf(description: SandboxDescription): readonly string[] {
  const { writable, pinned, readOnly, missing, masked, readable, denied } = description
  const isDenied = (path: string): boolean => denied.some((place) => isInside(path, place.path))
  const opened = [
    ...writable.map(({ path }): Mount => ({ path, rank: 1, args: ['--bind', path, path] })),
    ...pinned.map((path): Mount => ({ path, rank: 2, args: ['--bind', path, path] })),
    ...readOnly.map(({ path }): Mount => ({ path, rank: 3, args: ['--ro-bind', path, path] })),
    ...missing.map((path): Mount => ({ path, rank: 4, ...emptyFolder(path, '0555') })),
    ...readable.map(({ path }): Mount => ({ path, rank: 6, args: ['--ro-bind', path, path] })),
  ].filter(({ path }) => !isDenied(path))
  const closed = [...masked, ...denied].map(({ path, kind }): Mount => {
    if (kind === 'file') return { path, rank: 5, args: ['--ro-bind', '/dev/null', path] }
    // Allowed places inside the masked one must remain reachable.
    const isPassedThrough = opened.some((other) => other.path !== path && isInside(other.path, path))
    return { path, rank: 5, ...emptyFolder(path, isPassedThrough ? '0111' : '0000') }
  })
  const mounts = [...opened, ...closed.filter(({ path }) => !isInDenied(path, denied))]
  const ordered = mounts.toSorted((left, right) => depthOf(left.path) - depthOf(right.path) || left.rank - right.rank)
  // Made read-only at the end, as mount points for inner places are created in it.
  return [...ordered.flatMap(({ args }) => args), ...ordered.flatMap(({ after = [] }) => after)]
}

function emptyFolder(path: string, mode: string): Pick<Mount, 'args' | 'after'> {
  return { args: ['--perms', mode, '--tmpfs', path], after: ['--remount-ro', path] }
}

/** Whether the place is inside a denied folder, which is empty and has no mount point for it. */
function isInDenied(path: string, denied: SandboxDescription['denied']): boolean {
  return denied.some((place) => place.path !== path && isInside(path, place.path))
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length
}
