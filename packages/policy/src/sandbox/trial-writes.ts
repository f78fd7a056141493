import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { EmptiedFolder, TrialMounts } from './trial-mounts.ts'

/** Larger files that were opened for writing count as changed, without a comparison. */
const maxComparedBytes = 64n * 1024n * 1024n

export interface TrialWrites {
  /** A path, as the command saw it, that it created, changed or removed. */
  readonly changed: string | undefined
  /** Written files that are equal as far as Node can see. Their attributes, and whether a folder was replaced, must still be compared. */
  readonly same: readonly SamePlace[]
}

/** A written file, and the file that existed before. */
export interface SamePlace {
  readonly upper: string
  /** Undefined for a folder that was created for the command. */
  readonly lower: string | undefined
  /** The path for the command. */
  readonly at: string
}

/** What a tried command wrote and would have left. Ignores throwaway files of tools. */
export function writesOfTrial({ workspace, emptied, mountPoints, madeFolders, startMs }: TrialMounts): TrialWrites {
  const same: SamePlace[] = []
  for (const { upper, at } of workspace) {
    const changed = changedBelow({ upper, lower: at, path: '' }, { root: at, startMs, same })
    if (changed !== undefined) return { changed: join(at, changed), same: [] }
  }
  for (const folder of emptied) {
    const changed = changedInEmptied(folder, { mountPoints, madeFolders })
    if (changed !== undefined) return { changed, same: [] }
    same.push({ upper: folder.folder, lower: undefined, at: folder.at })
  }
  return { changed: undefined, same }
}

interface Pair {
  readonly upper: string
  readonly lower: string
  /** Relative to the directory of the session. */
  readonly path: string
}

interface Comparison {
  /** The directory of the session. */
  readonly root: string
  readonly startMs: number
  readonly same: SamePlace[]
}

/** The first path that differs from the lower folder. */
function changedBelow({ upper, lower, path }: Pair, comparison: Comparison): string | undefined {
  const [now, before] = [statsOf(upper), statsOf(lower)]
  // The command wrote nothing here.
  if (now === undefined) return undefined
  if (path !== '' && isThrowaway(path) && now.isDirectory()) return undefined
  if (!now.isDirectory() && isThrowaway(path) && now.isFile()) return undefined
  const changed = now.isDirectory() ? changedFolder(now, before, path, comparison) : changedFile(upper, lower, path)
  if (changed !== undefined) return changed
  comparison.same.push({ upper, lower, at: join(comparison.root, path) })
  if (!now.isDirectory()) return undefined
  for (const name of namesIn(upper)) {
    // The name is not UTF-8, so the file cannot be inspected.
    if (name.includes('\uFFFD')) return join(path, name)
    const below = { upper: join(upper, name), lower: join(lower, name), path: join(path, name) }
    const inside = changedBelow(below, comparison)
    if (inside !== undefined) return inside
  }
  return undefined
}

/** File times have the resolution of a clock tick. */
const tickMs = 100

/** Detects a folder in which a file was created and removed, by the time of the folder, which is then within the trial. */
function changedFolder(
  now: BigIntStats,
  before: BigIntStats | undefined,
  path: string,
  { startMs }: Comparison,
): string | undefined {
  if (before?.isDirectory() !== true || differs(now, before)) return path
  const isOfTrial = now.mtimeMs >= startMs - tickMs && now.mtimeMs <= Date.now() + tickMs
  return now.mtimeNs === before.mtimeNs || isOfTrial ? undefined : path
}

function changedFile(upper: string, lower: string, path: string): string | undefined {
  const [now, before] = [statsOf(upper), statsOf(lower)]
  if (now === undefined) return undefined
  // A device in an upper layer marks a removed file.
  if (before === undefined || differs(now, before) || now.mtimeNs !== before.mtimeNs) return path
  if (now.isSymbolicLink()) return readlinkSync(upper) === readlinkSync(lower) ? undefined : path
  if (!now.isFile() || now.size !== before.size || now.size > maxComparedBytes) return path
  return readFileSync(upper).equals(readFileSync(lower)) ? undefined : path
}

