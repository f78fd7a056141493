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
  /** What is not there and is obeyed later, and cannot be kept from coming to be: it is told when it did. */
  readonly unprotected: readonly string[]
  /** Files that stand there while commands run. */
  readonly madeFiles: readonly MadeFile[]
  /** Git folders, in which `commondir` must not come to be: it would lead git to another config. */
  readonly gitFolders: readonly string[]
  /** Folders that must not become a repository themselves, beside their `.git`: they would bring settings. */
  readonly plain: readonly string[]
}

/** What must stay as it is inside a folder that can be written. */
export function protectedPlaces(root: string, plain: ReadonlySet<string> = new Set()): ProtectedPlaces {
  const isGit = !plain.has(root) && isGitFolder(root)
  const git = gitPlacesIn(root, isGit)
  const obeyed = readOnlyInSandbox
    .flatMap((name) => resolvedPlace(root, name))
    .map((path) => ({ path, kind: kindOf(path) }))
  const readOnly = obeyed.flatMap(({ path, kind }) => (kind === undefined ? [] : [{ path, kind }]))
  // Where `.git` is broken, git takes the folder itself for a repository; with a `commondir` that is a folder it gives up.
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

/** The path of a name in a folder. A folder in between may be a link: what that leads to out of the folder, no command can write. */
function resolvedPlace(root: string, name: string): readonly string[] {
  const path = join(root, name)
  if (!name.includes('/')) return [path]
  const real = join(realPath(dirname(path)), basename(path))
  return isInside(real, root) ? [real] : []
}

/** The folder that it would lie in is one, or can be made: below a link nothing is mounted. */
function canBeReserved(path: string): boolean {
  const parent = dirname(path)
  return !exists(parent) || (realPath(parent) === parent && kindOf(parent) === 'folder')
}
