import { dirname, join } from 'node:path'
import type { PathBytes } from '../files/first-entries.ts'
import { type GitSetting, isInclude, pathInSetting, readGitConfig } from '../git/config-file.ts'
import { gitFolderInFile } from '../git/repository.ts'
import { isInside, realPath, statOf } from '../files/paths.ts'
import type { Place } from './description.ts'
import { firstMissing, foldersByBytes, foldersIn, exists, kindOf, placeAt, textAt } from './on-disk.ts'
import { SandboxError } from './sandbox-error.ts'

/** Control files of git in a writable folder. */
export interface GitPlaces {
  readonly readOnly: readonly Place[]
  readonly missing: readonly string[]
  /** Files that exist while commands run, as another content would redirect git. Their content is equivalent to a missing file. */
  readonly madeFiles: readonly MadeFile[]
  readonly folders: readonly string[]
  /** Git folders in which `commondir` cannot be created beforehand: it is removed when a command has ended. */
  readonly withoutCommon: readonly string[]
}

/** A file that is created before a command runs in the sandbox. */
export interface MadeFile {
  /** Path of the file. */
  readonly path: string
  /** Its text. */
  readonly text: string
}

const noPlaces: GitPlaces = { readOnly: [], missing: [], madeFiles: [], folders: [], withoutCommon: [] }

/** Every git folder that git would find from a folder or below it, within the depth and number that a scan of some milliseconds allows. */
export function gitPlacesIn(root: string, isGit: boolean): GitPlaces {
  const own = isGit ? partsOf(root, root) : /\/\.git\//.test(root) ? modulesIn(root, root) : noPlaces
  return joinPlaces([own, ...[join(root, '.git'), ...nestedRepositories(root)].map((git) => placesOf(git, root))])
}

/** The control files of one git folder, which is named by a `.git` in a writable folder. */
export function placesOf(git: string, root: string): GitPlaces {
  const kind = kindOf(git)
  if (kind === undefined) return noPlaces
  if (kind === 'folder') return joinPlaces([partsOf(git, root), modulesIn(join(git, 'modules'), root)])
  // The `.git` of a worktree or submodule is a file that names the folder.
  const folder = gitFolderInFile(git)
  const isOpen = folder !== undefined && isInside(folder, root) && !folder.includes('/.git/')
  return joinPlaces([{ ...noPlaces, readOnly: [{ path: git, kind }] }, isOpen ? partsOf(folder, root) : noPlaces])
}

/** Whether git would treat a folder without a `.git` as a repository. */
export function isGitFolder(folder: string): boolean {
  const has = (name: string): boolean => exists(join(folder, name))
  return has('HEAD') && ((has('objects') && has('refs')) || textAt(join(folder, 'commondir')) !== '')
}

function partsOf(git: string, root: string): GitPlaces {
  if (kindOf(git) !== 'folder') return noPlaces
  const at = (name: string): string => join(git, name)
  const isMissing = (name: string): boolean => kindOf(at(name)) === undefined
  const config = settingsIn(at('config'))
  const has = (section: string, name: string): boolean =>
    config.some(
      (set) => set.section === section && set.key === name && !/^(?:false|no|off|0?)$/i.test(set.value ?? 'true'),
    )
  const hasOwnCommon = !isMissing('commondir')
  // With such a setting git uses `commondir` differently. In a submodule both uses lead to the same folder.
  const heedsCommon = (has('core', 'bare') || has('core', 'worktree')) && !git.includes('/modules/')
  const perWorktree = has('extensions', 'worktreeconfig') ? ['config.worktree'] : []
  const trees = foldersIn(at('worktrees'), refuseUnnameable).map((name) => at(`worktrees/${name}`))
  const settings = ['config', 'config.worktree', 'commondir', 'gitdir', 'hooks']
  const empty = [
    ...(hasOwnCommon ? [] : ['config']),
    ...perWorktree,
    ...trees.flatMap((tree) => perWorktree.map((name) => join(tree.slice(git.length), name))),
  ]
  return joinPlaces([
    {
      readOnly: [git, ...trees].flatMap((folder) => settings.flatMap((name) => placeAt(join(folder, name)))),
      missing: hasOwnCommon ? [] : ['hooks'].filter(isMissing).map(at),
      madeFiles: [
        ...empty.filter(isMissing).map((name) => ({ path: at(name), text: '' })),
        ...(hasOwnCommon || heedsCommon ? [] : [{ path: at('commondir'), text: '.\n' }]),
      ],
      folders: [git],
      withoutCommon: heedsCommon && !hasOwnCommon ? [git] : [],
    },
    namedPaths([...config, ...settingsIn(at('config.worktree'))], git, root),
  ])
}