function differs(now: BigIntStats, before: BigIntStats): boolean {
  return now.mode !== before.mode || now.uid !== before.uid || now.gid !== before.gid
}

/** What a command created in an empty folder, except for mounts and folders of bubblewrap; or the folder itself if its mode has changed. */
function changedInEmptied(
  { folder, at, mode }: EmptiedFolder,
  mounts: Pick<TrialMounts, 'mountPoints' | 'madeFolders'>,
): string | undefined {
  const now = statsOf(folder)?.mode
  if (now === undefined || (Number(now) & 0o7777) !== mode) return at
  return firstMadeBelow(folder, at, mounts, at === '/tmp')
}

function firstMadeBelow(
  folder: string,
  at: string,
  mounts: Pick<TrialMounts, 'mountPoints' | 'madeFolders'>,
  isTemporary: boolean,
): string | undefined {
  const { mountPoints, madeFolders } = mounts
  for (const name of namesIn(folder)) {
    const path = join(at, name)
    if (mountPoints.has(path)) continue
    if (isTemporary && isThrowawayTemporary(name)) continue
    const isForMount = madeFolders.has(path) || [...mountPoints].some((point) => point.startsWith(`${path}/`))
    if (!isForMount || statsOf(join(folder, name))?.isDirectory() !== true) return path
    const made = firstMadeBelow(join(folder, name), path, mounts, false)
    if (made !== undefined) return made
  }
  return undefined
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(folder).toSorted()
}

function statsOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

/** A name of files that tools recreate when they are missing, so that they do not count as a change. */
interface ThrowawayName {
  /** Matches a name, or the end of a path. */
  readonly fits: RegExp
  /** The tool that creates such files. */
  readonly of: string
}

/** Names of throwaway files in the workspace. */
const inWorkspace: readonly ThrowawayName[] = [
  { fits: /(?:^|\/)__pycache__$/, of: 'bytecode that Python compiles from sources' },
  { fits: /(?:^|\/)\.pytest_cache$/, of: 'which tests failed last time' },
  { fits: /(?:^|\/)\.mypy_cache$/, of: 'types that mypy inferred' },
  { fits: /(?:^|\/)\.ruff_cache$/, of: 'results of ruff by file' },
  { fits: /(?:^|\/)node_modules\/(?:\.cache|\.vite|\.vitest)$/, of: 'caches of loaders, vite and vitest' },
  { fits: /(?:^|\/)\.(?:eslint|stylelint|prettier)cache$/, of: 'results of linters by file' },
  { fits: /(?:^|\/)\.phpunit\.result\.cache$/, of: 'the order of tests of PHPUnit' },
  { fits: /\.tsbuildinfo$/, of: 'what tsc compiled last time' },
]

/** In `/tmp`: folders that tools leave behind and reuse, and that nobody misses. */
const inTemporary: readonly ThrowawayName[] = [
  { fits: /^pytest-of-[^/]+$/, of: 'folders of the last tests of pytest' },
  { fits: /^(?:node-compile-cache|v8-compile-cache-\d+)$/, of: 'compiled scripts of Node' },
  {
    fits: /^(?:jest_\w+|tsx-\d+|ts-node-[^/]+|esbuild-\w+|vite-node-\w+)$/,
    of: 'compiled sources of JavaScript tools',
  },
  { fits: /^hsperfdata_[^/]+$/, of: 'counters of Java' },
  { fits: /^(?:go-build|gopath)[^/]*$/, of: 'what go compiled' },
]

/** Whether tools recreate the file at a path (relative to a directory of the session) when it is missing. */
export function isThrowaway(path: string): boolean {
  return inWorkspace.some(({ fits }) => fits.test(path))
}

/** Like `isThrowaway`, for a name in `/tmp`. */
export function isThrowawayTemporary(path: string): boolean {
  return inTemporary.some(({ fits }) => fits.test(basename(path)))
}
