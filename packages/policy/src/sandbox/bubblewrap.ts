import { isInside } from '../files/paths.ts'
import type { PlainCommand, SandboxDescription } from './description.ts'

export interface BubblewrapMeans {
  /** The descriptor from which the filter of system calls is read; undefined without one. */
  readonly filterDescriptor: number | undefined
  /** Whether this bubblewrap can take away making further user namespaces. */
  readonly canDisableUserNamespaces: boolean
}

/** Sockets of services stand in these: D-Bus, docker, the ssh agent, X11. Programs of NixOS are found through `/run`. */
const emptiedFolders = ['/run', '/var/tmp']
/** Bubblewrap shuts these only where it thinks it must; as root, `core_pattern` could be written in a new `/proc`. */
const readOnlyOfProc = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'].map((name) => `/proc/${name}`)
const visibleInRun = ['/run/current-system', '/run/opengl-driver', '/run/wrappers']

/** The arguments of bwrap for a command. Nothing is looked up here: the description says all of it. */
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
  /** Of mounts at one path the later ones count. */
  readonly rank: number
  readonly args: readonly string[]
  readonly after?: readonly string[]
}

/** From the outside in: what is mounted later covers what was mounted before. */
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
    // What lies in it and is open must be reached through it.
    const isPassedThrough = opened.some((other) => other.path !== path && isInside(other.path, path))
    return { path, rank: 5, ...emptyFolder(path, isPassedThrough ? '0111' : '0000') }
  })
  const mounts = [...opened, ...closed.filter(({ path }) => !isInDenied(path, denied))]
  const ordered = mounts.toSorted((left, right) => depthOf(left.path) - depthOf(right.path) || left.rank - right.rank)
  // Read-only at the end: what lies inside is mounted on folders that are made in it.
  return [...ordered.flatMap(({ args }) => args), ...ordered.flatMap(({ after = [] }) => after)]
}

function emptyFolder(path: string, mode: string): Pick<Mount, 'args' | 'after'> {
  return { args: ['--perms', mode, '--tmpfs', path], after: ['--remount-ro', path] }
}

/** Lies inside a denied folder, which is empty then: there is nothing to mount on. */
function isInDenied(path: string, denied: SandboxDescription['denied']): boolean {
  return denied.some((place) => place.path !== path && isInside(path, place.path))
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length
}
