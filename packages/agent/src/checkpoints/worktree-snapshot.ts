import { dirname, join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { bothEnds, isInside } from '@halting/policy/files'
import type { FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { absent, isInPlace, isSameState, stampOf, stateAt, statsAt, type PathState } from './path-state.ts'

/** The state before a command, and the changes that it made. */
export interface WorktreeSnapshot {
  changes(): Promise<DetectedChanges>
}

export interface DetectedChanges {
  readonly changes: readonly FileChange[]
  /** Paths that may have changed but were not inspected. */
  readonly unseen: readonly string[]
}

/** How much is inspected and stored in advance for one command. */
export interface SnapshotLimits {
  readonly files: number
  readonly fileBytes: number
  readonly totalBytes: number
  readonly ms: number
}

export const snapshotLimits: SnapshotLimits = Object.freeze({
  files: 20_000,
  fileBytes: 4 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  ms: 2_000,
})

/** A state, with a stamp that identifies it without reading the file. */
export interface StampedState {
  readonly stamp: string
  readonly state: PathState
}

/** Maximum time in milliseconds for which this work blocks the program. */
export const longestBusyMs = 20

/** File system clocks may be coarse: a stamp this young may also belong to a later content. */
const youngMs = 50

/**
 * The files before a command, with their contents staged. Unchanged files that were staged before are not read again.
 */
export class FileSnapshots {
  readonly #contents: ContentStore
  readonly #limits: SnapshotLimits
  readonly #hidden: readonly string[]
  #known = new Map<string, StampedState>()

  /** Paths inside `hidden` are not inspected: they belong to this program. */
  constructor(contents: ContentStore, hidden: readonly string[], limits: SnapshotLimits = snapshotLimits) {
    this.#contents = contents
    // Inspected paths are real paths.
    this.#hidden = hidden.flatMap(bothEnds)
    this.#limits = limits
  }

  isHidden(path: string): boolean {
    return this.#hidden.some((folder) => isInside(path, folder))
  }

  /** Reads the states of these paths. A state beyond the limits says that its content is not stored. */
  async take(paths: Iterable<string>): Promise<ReadonlyMap<string, StampedState>> {
    const states = new Map<string, StampedState>()
    const places = new RealFolders()
    let bytes = 0
    const began = performance.now()
    let busySince = began
    for (const path of paths) {
      const stats = places.isReal(path) ? statsAt(path) : undefined
      if (stats === undefined) {
        states.set(path, { stamp: '', state: absent })
        continue
      }
      const size = stats.isFile() ? Number(stats.size) : 0
      // A file that is too large uses no space.
      const isSmall = size <= this.#limits.fileBytes
      if (isSmall) bytes += size
      const stamp = stampOf(stats)
      const known = this.#known.get(path)
      if (known?.stamp === stamp) {
        states.set(path, known)
        continue
      }
      const now = performance.now()
      if (now - busySince > longestBusyMs) {
        await pause()
        busySince = performance.now()
      }
      // Files beyond the limits of time or room are reported as not stored if a command changes them.
      const isRoom = !isSmall || (bytes <= this.#limits.totalBytes && now - began < this.#limits.ms)
      const { state, content } = stateAt(path, isRoom ? this.#limits.fileBytes : -1)
      if (state.kind === 'file' && content !== undefined) this.#contents.stage(state.sha256, content)
      const isYoung = Date.now() - Number(stats.ctimeMs) < youngMs
      states.set(path, { stamp: isYoung ? '' : stamp, state })
    }
    this.#known = new Map(states)
    return states
  }
}

/** Note about names that Node decodes to different names: no file is found under the decoded names. */
export const nonUtf8NamesSkipped = 'files whose names are not valid UTF-8 are skipped'

/** Whether no file is found under a name because the name differs from that on disk. */
export function isNonUtf8Name(path: string): boolean {
  return path.includes('\uFFFD') && statsAt(path) === undefined
}

/** Detects parent folders that are links: their target is not what is at the path. Each folder is checked once. */
class RealFolders {
  readonly #checked = new Map<string, boolean>()

  isReal(path: string): boolean {
    const folder = dirname(path)
    const isReal = this.#checked.get(folder) ?? isInPlace(path)
    this.#checked.set(folder, isReal)
    return isReal
  }
}

/** Compares recorded states with the current ones. `beforeOf` returns the earlier state of paths without a record. */
export async function changesAt(
  paths: Iterable<string>,
  states: ReadonlyMap<string, StampedState>,
  beforeOf: (path: string) => PathState = () => absent,
): Promise<readonly FileChange[]> {
  const changes: FileChange[] = []
  const places = new RealFolders()
  for (const path of paths) {
    const known = states.get(path)
    const isThere = places.isReal(path)
    const stats = isThere ? statsAt(path) : undefined
    if (known !== undefined && stats !== undefined && known.stamp === stampOf(stats)) continue
    const before = known?.state ?? beforeOf(path)
    const { state: after } = isThere ? stateAt(path) : { state: absent }
    if (!isSameState(before, after)) changes.push({ path, before, after })
  }
  return changes
}

/**
 * Returns folders that a command created for its files: those that are younger than the command and had no known
 * content before.
 */
export function createdFoldersOf(path: string, root: string, startedMs: number): readonly string[] {
  const made: string[] = []
  const parts = path
    .slice(root.length + 1)
    .split('/')
    .slice(0, -1)
  for (let length = 1; length <= parts.length; length++) {
    const folder = join(root, ...parts.slice(0, length))
    const stats = statsAt(folder)
    if (stats?.isDirectory() === true && Number(stats.birthtimeNs / 1_000_000n) >= startedMs - youngMs)
      made.push(folder)
  }
  return made
}
