import { dirname, join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { bothEnds, isInside } from '@halting/policy/files'
import type { FileChange } from './change-log.ts'
import type { KeptContents } from './kept-contents.ts'
import { absent, isInPlace, isSameState, stampOf, stateAt, statsAt, type KeptState } from './kept-state.ts'

/** The state before a command, and the changes that it made. */
export interface ProjectLook {
  changes(): Promise<SeenChanges>
}

export interface SeenChanges {
  readonly changes: readonly FileChange[]
  /** What may have changed but was not inspected. */
  readonly unseen: readonly string[]
}

/** How much is inspected and stored in advance for one command. */
export interface LookLimits {
  readonly files: number
  readonly fileBytes: number
  readonly totalBytes: number
  readonly ms: number
}

export const lookLimits: LookLimits = Object.freeze({
  files: 20_000,
  fileBytes: 4 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  ms: 2_000,
})

/** A state, with a stamp that identifies it without reading the file. */
export interface HeldState {
  readonly stamp: string
  readonly state: KeptState
}

/** Longest time that the program blocks on this work, in milliseconds. */
export const longestBusyMs = 20

/** File system clocks may be coarse: a stamp this young may also belong to a later content. */
const youngMs = 50

/** The files before a command, with their contents held. Unchanged files that were held before are not read again. */
export class HeldFiles {
  readonly #contents: KeptContents
  readonly #limits: LookLimits
  readonly #hidden: readonly string[]
  #known = new Map<string, HeldState>()

  /** Paths inside `hidden` are not inspected: they belong to this program. */
  constructor(contents: KeptContents, hidden: readonly string[], limits: LookLimits = lookLimits) {
    this.#contents = contents
    // Inspected paths are real paths.
    this.#hidden = hidden.flatMap(bothEnds)
    this.#limits = limits
  }

  isHidden(path: string): boolean {
    return this.#hidden.some((folder) => isInside(path, folder))
  }

  /** Reads the states of these paths. States beyond the limits say so. */
  async hold(paths: Iterable<string>): Promise<ReadonlyMap<string, HeldState>> {
    const held = new Map<string, HeldState>()
    const places = new RealFolders()
    let bytes = 0
    const began = performance.now()
    let busySince = began
    for (const path of paths) {
      const stats = places.isReal(path) ? statsAt(path) : undefined
      if (stats === undefined) {
        held.set(path, { stamp: '', state: absent })
        continue
      }
      const size = stats.isFile() ? Number(stats.size) : 0
      // A file that is too large takes no room.
      const isSmall = size <= this.#limits.fileBytes
      if (isSmall) bytes += size
      const stamp = stampOf(stats)
      const known = this.#known.get(path)
      if (known?.stamp === stamp) {
        held.set(path, known)
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
      if (state.kind === 'file' && content !== undefined) this.#contents.hold(state.sha256, content)
      const isYoung = Date.now() - Number(stats.ctimeMs) < youngMs
      held.set(path, { stamp: isYoung ? '' : stamp, state })
    }
    this.#known = new Map(held)
    return held
  }
}

/** Reported for names that Node decodes to other names: nothing is found under those. */
export const namesThatAreNoText = 'files whose names are not valid UTF-8 are skipped'

/** Whether nothing is found under a name because it is not the name on disk. */
export function isNoText(path: string): boolean {
  return path.includes('\uFFFD') && statsAt(path) === undefined
}

/** If a folder above is a link, its target is not what is at the path. Each folder is checked once. */
class RealFolders {
  readonly #asked = new Map<string, boolean>()

  isReal(path: string): boolean {
    const folder = dirname(path)
    const isReal = this.#asked.get(folder) ?? isInPlace(path)
    this.#asked.set(folder, isReal)
    return isReal
  }
}

/** Compares held states with the current ones. `beforeOf` returns the earlier state of paths that were not held. */
export async function changesAt(
  paths: Iterable<string>,
  held: ReadonlyMap<string, HeldState>,
  beforeOf: (path: string) => KeptState = () => absent,
): Promise<readonly FileChange[]> {
  const changes: FileChange[] = []
  const places = new RealFolders()
  for (const path of paths) {
    const known = held.get(path)
    const isThere = places.isReal(path)
    const stats = isThere ? statsAt(path) : undefined
    if (known !== undefined && stats !== undefined && known.stamp === stampOf(stats)) continue
    const before = known?.state ?? beforeOf(path)
    const { state: after } = isThere ? stateAt(path) : { state: absent }
    if (!isSameState(before, after)) changes.push({ path, before, after })
  }
  return changes
}

/** Folders that a command created for its files: those younger than the command in which nothing was known before. */
export function madeFoldersOf(path: string, root: string, startedMs: number): readonly string[] {
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
