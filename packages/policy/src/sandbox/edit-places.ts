import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDirectory, isInside, realPath } from '../files/paths.ts'
import { gitFolderInFile } from '../git/repository.ts'
import type { EditConfinement } from './confinement.ts'
import type { DeniedPatterns } from './describe.ts'
import { type FolderScan, identityOf } from './folder-scan.ts'
import { expandPlaces, type PlacePattern } from './expand.ts'
import { type GitPlaces, type MadeFile, placesNamedInSettings, placesOf } from './git-places.ts'
import { linkedPackages } from './hard-linked-packages.ts'
import { foldersBetween, exists } from './on-disk.ts'
import { otherHardLinks } from './hard-links.ts'
import { packagesOf } from './own-packages.ts'
import { SandboxError } from './sandbox-error.ts'

/** What remains unchanged in the directories that a command can write. */
export interface ProtectedTree {
  readonly readOnly: readonly string[]
  /**
   * Folders that are mounted so that they cannot be replaced: writable git folders, caches in read-only folders, and folders above places that are
   * protected by their path.
   */
  readonly pinned: readonly string[]
  /** Places that can be neither read nor written. */
  readonly masked: readonly { readonly path: string; readonly isFolder: boolean }[]
  /** Paths that do not exist, and must not exist when the command has ended. */
  readonly missing: readonly string[]
  /** Files and folders that are created in git folders while the command runs. */
  readonly placeholders: { readonly folders: readonly string[]; readonly files: readonly MadeFile[] }
  /** Git folders from which `commondir` is removed when the command has ended. */
  readonly withoutCommon: readonly string[]
}

interface Options {
  /** The directories of the session, by their real paths. */
  readonly roots: readonly string[]
  readonly confinement: EditConfinement
  readonly keptFolders: readonly string[]
  readonly scan: FolderScan
  /** Sockets on which a process outside may listen. */
  readonly sockets: readonly string[]
  /** The folder in which the command starts. */
  readonly directory: string
}

const maxProtected = 1_000

/** Determines what is protected for one command. @throws SandboxError if something cannot be. */
export function protectTree(options: Options): ProtectedTree {
  const { roots, confinement, scan, sockets } = options
  refuseUnnameable(scan)
  const rootOf = (path: string): string | undefined => roots.find((root) => isInside(path, root))
  const repositories = [...scan.controlFiles.keys()].filter((path) => basename(path).toLowerCase() === '.git')
  const git = [...repositories, ...scan.bare.keys()].map((path) =>
    gitPlaces(path, rootOf(path) ?? path, confinement.writesGit || roots.includes(path)),
  )
  const obeyed = [...scan.controlFiles].flatMap(([path, { kind }]) => {
    if (repositories.includes(path)) return []
    return kind === 'link' ? [realPath(path)].filter((end) => end !== path && exists(end)) : [path]
  })
  const protectedFolders = [...packagesOf([fileURLToPath(import.meta.url), process.execPath]), ...options.keptFolders]
  const denied = expandPlaces(confinement.denied.edit).flatMap((path) => [path, realPath(path)])
  const packages = linkedPackages(scan.packages)
  const readOnly = [
    ...git.flatMap((one) => one.readOnly),
    ...packages.readOnly,
    ...obeyed,
    ...[...protectedFolders, ...denied, ...otherHardLinks(denied, roots)].map(realPath),
  ]
  // Nothing can be mounted over a link: links are compared afterwards.
  const inRoots = [...new Set(readOnly)].filter(
    (path) => rootOf(path) !== undefined && ['file', 'folder'].includes(identityOf(path)?.kind ?? ''),
  )
  refuseTooMany(inRoots)
  const named = expandPlaces([...confinement.denied.read, ...confinement.denied.edit].filter(isProtectedByPlace)).map(
    realPath,
  )
  const above = foldersAbove([...named, ...sockets], roots).filter(
    (folder) => !inRoots.some((path) => isInside(folder, path)),
  )
  return {
    readOnly: inRoots.filter((path) => !roots.includes(path) || !git.some(({ pinned }) => pinned.includes(path))),
    pinned: [
      ...git.flatMap((one) => one.pinned).filter((path) => !roots.includes(path)),
      ...packages.writable,
      ...above,
    ],
    masked: [...maskedBy(confinement.denied, options), ...sockets.map((path) => ({ path, isFolder: false }))],
    missing: [
      ...git.flatMap((one) => one.missing),
      ...confinement.denied.edit.flatMap(({ named = [] }) => named),
    ].filter((path) => rootOf(path) !== undefined && !exists(path)),
    placeholders: { folders: git.flatMap((one) => one.folders), files: git.flatMap((one) => one.files) },
    withoutCommon: git.flatMap((one) => one.withoutCommon),
  }
}

