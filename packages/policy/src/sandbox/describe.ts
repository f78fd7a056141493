import { statSync } from 'node:fs'
import { join } from 'node:path'
import { absolutePath, isInside, realPath } from '../files/paths.ts'
import { globPattern } from '../files/glob-pattern.ts'
import type { Place, SandboxDescription } from './description.ts'
import { expandPlaces, type PlacePattern } from './expand.ts'
import type { MadeFile } from './git-places.ts'
import { firstMissing, foldersBetween } from './on-disk.ts'
import { type ProtectedPlaces, protectedPlaces } from './protected-places.ts'
import { SandboxError } from './sandbox-error.ts'
import type { SandboxSettings } from './sandbox-settings.ts'

/** Paths that deny rules name. */
export interface DeniedPatterns {
  /** Patterns of rules that deny reading. */
  readonly read: readonly PlacePattern[]
  /** Patterns of rules that deny writing. */
  readonly edit: readonly PlacePattern[]
}

export interface DescribeOptions {
  readonly cwd: string
  /** The directories of the session. */
  readonly directories: readonly string[]
  readonly home: string
  readonly temporary: string
  readonly settings: SandboxSettings
  readonly denied: DeniedPatterns
  /** `read-only` for commands without a rule: they write only the temporary folder and have no network. */
  readonly access: 'read-only' | 'project'
  /** Files that can be read wherever they are, except for files of deny rules. */
  readonly readable?: readonly string[]
  /** Packages of this program, and what the person installed for agents: never writable, wherever they are. */
  readonly keptFolders?: readonly string[]
  /** Folders that were not repositories when they were checked. If one is now, a command created it. */
  readonly plain?: ReadonlySet<string>
}

/** The sandbox for one command, and what is created and cleaned up around it. */
export interface DescribedSandbox {
  /** What the command may reach. */
  readonly description: SandboxDescription
  /** Files that exist while commands run. */
  readonly made: readonly MadeFile[]
  /** `commondir` is removed from these folders when a command has ended. */
  readonly gitFolders: readonly string[]
  /** Folders that are not repositories themselves, and must not be when a command has ended. */
  readonly plain: readonly string[]
  /** Missing control files whose creation cannot be prevented. */
  readonly unkept: readonly string[]
}

/** Keys and passwords of the person, and of the system if this program runs as root. */
const secrets = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.config/gcloud',
  '.config/gh',
  '.config/op',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.config/git/credentials',
  '.cargo/credentials.toml',
  '.claude.json',
  '.claude/.credentials.json',
  '.codex/auth.json',
  '.password-store',
  '.local/share/keyrings',
  '.bash_history',
  '.zsh_history',
  '.psql_history',
  '.mysql_history',
  '.python_history',
  '.node_repl_history',
]
const systemSecrets = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers', '/etc/ssh']

/** Inspects the disk and describes what a command may reach now. @throws SandboxError if that cannot be enforced. */
export function describe(options: DescribeOptions): DescribedSandbox {
  const { cwd, home, settings, access, temporary } = options
  const places = (paths: readonly string[]): readonly Place[] => paths.flatMap((path) => placeAt(pathOf(path, options)))
  const writable = access === 'read-only' ? [] : places([...options.directories, ...settings.allowWrite])
  for (const { path } of writable) refuseTooMuch(path, home)
  const protectedTrees = writable
    .filter(({ kind }) => kind === 'folder')
    .map(({ path }) => protectedPlaces(path, options.plain))
  const editDenied = [
    ...expandedPlaces(options.denied.edit),
    ...patternPlaces(settings.denyWrite, options),
    ...places(options.keptFolders ?? []),
  ]
  const made = protectedTrees.flatMap((one) => one.madeFiles)
  const readOnly = [
    ...protectedTrees.flatMap((one) => one.readOnly),
    ...made.map(({ path }): Place => ({ path, kind: 'file' })),
    ...editDenied,
  ].filter(isInsideAny(writable))
  // These paths are visible even if they are in a folder that is replaced for the command, such as /tmp.
  const own = [...(access === 'read-only' ? options.directories : []), ...(options.readable ?? [])]
  const opened = places([...own, ...settings.allowRead])
  const closed = [...places([...secrets.map((name) => join(home, name)), ...systemSecrets])].filter(
    // Places that a setting opened by name remain open, and these places never close a project.
    ({ path }) => ![...opened, ...writable].some((open) => isInside(path, open.path)),
  )
  return {
    made,
    gitFolders: protectedTrees.flatMap((one) => one.gitFolders),
    plain: protectedTrees.flatMap((one) => one.plain),
    unkept: protectedTrees.flatMap((one) => one.unprotected),
    description: {
      writable: outermost(writable),
      readOnly: uniquePlaces(readOnly),
      pinned: pinsOf(protectedTrees, editDenied, writable),
      missing: [...new Set([...protectedTrees.flatMap((one) => one.missing), ...missingPlaces(options, writable)])],
      masked: uniquePlaces([...closed, ...patternPlaces(settings.denyRead, options)]),
      readable: opened,
      denied: uniquePlaces(refuseRoot(expandedPlaces(options.denied.read), cwd)),
      temporary,
      network: access === 'project' && settings.allowedDomains.length > 0 ? 'proxy' : 'none',
      unixSockets: settings.allowAllUnixSockets && access === 'project',
    },
  }
}