/** Only the places outside a git folder that its settings name: hooks and further settings in the project. */
export function placesNamedInSettings(git: string, root: string): GitPlaces {
  const files = ['config', 'config.worktree'].map((name) => join(git, name))
  return namedPaths(files.flatMap(settingsIn), git, root)
}

function settingsIn(file: string): readonly GitSetting[] {
  return readGitConfig(Buffer.from(textAt(file))) ?? []
}

/** Hooks and further settings in the project that the settings of its repository name. */
function namedPaths(settings: readonly GitSetting[], folder: string, root: string, depth = 0): GitPlaces {
  const places = settings.map(({ section, key, value = '' }): GitPlaces => {
    const isHooks = section === 'core' && key === 'hookspath'
    if (!isHooks && !isInclude(section, key)) return noPlaces
    const named = value === '' ? undefined : pathInSetting(value, isHooks ? dirname(folder) : folder)
    const path = named === undefined ? root : realPath(named)
    if (path === root || !isInside(path, root)) return noPlaces
    if (kindOf(path) !== undefined) {
      const further = isHooks || depth > 4 ? noPlaces : namedPaths(settingsIn(path), dirname(path), root, depth + 1)
      return joinPlaces([{ ...noPlaces, readOnly: placeAt(path) }, further])
    }
    const [first = path] = firstMissing(path)
    return isHooks || first !== path
      ? { ...noPlaces, missing: [first] }
      : { ...noPlaces, madeFiles: [{ path, text: '' }] }
  })
  return joinPlaces(places)
}

const deepestName = 4

/** Git folders of submodules. A name may contain slashes, and a submodule may have submodules. */
function modulesIn(folder: string, root: string, depth = 1): GitPlaces {
  const found = foldersIn(folder, refuseUnnameable).map((name): GitPlaces => {
    const inner = join(folder, name)
    if (exists(join(inner, 'HEAD'))) return joinPlaces([partsOf(inner, root), modulesIn(join(inner, 'modules'), root)])
    return depth < deepestName ? modulesIn(inner, root, depth + 1) : noPlaces
  })
  return joinPlaces(found)
}

/** @throws SandboxError Always: nothing can be mounted over a path that no string can name. */
function refuseUnnameable({ path }: PathBytes): void {
  throw new SandboxError(
    `${path} is or contains a repository, and its name is not UTF-8, so the sandbox cannot protect its settings. Rename it.`,
  )
}

const deepestRepository = 3
const maxFolders = 2_000

/** Repositories inside the project: submodules, clones, and folders called `x.git`. */
function nestedRepositories(root: string): readonly string[] {
  const found: string[] = []
  let foldersLeft = maxFolders
  const look = (folder: string, depth: number): void => {
    const lookByBytes = (unnameable: PathBytes, left: number): void => {
      foldersLeft -= 1
      const has = (name: string): boolean =>
        statOf(Buffer.concat([unnameable.bytes, Buffer.from(`/${name}`)])) !== undefined
      if (has('.git') || has('HEAD')) refuseUnnameable(unnameable)
      if (left < deepestRepository && foldersLeft > 0)
        for (const inner of foldersByBytes(unnameable)) lookByBytes(inner, left + 1)
    }
    for (const name of foldersIn(folder, (unnameable) => lookByBytes(unnameable, depth))) {
      foldersLeft -= 1
      if (foldersLeft < 0) return
      if (name === '.git' || name === 'node_modules') continue
      const inner = join(folder, name)
      if (exists(join(inner, '.git'))) found.push(join(inner, '.git'))
      if (name.endsWith('.git') && isGitFolder(inner)) found.push(inner)
      if (depth < deepestRepository) look(inner, depth + 1)
    }
  }
  look(root, 1)
  return found
}

function joinPlaces(all: readonly GitPlaces[]): GitPlaces {
  return {
    readOnly: all.flatMap((one) => one.readOnly),
    missing: all.flatMap((one) => one.missing),
    madeFiles: all.flatMap((one) => one.madeFiles),
    folders: all.flatMap((one) => one.folders),
    withoutCommon: all.flatMap((one) => one.withoutCommon),
  }
}
