import { readdirSync } from 'node:fs'
import { bothEnds, isInside, realPath } from '../files/paths.ts'
import type { PlainCommand } from './description.ts'
import type { EditMeans } from './edit-means.ts'
import type { ProtectedTree } from './edit-places.ts'
import { type EnteredTemporary, realTmp } from './edit-temporary.ts'
import type { VisiblePlaces } from './edit-visible.ts'
import { leadsOutside } from './outside-links.ts'
import { exists } from './on-disk.ts'

/** Input for the arguments of bubblewrap for one command. */
export interface EditMounts {
  readonly means: Pick<Extract<EditMeans, { readonly kind: 'bubblewrap' }>, 'canDisableUserNamespaces'>
  readonly command: PlainCommand & {
    /** The file in which bubblewrap reports the process that it started. */
    readonly firstDescriptor: number
  }
  readonly home: string
  readonly visible: VisiblePlaces
  /** The folder that replaces `/etc`. */
  readonly copied: string
  readonly temporary: EnteredTemporary
  /** Arguments that mount caches in the home folder. */
  readonly caches: readonly string[]
  /** Further readable places. */
  readonly readable: readonly string[]
  /** Directories of the session, as they are named. */
  readonly directories: readonly string[]
  readonly protectedTree: ProtectedTree
  readonly filterDescriptor: number | undefined
}

/** As root, `core_pattern` could be written in a new `/proc`. For other users bubblewrap protects it. */
const readOnlyOfProc = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'].map((name) => `/proc/${name}`)

/** The arguments of bubblewrap, starting with an empty root: a later mount covers earlier ones. */
export function editArguments(mounts: EditMounts): readonly string[] {
  const { means, command, home, visible, copied, temporary, caches, filterDescriptor } = mounts
  const inTemporary = temporaryTops(mounts)
  const homes = [...new Set(bothEnds(home))]
  return [
    '--unshare-all',
    '--unshare-user',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...(means.canDisableUserNamespaces ? ['--disable-userns'] : []),
    '--info-fd',
    String(command.firstDescriptor),
    '--tmpfs',
    '/',
    ...visible.links.flatMap(([path, target]) => ['--symlink', target, path]),
    ...readOnlyMount([copied], '/etc'),
    ...visible.system.flatMap((path) => readOnlyMount([path])),
    ...(isNonEmpty('/usr/local/etc') ? ['--tmpfs', '/usr/local/etc', '--remount-ro', '/usr/local/etc'] : []),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...(process.getuid?.() === 0 ? readOnlyOfProc.flatMap((path) => readOnlyMount([path])) : []),
    '--dir',
    '/run',
    '--perms',
    '1777',
    '--tmpfs',
    '/var/tmp',
    '--bind',
    temporary.folder,
    realTmp,
    ...temporary.shown.flatMap((name) => readOnlyMount([`${realTmp}/${name}`])),
    ...inTemporary.flatMap((path) => ['--tmpfs', path]),
    ...homes.flatMap((path) => ['--tmpfs', path]),
    ...visible.tools.filter((path) => !isCoveredBy(caches, path)).flatMap((path) => readOnlyMount([path])),
    ...furtherMounts(mounts),
    ...caches,
    ...directoryMounts(mounts),
    ...protectionMounts(mounts),
    ...inTemporary.flatMap((path) => ['--remount-ro', path]),
    '--remount-ro',
    '/',
    ...(filterDescriptor === undefined ? [] : ['--seccomp', String(filterDescriptor)]),
    '--chdir',
    command.directory,
    '--',
    command.file,
    ...command.args,
  ]
}

function readOnlyMount([path = '']: readonly string[], at: string = path): readonly string[] {
  return ['--ro-bind-try', path, at]
}

