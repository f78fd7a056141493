import { accessSync, constants } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { cachedPerJudgement } from '../files/lookup-cache.ts'
import { kernelPath, realPath } from '../files/paths.ts'
import { readGitConfig } from './config-file.ts'
import { pathKind, readSmallFile } from './small-file.ts'

/** The repository that git finds from a folder, or why that is unclear. */
export type FoundRepository =
  | ({ readonly kind: 'repository' } & GitRepository)
  | {
      readonly kind: 'unclear'
      /** Why it is unclear, in a sentence. */
      readonly why: string
      /** The folder in which git would start the search. */
      readonly folder: string
    }

/** The folders of a git repository. */
export interface GitRepository {
  /** The folder with HEAD, the index and other files of a single work tree. */
  readonly gitFolder: string
  /** The folder with objects, references and settings. */
  readonly commonFolder: string
  /** The folder with the checked-out files. */
  readonly workTree: string
}

/** Searches upwards, as git does. The result is `unclear` if git could choose another folder than the apparent one. */
export function findRepository(start: string): FoundRepository | undefined {
  return repositoryAbove(start, undefined)
}

const repositoryAbove = cachedPerJudgement((start: string, _by: undefined): FoundRepository | undefined => {
  for (let folder = start; ; folder = dirname(folder)) {
    const found = repositoryAt(folder)
    if (found !== undefined) return found
    if (dirname(folder) === folder) return undefined
  }
})

function repositoryAt(folder: string): FoundRepository | undefined {
  const dotGit = join(folder, '.git')
  const unclear = (why: string): FoundRepository => ({ kind: 'unclear', why, folder })
  switch (pathKind(dotGit)) {
    case 'missing':
      return couldBeBare(folder) ? unclear('the folder could be a bare repository with its own settings') : undefined
    case 'other':
      return unclear(`${dotGit} is a link or another special file`)
    case 'folder':
      return repositoryOf(dotGit, folder) ?? unclear(`${dotGit} is not a complete repository: git may use another one`)
    case 'file': {
      const named = gitFolderInFile(dotGit)
      const found = named === undefined ? undefined : repositoryOf(named, folder)
      return found ?? unclear(`${dotGit} does not name a repository that git accepts`)
    }
  }
}

function couldBeBare(folder: string): boolean {
  const has = (name: string): boolean => pathKind(join(folder, name)) !== 'missing'
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')))
}

/** Undefined if git does not accept it as a repository and continues the search. */
function repositoryOf(gitFolder: string, workTree: string): FoundRepository | undefined {
  const commonFolder = commonFolderOf(gitFolder)
  if (commonFolder === undefined) return undefined
  const head = readSmallFile(join(gitFolder, 'HEAD'))
  // git reads only this much of the file.
  if (typeof head === 'string' || !/^(?:ref:[ \t\r\n]*refs\/|[\dA-Fa-f]{40})/.test(head.toString('latin1', 0, 255)))
    return undefined
  if (!isSearchable(join(commonFolder, 'objects')) || !isSearchable(join(commonFolder, 'refs'))) return undefined
  return { kind: 'repository', gitFolder, commonFolder, workTree }
}

function isSearchable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The folder that a `.git` file names, exactly as git reads it: spaces at the end are part of the path. */
export function gitFolderInFile(file: string): string | undefined {
  const named = pathInFile(file, 'gitdir: ')
  return named === undefined ? undefined : realPath(resolveByLinks(named, dirname(file)))
}

/** Undefined if `commondir` cannot be read. */
export function commonFolderOf(gitFolder: string): string | undefined {
  const file = join(gitFolder, 'commondir')
  if (pathKind(file) === 'missing') return gitFolder
  const named = pathInFile(file)
  return named === undefined ? undefined : realPath(resolveByLinks(named, gitFolder))
}

function pathInFile(file: string, prefix = ''): string | undefined {
  const bytes = readSmallFile(file)
  if (typeof bytes === 'string') return undefined
  const text = bytes.toString()
  const path = text.startsWith(prefix) ? text.slice(prefix.length).replace(/[\r\n]+$/, '') : ''
  return path === '' || /[\p{Cc}\uFFFD]/u.test(path) ? undefined : path
}

/** Resolves a path in a file of git: no tilde, and a link is followed before `..` leaves its target. */
function resolveByLinks(path: string, from: string): string {
  return kernelPath(isAbsolute(path) ? path : `./${path}`, from)
}

/** Whether a path that git reads relative to a folder leads to the given folder. */
export function resolvesTo(path: string, from: string, place: string): boolean {
  return !path.includes('\uFFFD') && realPath(resolveByLinks(path, from)) === realPath(place)
}

/**
 * Whether the repository belongs to the folder that contains its `.git`: the repository is in that folder, or names that
 * folder as its work tree. Somebody who can write only the folder cannot have put that into another repository.
 */
export function isOwnRepository({ gitFolder, commonFolder, workTree }: GitRepository): boolean {
  const dotGit = join(workTree, '.git')
  if (gitFolder === dotGit) return commonFolder === gitFolder
  const isWorktree = basename(dirname(gitFolder)) === 'worktrees' && dirname(dirname(gitFolder)) === commonFolder
  if (isWorktree) {
    const back = pathInFile(join(gitFolder, 'gitdir'))
    return back !== undefined && resolvesTo(back, gitFolder, dotGit)
  }
  if (commonFolder !== gitFolder) return false
  const config = readSmallFile(join(gitFolder, 'config'))
  const settings = typeof config === 'string' ? [] : (readGitConfig(config) ?? [])
  return settings.some(
    ({ section, key, value }) =>
      section === 'core' && key === 'worktree' && value !== undefined && resolvesTo(value, gitFolder, workTree),
  )
}
