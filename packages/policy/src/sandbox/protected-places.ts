import { basename, dirname, join } from 'node:path'
import { neverMadeInSandbox, readOnlyInSandbox } from '../control-files.ts'
import { isInside, realPath } from '../files/paths.ts'
import type { Place } from './description.ts'
import { gitPlacesIn, isGitFolder, type MadeFile } from './git-places.ts'
import { foldersBetween, exists, kindOf, placeAt } from './on-disk.ts'

export interface ProtectedPlaces {
  readonly readOnly: readonly Place[]
  readonly pinned: readonly string[]
  readonly missing: readonly string[]
  /** Missing control files whose creation cannot be prevented: their creation is reported. */
  readonly unprotected: readonly string[]
  /** Files that exist while commands run. */
  readonly madeFiles: readonly MadeFile[]
  /** Git folders in which `commondir` must not be created: it would redirect git to other settings. */
  readonly gitFolders: readonly string[]
  /** Folders that must not become bare repositories next to their `.git`: these would bring settings. */
  readonly plain: readonly string[]
}

/** What must remain unchanged inside a writable folder. */
export function protectedPlaces(root: string, plain: ReadonlySet<string> = new Set()): ProtectedPlaces {
  const isGit = !plain.has(root) && isGitFolder(root)
  const git = gitPlacesIn(root, isGit)
  const obeyed = readOnlyInSandbox
    .flatMap((name) => resolvedPlace(root, name))
    .map((path) => ({ path, kind: kindOf(path) }))
  const readOnly = obeyed.flatMap(({ path, kind }) => (kind === undefined ? [] : [{ path, kind }]))
  // If `.git` is broken, git treats the folder itself as a repository. If `commondir` is a folder, git gives up.
  const common = isGit ? [] : [join(root, 'commondir')]
  const notThere = neverMadeInSandbox.map((name) => join(root, name)).filter((path) => kindOf(path) === undefined)
  const missing = [...notThere.filter(canBeReserved), ...common.filter((path) => kindOf(path) === undefined)]
  const others = obeyed.flatMap(({ path, kind }) => (kind === undefined ? [path] : []))
  const places = [...readOnly, ...git.readOnly, ...common.flatMap(placeAt)]
  const within = [...git.folders, ...[...places, ...git.madeFiles].map(({ path }) => path), ...missing, ...git.missing]
  return {
    readOnly: places,
    missing: [...new Set([...missing, ...git.missing])],
    unprotected: [...new Set([...notThere, ...others])].filter((path) => !missing.includes(path)),
    madeFiles: [...new Map(git.madeFiles.map((file) => [file.path, file])).values()],
    pinned: [
      ...new Set([
        ...git.folders.filter((folder) => folder !== root),
        ...within.flatMap((path) => foldersBetween(root, path)),
      ]),
    ],
    gitFolders: git.withoutCommon,
    plain: isGit ? [] : [root],
  }
}

/** The path of a name in a folder. If a link in between leads out of the folder, no command can write its target. */
function resolvedPlace(root: string, name: string): readonly string[] {
  const path = join(root, name)
  if (!name.includes('/')) return [path]
  const real = join(realPath(dirname(path)), basename(path))
  return isInside(real, root) ? [real] : []
}

/** Whether its folder is real or can be created: nothing is mounted below a link. */
function canBeReserved(path: string): boolean {
  const parent = dirname(path)
  return !exists(parent) || (realPath(parent) === parent && kindOf(parent) === 'folder')
}
