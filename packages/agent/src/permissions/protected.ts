import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { allEntries } from '../first-entries.ts'
import { bothEnds, isInside, realPath, statOf } from '../paths.ts'

/** What is written here is run or obeyed later without anybody being asked again. */
const folders: ReadonlySet<string> = new Set(
  '.git .halting .claude .husky .vscode .idea .ssh .gnupg .aws .kube .docker .cargo .circleci .buildkite .devcontainer .githooks'.split(
    ' ',
  ),
)
const files: ReadonlySet<string> = new Set(
  (
    '.mcp.json .claude.json .gitmodules .gitconfig .gitattributes .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc pip.conf .netrc .envrc ' +
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc ' +
    '.ripgreprc rust-toolchain rust-toolchain.toml .prototools .tool-versions mise.toml .mise.toml .gitlab-ci.yml .travis.yml jenkinsfile azure-pipelines.yml ' +
    'bitbucket-pipelines.yml .pre-commit-config.yaml lefthook.yml .lefthook.yml bunfig.toml .gemrc'
  ).split(' '),
)

/** Whether a path inside one of the directories is asked about also where edits are accepted. Case counts for nothing. */
export function isProtected(path: string, directories: readonly string[]): boolean {
  // Where the project lies in such a folder, what stands beside it there is meant.
  const isOwn = (folder: string): boolean =>
    isInside(path, folder) &&
    (dirname(path) === folder || !directories.some((directory) => isInside(directory, folder)))
  if (ownFolders().some(isOwn)) return true
  const root = directories.find((directory) => isInside(path, directory)) ?? ''
  const names = path.slice(root.length).toLowerCase().split('/')
  const isWorkflow = names.some(
    (name, at) =>
      name === '.github' && (names[at + 1] === 'workflows' || names[at + 1] === 'actions' || at === names.length - 1),
  )
  return isWorkflow || names.some((name) => folders.has(name)) || files.has(names.at(-1) ?? '')
}

/** Where a person has put their settings and whom they trust, under whatever name. */
function ownFolders(): readonly string[] {
  return ['HALTING_CONFIG_DIR', 'CLAUDE_CONFIG_DIR'].flatMap((name) => {
    const folder = process.env[name]
    return folder === undefined || folder === '' ? [] : bothEnds(resolve(folder))
  })
}

/** A file with other names, of which some may lie elsewhere: what is written to it is written there. */
export function hasOtherNames(path: string): boolean {
  const stats = statOf(path)
  return stats?.isFile() === true && stats.nlink > 1
}

const mostEntries = 5000

/** Whether a folder holds, however deep, what is protected, or a link that leads out; also when it holds too much to look at. */
export function holdsProtected(folder: string, directories: readonly string[]): boolean {
  const open = [folder]
  let left = mostEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if ((left -= 1) < 0) return true
    const kind = kindOf(next)
    if (kind === 'none') continue
    if (isProtected(next, directories)) return true
    if (kind === 'link') {
      const end = realPath(next)
      if (!directories.some((directory) => isInside(end, directory)) || isProtected(end, directories)) return true
    }
    if (kind === 'folder') {
      const names = namesIn(next, left)
      if (names === undefined) return true
      for (const name of names) open.push(join(next, name))
    }
  }
  return false
}

function kindOf(path: string): 'none' | 'link' | 'folder' | 'file' {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'folder' : 'file'
  } catch {
    return 'none'
  }
}

/** Undefined for more than that, and for names that are not text. */
function namesIn(folder: string, most: number): readonly string[] | undefined {
  try {
    return allEntries(folder, Math.max(0, most))?.map(({ name }) => name)
  } catch {
    return undefined
  }
}