/** Settings write `//x` for what is absolute in rules. */
export function pathOf(path: string, { cwd, home }: Pick<DescribeOptions, 'cwd' | 'home'>): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1))
  return absolutePath(path.startsWith('//') ? path.slice(1) : path, cwd)
}

function patternPlaces(paths: readonly string[], options: DescribeOptions): readonly Place[] {
  const [plain, patterns] = [paths.filter((path) => !isPattern(path)), paths.filter(isPattern)]
  const globs = patterns.map((path) => ({ anchors: ['/'], glob: globPattern(pathOf(path, options)) }))
  return [...plain.flatMap((path) => placeAt(pathOf(path, options))), ...expandedPlaces(globs)]
}

/** Missing files that must not be edited: they must not be created. The first missing folder above one stands in for it. */
function missingPlaces(options: DescribeOptions, writable: readonly Place[]): readonly string[] {
  const paths = [
    ...options.denied.edit.flatMap(({ named = [] }) => named),
    ...options.settings.denyWrite.filter((path) => !isPattern(path)).map((path) => pathOf(path, options)),
  ]
  return paths.flatMap((path) => {
    const real = realPath(path)
    return writable.some((root) => isInside(real, root.path)) ? firstMissing(real) : []
  })
}

function isPattern(path: string): boolean {
  return /[*?[]/.test(path)
}

function expandedPlaces(patterns: readonly PlacePattern[]): readonly Place[] {
  return expandPlaces(patterns).flatMap(placeAt)
}

/** The real path and its kind; empty if nothing exists there. */
function placeAt(path: string): readonly Place[] {
  const real = realPath(path)
  try {
    return [{ path: real, kind: statSync(real).isDirectory() ? 'folder' : 'file' }]
  } catch {
    return []
  }
}

function isInsideAny(places: readonly Place[]): (place: Place) => boolean {
  return ({ path }) => places.some((outer) => isInside(path, outer.path))
}

function refuseTooMuch(path: string, home: string): void {
  if (!isInside(realPath(home), path)) return
  throw new SandboxError(
    `The sandbox does not make ${path} writable: it contains your home folder, with start-up files, keys and settings of other programs. Work in a folder below it.`,
  )
}

function refuseRoot(places: readonly Place[], cwd: string): readonly Place[] {
  const root = places.find(({ path }) => isInside(realPath(cwd), path))
  if (root === undefined) return places
  throw new SandboxError(
    `A deny rule covers ${root.path}, the working folder, so nothing can run in the sandbox. Change the rule, or work in another folder.`,
  )
}

function pinsOf(
  protectedTrees: readonly ProtectedPlaces[],
  readOnly: readonly Place[],
  writable: readonly Place[],
): readonly string[] {
  const between = readOnly.flatMap(({ path }) =>
    writable.flatMap((root) => (isInside(path, root.path) ? foldersBetween(root.path, path) : [])),
  )
  return [...new Set([...protectedTrees.flatMap((one) => one.pinned), ...between])]
}

function outermost(places: readonly Place[]): readonly Place[] {
  return uniquePlaces(places).filter(
    ({ path }) => !places.some((other) => other.path !== path && isInside(path, other.path)),
  )
}

function uniquePlaces(places: readonly Place[]): readonly Place[] {
  return [...new Map(places.map((place) => [place.path, place])).values()]
}
