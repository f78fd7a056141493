import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IndexPaths, readIndexPaths } from './index-file.ts'
import type { GitRepository } from './repository.ts'
import { hashBytesOf } from './repository-settings.ts'
import { isMissing } from './small-file.ts'

/** Maximum size of an index, about 250,000 files, so that the analysis does not take too long. */
const maxBytes = 30_000_000

/**
 * Why a command that reads tracked files could read other files. git opens the paths of the index as they are, and `git
 * grep` follows links on the way.
 */
export function indexProblem(found: GitRepository, entersSubmodules: boolean): string | undefined {
  const { gitFolder, workTree } = found
  const hashBytes = hashBytesOf(found)
  for (const file of indexFiles(gitFolder)) {
    const paths = readPathsCached(file, hashBytes)
    if (typeof paths === 'string') return paths
    if (entersSubmodules && paths.hasSubmodules) return 'it enters submodules, which have their own settings'
    const link = [...paths.folders].find((folder) => isLink(workTree, folder))
    if (link !== undefined)
      return `${join(workTree, asText(link))} is a link where the repository has a folder of tracked files`
  }
  return undefined
}

function indexFiles(gitFolder: string): readonly string[] {
  try {
    const names = readdirSync(gitFolder).filter((name) => name === 'index' || name.startsWith('sharedindex.'))
    return names.map((name) => join(gitFolder, name))
  } catch {
    return [join(gitFolder, 'index')]
  }
}

/** The most recent results: one command line requests them many times, mostly for one repository. */
const indexCache = new Map<string, { readonly stamp: string; readonly paths: IndexPaths }>()
const maxKnown = 4

function readPathsCached(file: string, hashBytes: number): IndexPaths | string {
  try {
    const stats = lstatSync(file)
    if (!stats.isFile()) return `${file} is not a plain file`
    if (stats.size > maxBytes) return `${file} is too large to check`
    const stamp = `${hashBytes}:${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`
    const before = indexCache.get(file)
    if (before?.stamp === stamp) return before.paths
    const paths = readIndexPaths(readFileSync(file), hashBytes)
    if (paths === undefined) return `${file} names files outside of the work tree, or cannot be parsed`
    // A file written just now may change again within the same clock tick.
    if (Date.now() - Math.max(stats.mtimeMs, stats.ctimeMs) > 3_000) {
      if (indexCache.size >= maxKnown) indexCache.clear()
      indexCache.set(file, { stamp, paths })
    }
    return paths
  } catch (error) {
    return isMissing(error) ? { hasSubmodules: false, folders: new Set() } : `${file} cannot be read`
  }
}

/** Whether the path is a link. Accepts the name as bytes, which need not be UTF-8. */
function isLink(workTree: string, folder: string): boolean {
  try {
    return lstatSync(Buffer.concat([Buffer.from(`${workTree}/`), Buffer.from(folder, 'latin1')])).isSymbolicLink()
  } catch {
    return false
  }
}

function asText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}
