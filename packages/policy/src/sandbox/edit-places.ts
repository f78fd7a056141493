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

/** What stays as it is in the directories that a command can write. */
export interface ProtectedTree {
  readonly readOnly: readonly string[]
  /** Git folders that are written, mounted so that they cannot be replaced, caches in folders that are read-only, and folders above what is shut by its place. */
  readonly pinned: readonly string[]
  /** Neither read nor written. */
  readonly masked: readonly { readonly path: string; readonly isFolder: boolean }[]
  /** Paths at which nothing is, and nothing may be when the command has ended. */
  readonly missing: readonly string[]
  /** What stands in git folders while the command runs. */
  readonly placeholders: { readonly folders: readonly string[]; readonly files: readonly MadeFile[] }
  /** Git folders in which `commondir` is removed when the command has ended. */
  readonly withoutCommon: readonly string[]
}

interface Options {
  /** The directories of the session, by where they lead. */
  readonly roots: readonly string[]
  readonly confinement: EditConfinement
  readonly keptFolders: readonly string[]
  readonly scan: FolderScan
  /** Sockets on which somebody outside may listen. */
  readonly sockets: readonly string[]
  /** The folder in which the command starts. */
  readonly directory: string
}

const maxProtected = 1_000

/** Says what is shut for one command. @throws SandboxError where something cannot be. */
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
  const kept = [...packagesOf([fileURLToPath(import.meta.url), process.execPath]), ...options.keptFolders]
  const denied = expandPlaces(confinement.denied.edit).flatMap((path) => [path, realPath(path)])
  const packages = linkedPackages(scan.packages)
  const readOnly = [
    ...git.flatMap((one) => one.readOnly),
    ...packages.readOnly,
    ...obeyed,
    ...[...kept, ...denied, ...otherHardLinks(denied, roots)].map(realPath),
  ]
  // Over a link nothing is mounted: it is compared afterwards.
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

/** Whether what a pattern names is no longer named when the folder in which it is has another name. */
function isProtectedByPlace({ glob: [first, ...rest] }: PlacePattern): boolean {
  return first !== 'any' || rest.filter((part) => part !== 'any').length > 1
}

/** Moved with one of these, a path would be open to the next command. */
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

/** Of a git folder that is not written, all of it, and what its settings name outside of it. */
function gitPlaces(git: string, root: string, isWritten: boolean): GitProtection {
  if (isWritten) return writableGitPlaces(placesOf(git, root), git)
  const named = isDirectory(git) ? git : gitFolderInFile(git)
  // Hooks that are kept in the project, and linked to.
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

/** What deny rules for reading name. @throws SandboxError where that holds the folder in which the command starts. */
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
    `${first.path} holds something that is obeyed later (a repository, settings of an editor), and its name is not UTF-8: commands cannot be confined beside it. Rename it.`,
  )
}

function refuseTooMany(paths: readonly string[]): void {
  if (paths.length <= maxProtected) return
  throw new SandboxError(
    `${paths.length} files and folders in ${paths[0]} and others are obeyed later, too many to shut for a confined command. Work in a folder below.`,
  )
}
