import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SandboxError } from './sandbox-error.ts'
import type { Place } from './description.ts'

/** What is written here runs or is obeyed later, outside, by git, an editor, a shell or this program. */
const neverMade = ['.git', '.halting', '.claude', '.mcp.json', '.vscode', '.idea']
const readOnlyWhereThere = [
  ...neverMade.filter((name) => name !== '.git'),
  '.husky',
  '.envrc',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.gitmodules',
  '.gitconfig',
  '.ripgreprc',
  '.ssh',
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.profile',
  '.zshrc',
  '.zprofile',
  '.zshenv',
  '.zlogin',
  '.github/workflows',
  '.gitlab-ci.yml',
]

export interface ProtectedPlaces {
  readonly readOnly: readonly Place[]
  readonly pinned: readonly string[]
  readonly missing: readonly string[]
  /** Git folders, in which `commondir` must not come to be: it would lead git to another config. */
  readonly gitFolders: readonly string[]
}

/** What must stay as it is inside a folder that can be written. */
export function protectedPlaces(root: string): ProtectedPlaces {
  const git = gitPlaces(join(root, '.git'))
  const nested = nestedGitFolders(root).map(gitPlaces)
  const readOnly = readOnlyWhereThere.flatMap((name) => placeAt(join(root, name)) ?? [])
  const missing = neverMade.map((name) => join(root, name)).filter((path) => kindOf(path) === undefined)
  const all = [git, ...nested]
  const places = [...readOnly, ...all.flatMap((one) => one.readOnly)]
  return {
    readOnly: places,
    missing: [...missing, ...all.flatMap((one) => one.missing)],
    pinned: [
      ...new Set([
        ...all.flatMap((one) => one.gitFolders),
        ...places.flatMap(({ path }) => foldersBetween(root, path)),
        ...all.flatMap((one) => one.gitFolders).flatMap((path) => foldersBetween(root, path)),
      ]),
    ],
    gitFolders: all.flatMap((one) => one.gitFolders),
  }
}

/** The folders above a path, inside the root: by renaming one of them the path would lead elsewhere. */
export function foldersBetween(root: string, path: string): readonly string[] {
  const names = path.slice(root.length).split('/').filter(Boolean).slice(0, -1)
  return names.map((_, index) => join(root, ...names.slice(0, index + 1)))
}

type GitPlaces = Omit<ProtectedPlaces, 'pinned'>
const none: GitPlaces = { readOnly: [], missing: [], gitFolders: [] }

function gitPlaces(git: string): GitPlaces {
  const kind = kindOf(git)
  if (kind === undefined) return none
  // The `.git` of a worktree or submodule is a file that says where the folder is.
  if (kind === 'file') return { ...none, readOnly: [{ path: git, kind }] }
  const own = partsOfGitFolder(git)
  const modules = namesIn(join(git, 'modules')).map((name) => partsOfGitFolder(join(git, 'modules', name)))
  const parts = [own, ...modules]
  return {
    readOnly: parts.flatMap((part) => part.readOnly),
    missing: parts.flatMap((part) => part.missing),
    gitFolders: parts.flatMap((part) => part.gitFolders),
  }
}

function partsOfGitFolder(git: string): GitPlaces {
  if (kindOf(git) !== 'folder') return none
  const [config, hooks] = [join(git, 'config'), join(git, 'hooks')]
  const readOnly = [config, hooks, join(git, 'config.worktree')].flatMap((path) => placeAt(path) ?? [])
  const missing = [hooks].filter((path) => kindOf(path) === undefined)
  return { readOnly, missing, gitFolders: kindOf(config) === undefined ? [] : [git] }
}

const deepestRepository = 3
const mostFolders = 2_000

/** Repositories inside the project: submodules and clones. So deep and so many as a look of some milliseconds finds. */
function nestedGitFolders(root: string): readonly string[] {
  const found: string[] = []
  let foldersLeft = mostFolders
  const look = (folder: string, depth: number): void => {
    for (const name of foldersIn(folder)) {
      foldersLeft -= 1
      if (foldersLeft < 0) return
      if (name === '.git' || name === 'node_modules') continue
      const inner = join(folder, name)
      if (kindOf(join(inner, '.git')) !== undefined) found.push(join(inner, '.git'))
      if (depth < deepestRepository) look(inner, depth + 1)
    }
  }
  look(root, 1)
  return found
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch {
    return []
  }
}

function namesIn(folder: string): readonly string[] {
  return foldersIn(folder)
}

function placeAt(path: string): Place | undefined {
  const kind = kindOf(path)
  return kind === undefined ? undefined : { path, kind }
}

/**
 * What stands at a path; undefined for nothing.
 * @throws SandboxError for a link: nothing can be mounted over it, so that it could be replaced.
 */
function kindOf(path: string): Place['kind'] | undefined {
  const stats = lstatIfThere(path)
  if (stats === undefined) return undefined
  if (!stats.isSymbolicLink()) return stats.isDirectory() ? 'folder' : 'file'
  throw new SandboxError(
    `${path} is a link, which the sandbox cannot keep from being replaced. Put the file or folder itself in its place.`,
  )
}

function lstatIfThere(path: string): ReturnType<typeof lstatSync> | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