/** Whether a place would no longer match its pattern after its folder is renamed. */
function isProtectedByPlace({ glob: [first, ...rest] }: PlacePattern): boolean {
  return first !== 'any' || rest.filter((part) => part !== 'any').length > 1
}

/** Folders above a protected path: if a command moved one, the next command could access the path. */
function foldersAbove(paths: readonly string[], roots: readonly string[]): readonly string[] {
  const above = paths.flatMap((path) =>
    roots.flatMap((root) => (isInside(path, root) ? foldersBetween(root, path) : [])),
  )
  return [...new Set(above)].filter((folder) => identityOf(folder)?.kind === 'folder' && !roots.includes(folder))
}

interface GitProtection {
  readonly readOnly: readonly string[]
  readonly pinned: readonly string[]
  readonly missing: readonly string[]
  readonly folders: readonly string[]
  readonly files: readonly MadeFile[]
  readonly withoutCommon: readonly string[]
}

/** For a git folder that is not written: all of it, and what its settings name outside of it. */
function gitPlaces(git: string, root: string, isWritten: boolean): GitProtection {
  if (isWritten) return writableGitPlaces(placesOf(git, root), git)
  const named = isDirectory(git) ? git : gitFolderInFile(git)
  // Hooks that are stored in the project and linked.
  const linked = ['hooks', 'config'].map((name) => realPath(join(named ?? git, name)))
  const { readOnly, missing, madeFiles } = placesNamedInSettings(named ?? git, root)
  return {
    readOnly: [
      git,
      realPath(git),
      ...(named === undefined ? [] : [named]),
      ...linked,
      ...readOnly.map(({ path }) => path),
    ],
    missing: [...missing, ...madeFiles.map(({ path }) => path)].filter((path) => !isInside(path, named ?? git)),
    pinned: [],
    folders: [],
    files: [],
    withoutCommon: [],
  }
}

function writableGitPlaces(
  { readOnly, missing, madeFiles, folders, withoutCommon }: GitPlaces,
  git: string,
): GitProtection {
  const isIn = (path: string): boolean => folders.some((folder) => isInside(path, folder)) || isInside(path, git)
  return {
    readOnly: readOnly.map(({ path }) => path),
    pinned: folders,
    missing: [...missing, ...madeFiles.map(({ path }) => path)].filter((path) => !isIn(path)),
    folders: missing.filter(isIn),
    files: madeFiles.filter(({ path }) => isIn(path)),
    withoutCommon,
  }
}

/** The places of deny rules for reading. @throws SandboxError if one contains the folder in which the command starts. */
export function maskedBy(
  denied: DeniedPatterns,
  { roots, directory }: Pick<Options, 'roots' | 'directory'>,
): ProtectedTree['masked'] {
  const paths = [...new Set(expandPlaces(denied.read).flatMap((path) => [path, realPath(path)]))].filter(exists)
  const around = paths.find((path) => isInside(directory, path))
  if (around !== undefined)
    throw new SandboxError(
      `A deny rule for reading covers ${around}, in which the command would start, so it did not run. Work in another folder, or change the rule.`,
    )
  return [...paths, ...otherHardLinks(paths, roots)].map((path) => ({ path, isFolder: isDirectory(path) }))
}

function refuseUnnameable({ unnameable: [first] }: FolderScan): void {
  if (first === undefined) return
  throw new SandboxError(
    `${first.path} contains a repository or settings of other programs, and its name is not UTF-8, so commands cannot be confined. Rename it.`,
  )
}

function refuseTooMany(paths: readonly string[]): void {
  if (paths.length <= maxProtected) return
  throw new SandboxError(
    `${paths.length} files and folders in ${paths[0]} and others are run or read as settings by other programs. They are too many to protect from a confined command. Work in a folder below.`,
  )
}
