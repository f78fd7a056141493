import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** What is checked out is looked at again after so long: it is asked for with every frame. */
const freshMs = 2_000

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
    const head = readFileSync(join(gitFolder(cwd), 'HEAD'), 'utf8').trim()
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
      const [, path = ''] = /^gitdir: (.+)$/m.exec(readFileSync(place, 'utf8')) ?? []
      return resolve(folder, path)
    }
    if (dirname(folder) === folder) return place
  }
}
