import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isThrowaway, isThrowawayTemporary } from './throwaway-names.ts'
import type { EmptiedFolder, TrialMounts } from './trial-mounts.ts'

/** Larger files that were opened for writing count as changed: they are not compared. */
const mostComparedBytes = 64n * 1024n * 1024n

export interface TrialWrites {
  /** A path, as the command saw it, at which it made, changed or removed something. */
  readonly changed: string | undefined
  /** Folders of an upper layer that may stand in the place of others, each with the path at which the command saw it. */
  readonly replaced: readonly { readonly folder: string; readonly at: string }[]
}

/** What a command wrote that was tried, as far as it would have stayed. Throw-away names of tools are left out. */
export function writesOfTrial({ workspace, emptied, mountPoints }: TrialMounts): TrialWrites {
  const replaced: { folder: string; at: string }[] = []
  for (const { upper, at } of workspace) {
    const changed = changedBelow({ upper, lower: at, path: '' }, replaced)
    if (changed !== undefined) return { changed: join(at, changed), replaced: [] }
  }
  const changed = emptied.map((folder) => madeIn(folder, mountPoints)).find((path) => path !== undefined)
  return { changed, replaced }
}

interface Pair {
  readonly upper: string
  readonly lower: string
  /** From the directory of the session. */
  readonly path: string
}

/** The first path that differs from what is below. */
function changedBelow({ upper, lower, path }: Pair, replaced: { folder: string; at: string }[]): string | undefined {
  const [now, before] = [statsOf(upper), statsOf(lower)]
  // Nothing was written at all.
  if (now === undefined) return undefined
  if (path !== '' && isThrowaway(path) && now.isDirectory()) return undefined
  if (!now.isDirectory()) return isThrowaway(path) && now.isFile() ? undefined : changedFile(upper, lower, path)
  if (before?.isDirectory() !== true || isOtherwise(now, before)) return path
  if (now.mtimeNs !== before.mtimeNs && namesIn(lower).length > 0) replaced.push({ folder: upper, at: lower })
  for (const name of namesIn(upper)) {
    // Bytes that are no text: it cannot be looked at.
    if (name.includes('\uFFFD')) return join(path, name)
    const changed = changedBelow(
      { upper: join(upper, name), lower: join(lower, name), path: join(path, name) },
      replaced,
    )
    if (changed !== undefined) return changed
  }
  return undefined
}

function changedFile(upper: string, lower: string, path: string): string | undefined {
  const [now, before] = [statsOf(upper), statsOf(lower)]
  if (now === undefined) return undefined
  // A device in an upper layer says that something was removed.
  if (before === undefined || isOtherwise(now, before) || now.mtimeNs !== before.mtimeNs) return path
  if (now.isSymbolicLink()) return readlinkSync(upper) === readlinkSync(lower) ? undefined : path
  if (!now.isFile() || now.size !== before.size || now.size > mostComparedBytes) return path
  return readFileSync(upper).equals(readFileSync(lower)) ? undefined : path
}

function isOtherwise(now: BigIntStats, before: BigIntStats): boolean {
  return now.mode !== before.mode || now.uid !== before.uid || now.gid !== before.gid
}

/** What a command made in a folder that was empty, beside what bubblewrap mounts there. */
function madeIn(
  { folder, at }: EmptiedFolder,
  mountPoints: ReadonlySet<string>,
  isTop: boolean = true,
): string | undefined {
  for (const name of namesIn(folder)) {
    const path = join(at, name)
    if (mountPoints.has(path)) continue
    if (isTop && at === '/tmp' && isThrowawayTemporary(name)) continue
    const leadsToMount = [...mountPoints].some((point) => point.startsWith(`${path}/`))
    if (!leadsToMount) return path
    const made = madeIn({ folder: join(folder, name), at: path }, mountPoints, false)
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
