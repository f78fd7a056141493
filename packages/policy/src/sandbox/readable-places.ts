import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { bothEnds, isInside, statOf } from '../files/paths.ts'
import type { Place } from './description.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Programs and libraries of the system, which contain nothing personal. */
const systemFolders = (
  '/bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store /snap /run/current-system /run/opengl-driver ' +
  '/sys/devices /sys/class /sys/bus /sys/block /sys/fs/cgroup /sys/kernel/mm /var/lib/dpkg /var/lib/rpm /var/lib/pacman /var/cache/man'
).split(' ')

/** Names of files and folders in `/etc` that programs read, without those with passwords and keys. */
const etcNames = (
  'alternatives bash.bashrc bash_completion.d bashrc ca-certificates centos-release crypto-policies debian_version default/locale ' +
  'dircolors fonts gai.conf gitattributes gitconfig group host.conf hostname hosts inputrc ' +
  'java java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d lesskey locale.alias locale.conf locale.gen ' +
  'localtime lsb-release machine-id magic magic.mime man.conf man_db.conf manpath.config mailcap mime.types nanorc networks ' +
  'nsswitch.conf os-release passwd paths.d perl pki/ca-trust pki/java pki/tls/certs pki/tls/cert.pem profile profile.d ' +
  'protocols python python2.7 python3 python3.10 python3.11 python3.12 python3.13 redhat-release resolv.conf rpc rpm services shells ' +
  'ssl/certs ssl/cert.pem ssl/openssl.cnf system-release terminfo timezone vim vimrc xdg xml'
).split(' ')

/** Folders next to `bin` that belong to a program. Not `share` and `etc`: in a home folder they contain keys, histories and settings of others. */
const besidePrograms =
  'bin sbin shims lib lib64 libexec include versions installs plugins toolchains node_modules version'.split(' ')

/** Files of the person that programs read in any folder. None contains a password. */
const personalNames = (
  '.terminfo .magic .jq .dircolors .lesskey .tool-versions .asdfrc .config/mise .nvmrc .node-version .python-version .ruby-version ' +
  '.rustup/toolchains .rustup/settings.toml .volta/tools'
).split(' ')

/** Variables that name files which programs read in any folder. */
const namingVariables =
  'BASH_ENV RIPGREP_CONFIG_PATH GIT_CONFIG_GLOBAL TERMINFO TZDIR LOCPATH SSL_CERT_FILE SSL_CERT_DIR'.split(' ')

/** Ignore files for searches; programs look for them in every parent folder. */
const ignoreNames = ['.gitignore', '.ignore', '.rgignore', '.fdignore']

/** Whether a path and its real path are places of the system that confined commands may read. */
export function isSystemPlace(path: string): boolean {
  return bothEnds(path).every((end) => systemPlaces().some((place) => isInside(end, place.path)))
}

let system: readonly Place[] | undefined

function systemPlaces(): readonly Place[] {
  system ??= outermost(
    [...systemFolders, ...belowUsr(), ...etcNames.map((name) => join('/etc', name))].flatMap(bothEnds).flatMap(placeAt),
  )
  return system
}

/** `/usr` without `/usr/local/etc`, which belongs to the administrator. */
function belowUsr(): readonly string[] {
  return [
    ...etcPlaces('/usr').filter((path) => path !== '/usr/local'),
    ...etcPlaces('/usr/local').filter((path) => path !== '/usr/local/etc'),
  ]
}

function etcPlaces(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

export interface ReadableOptions {
  /** Directories of the session, and further paths that a command may read. */
  readonly directories: readonly string[]
  readonly home: string
  readonly env: Environment
}

/** What a confined command may read: the given directories, the system, and programs of the person. */
export function readablePlaces({ directories, home, env }: ReadableOptions): readonly Place[] {
  const ends = [...new Set(directories.flatMap(bothEnds))]
  const above = new Set(ends.flatMap(foldersAbove))
  const named = namingVariables.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path))
  const ignoring = [...above].flatMap((folder) => ignoreNames.map((name) => join(folder, name))).filter(isPlainFile)
  return outermost([...basePlaces(env['PATH'] ?? '', home), ...[...ends, ...ignoring, ...named].flatMap(placeAt)])
}

/** How long found programs are reused before they are looked up again, in milliseconds. */
const freshMs = 10_000
let baseCache: { readonly key: string; readonly places: readonly Place[]; readonly atMs: number } | undefined

function basePlaces(path: string, home: string): readonly Place[] {
  const key = `${home}\n${path}`
  if (baseCache?.key !== key || performance.now() - baseCache.atMs > freshMs) {
    const own = [...programPlaces(path, home), ...personalNames.map((name) => join(home, name))]
    const places = [...systemPlaces(), { path: '/proc', kind: 'folder' } as const, ...own.flatMap(placeAt)]
    baseCache = { key, places: outermost(places), atMs: performance.now() }
  }
  return baseCache.places
}

/** Whether the path is a regular file and not a link. A link may lead to a folder with any content. */
function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function placeAt(path: string): readonly Place[] {
  const stats = statOf(path)
  return stats === undefined ? [] : [{ path, kind: stats.isDirectory() ? 'folder' : 'file' }]
}

/** Removes places inside other ones. */
function outermost(places: readonly Place[]): readonly Place[] {
  const folders = new Set(places.flatMap(({ path, kind }) => (kind === 'folder' ? [path] : [])))
  const unique = [...new Map(places.map((place) => [place.path, place])).values()]
  return unique.filter(({ path }) => !foldersAbove(path).some((folder) => folders.has(folder)))
}

/** Installations of programs on the search path outside the system, except the home folder itself. */
function programPlaces(path: string, home: string): readonly string[] {
  const folders = [...path.split(':'), dirname(process.execPath)].filter((folder) => isAbsolute(folder))
  return folders.flatMap(bothEnds).flatMap((folder) => {
    const above = dirname(folder)
    if (isInside(home, folder)) return []
    // npm programs are links to their packages next to `.bin`.
    if (basename(folder) === '.bin') return [above]
    // A folder with another name may contain anything: its programs can run, but the folder around it is not readable.
    if (!/^(?:s?bin|shims)$/.test(basename(folder))) return []
    if (isInside(home, above)) return [folder]
    return besidePrograms.map((name) => join(above, name))
  })
}

function foldersAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [] : [above, ...foldersAbove(above)]
}

/** Character devices that any command may use. */
export const harmlessDevices: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map(
  (name) => `/dev/${name}`,
)

/** Folders whose names are visible, but not their contents. */
export const listedFolders: readonly string[] = ['/tmp', '/dev', '/usr']

/** Links directly in the root, such as `/bin`, with their targets. */
export function rootEntries(): readonly string[] {
  return readdirSync('/').map((name) => `/${name}`)
}
