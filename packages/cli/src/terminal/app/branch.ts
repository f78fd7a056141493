import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** How long a branch is cached, in milliseconds, because it is requested for every frame. */
const freshMs = 2_000

/** Maximum number of bytes to read; no path or branch name is longer. */
const maxBytes = 8 * 1024

/** Returns a function that reads the branch of a folder; '' without a repository. */
export function branchReader(cwd: string, now: () => number): () => string {
  let known: { readonly at: number; readonly branch: string } | undefined
  return () => {
    if (known === undefined || now() - known.at > freshMs) known = { at: now(), branch: branchOf(cwd) }
    return known.branch
  }
}

/** The current branch, read from the files of git without running it: `main`, or the beginning of a commit; '' without a repository. */
function branchOf(cwd: string): string {
  try {
    const [head = ''] = beginningOf(join(gitFolder(cwd), 'HEAD'))
      .trim()
      .split('\n')
    return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8)
  } catch {
    return ''
  }
}

function gitFolder(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const place = join(folder, '.git')
    const stats = statSync(place, { throwIfNoEntry: false })
    if (stats?.isDirectory() === true) return place
    // In a worktree, `.git` is a file with the path of the git folder.
    if (stats?.isFile() === true) {
      const [, path = ''] = /^gitdir: (.+)$/m.exec(beginningOf(place)) ?? []
      return resolve(folder, path)
    }
    if (dirname(folder) === folder) return place
  }
}

/**
 * Reads at most `maxBytes` of a regular file. The owner of the folder may have put a pipe or device there,
 * and reading it could block forever.
 */
function beginningOf(path: string): string {
  // The type is checked first, because opening some devices has side effects.
  if (!statSync(path).isFile()) return ''
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(file).isFile()) return ''
    const bytes = Buffer.alloc(maxBytes)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, maxBytes, 0))
  } finally {
    closeSync(file)
  }
}
