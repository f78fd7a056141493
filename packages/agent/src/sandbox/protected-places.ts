import { join } from 'node:path'
import type { Place } from './description.ts'
import { gitPlacesIn, isGitFolder, type MadeFile } from './git-places.ts'
import { foldersBetween, kindOf, placeAt } from './on-disk.ts'

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
  /** Files that stand there while commands run. */
  readonly made: readonly MadeFile[]
  /** Git folders, in which `commondir` must not come to be: it would lead git to another config. */
  readonly gitFolders: readonly string[]
  /** Folders that must not become a repository themselves, beside their `.git`: they would bring settings. */
  readonly plain: readonly string[]
}

/** What must stay as it is inside a folder that can be written. */
export function protectedPlaces(root: string, plain: ReadonlySet<string> = new Set()): ProtectedPlaces {
  const isGit = !plain.has(root) && isGitFolder(root)
  const git = gitPlacesIn(root, isGit)
  const readOnly = readOnlyWhereThere.flatMap((name) => placeAt(join(root, name)))
  // Where `.git` is broken, git takes the folder itself for a repository; with a `commondir` that is a folder it gives up.
  const common = isGit ? [] : [join(root, 'commondir')]
  const missing = [...neverMade.map((name) => join(root, name)), ...common].filter((path) => kindOf(path) === undefined)
  const places = [...readOnly, ...git.readOnly, ...common.flatMap(placeAt)]
  const within = [...git.folders, ...[...places, ...git.made].map(({ path }) => path), ...git.missing]
  return {
    readOnly: places,
    missing: [...new Set([...missing, ...git.missing])],
    made: [...new Map(git.made.map((file) => [file.path, file])).values()],
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