/** Further readable places. A rule that opens the whole home folder is ignored here, because the home folder contains too many secrets and sockets. */
function furtherMounts({ readable, directories, visible, home }: EditMounts): readonly string[] {
  const roots = directories.map(realPath)
  const isCovered = (path: string): boolean =>
    [...roots, ...visible.system, ...visible.tools].some((place) => isInside(path, place))
  const isTooMuch = (path: string): boolean => bothEnds(home).some((end) => isInside(end, path))
  const named = readable.filter((path) => !leadsOutside(path, directories)).flatMap(bothEnds)
  const places = [...new Set(named)].filter((path) => !isTooMuch(path) && !isCovered(path) && exists(path))
  return places
    .filter((path) => !isPartOf(places, path))
    .toSorted((left, right) => depthOf(left) - depthOf(right))
    .flatMap((path) => readOnlyMount([path]))
}

/** Writable directories. A directory that is named by a link is also reachable through it. */
function directoryMounts({ directories }: EditMounts): readonly string[] {
  const roots = [...new Set(directories.map(realPath))].toSorted((left, right) => depthOf(left) - depthOf(right))
  const links = directories.filter((path) => realPath(path) !== path && !isInside(path, realTmp))
  return [
    ...roots.flatMap((path) => ['--bind', path, path]),
    ...links.flatMap((path) => ['--symlink', realPath(path), path]),
  ]
}

function protectionMounts({ protectedTree, directories, visible, readable, temporary }: EditMounts): readonly string[] {
  const { readOnly: readOnlyPaths, pinned, placeholders } = protectedTree
  const roots = directories.map(realPath)
  const secrets = visible.secrets.filter(({ path }) => !roots.some((root) => isInside(realPath(path), root)))
  const masked = [...protectedTree.masked, ...secrets]
  const folders = masked.filter(({ isFolder }) => isFolder)
  const shown = temporary.shown.map((name) => `${realTmp}/${name}`)
  const seen = [
    ...directories,
    ...directories.map(realPath),
    ...visible.system,
    ...visible.tools,
    ...readable,
    ...shown,
  ]
  const isSeen = (path: string): boolean => seen.some((place) => isInside(path, place))
  const isMasked = (path: string): boolean => folders.some((outer) => outer.path !== path && isInside(path, outer.path))
  const made = [...placeholders.folders, ...placeholders.files.map(({ path }) => path)]
  // A read-only folder is read-only as a whole, except for writable places in it.
  const outer = readOnlyPaths.filter((path) => !pinned.some((inner) => isInside(inner, path)))
  const mounts = [
    ...pinned.map((path) => ({ path, rank: 1, args: ['--bind-try', path, path] })),
    ...[...readOnlyPaths.filter((path) => !isPartOf(outer, path)), ...made].map((path) => ({
      path,
      rank: 2,
      args: readOnlyMount([path]),
    })),
    ...masked
      .filter(({ path }) => isSeen(path))
      .map(({ path, isFolder }) => ({
        path,
        rank: 3,
        args: isFolder ? ['--perms', '0000', '--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path],
      })),
  ]
  return mounts
    .filter(({ path }) => !isMasked(path))
    .toSorted((left, right) => depthOf(left.path) - depthOf(right.path) || left.rank - right.rank)
    .flatMap(({ args }) => args)
}

/** Folders directly in `/tmp` that contain mounts but are not mounts: nothing else is in them. */
function temporaryTops({ home, directories, readable, temporary }: EditMounts): readonly string[] {
  const mounted = [home, ...directories, ...readable].flatMap(bothEnds)
  return temporary.stubs
    .map(({ name }) => `${realTmp}/${name}`)
    .filter((path) => !temporary.shown.includes(path.slice(realTmp.length + 1)) && !mounted.includes(path))
}

/** Whether a place is inside another one and no link leads out of it. Each mount costs time for every command. */
function isPartOf(places: readonly string[], path: string): boolean {
  return places.some((place) => place !== path && isInside(path, place)) && realPath(path) === path
}

/** Whether a cache is mounted over a place. */
function isCoveredBy(caches: readonly string[], path: string): boolean {
  return caches.some((at, index) => caches[index - 2]?.endsWith('bind') === true && isInside(path, at))
}

function isNonEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return exists(folder)
  }
}

function depthOf(path: string): number {
  return path.split('/').length
}
