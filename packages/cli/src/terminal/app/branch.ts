import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** What is checked out is looked at again after so long: it is asked for with every frame. */
const freshMs = 2_000

/** A path or a branch is no longer. */
const mostBytes = 8 * 1024

/** The branch of a folder; '' where there is none. */
export function branchReader(cwd: string, now: () => number): () => string {
  let known: { readonly at: number; readonly branch: string } | undefined
  return () => {
    if (known === undefined || now() - known.at > freshMs) known = { at: now(), branch: branchOf(cwd) }
    return known.branch
  }
}

/** The branch that is checked out, as git has it on disk: `main`, or the beginning of a commit; '' where there is no repository. No program is run. */
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
    // A worktree has a file that says where.
    if (stats?.isFile() === true) {
      const [, path = ''] = /^gitdir: (.+)$/m.exec(beginningOf(place)) ?? []
      return resolve(folder, path)
    }
    if (dirname(folder) === folder) return place
  }
}

/**
 * Of a regular file alone, and no more than `mostBytes`: whoever made the folder chose what stands there, and a pipe or
 * a device may be waited for as long as the program lives.
 */
function beginningOf(path: string): string {
  // Opening some devices does something already.
  if (!statSync(path).isFile()) return ''
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(file).isFile()) return ''
    const bytes = Buffer.alloc(mostBytes)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, mostBytes, 0))
  } finally {
    closeSync(file)
  }
}
