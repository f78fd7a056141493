import { dirname, join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { bothEnds, isInside } from '@halting/policy/files'
import type { FileChange } from './change-log.ts'
import type { KeptContents } from './kept-contents.ts'
import { absent, isInPlace, isSameState, stampOf, stateAt, statsAt, type KeptState } from './kept-state.ts'

/** What a command came upon, and what it made of it. */
export interface ProjectLook {
  changes(): Promise<SeenChanges>
}

export interface SeenChanges {
  readonly changes: readonly FileChange[]
  /** What may have changed and was not looked at. */
  readonly unseen: readonly string[]
}

/** How much is looked at, and kept in advance, for one command. */
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

/** A state, and by what it is known again without reading the file. */
export interface HeldState {
  readonly stamp: string
  readonly state: KeptState
}

/** How long the program may be busy with nothing else. */
export const longestBusyMs = 20

/** A clock of a file system may stand still for some milliseconds: a stamp this young may be that of a later content, too. */
const youngMs = 50

/** Files as they are before a command, with their contents held. What was held and has not changed is not read again. */
export class HeldFiles {
  readonly #contents: KeptContents
  readonly #limits: LookLimits
  readonly #hidden: readonly string[]
  #known = new Map<string, HeldState>()

  /** What lies in `hidden` is not looked at: the program's own. */
  constructor(contents: KeptContents, hidden: readonly string[], limits: LookLimits = lookLimits) {
    this.#contents = contents
    // What is looked at has real paths.
    this.#hidden = hidden.flatMap(bothEnds)
    this.#limits = limits
  }

  isHidden(path: string): boolean {
    return this.#hidden.some((folder) => isInside(path, folder))
  }

  /** Takes what is at these paths. What is beyond the limits is told in its state. */
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
      // What is too large by itself takes no room.
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
      // What there is no time or room for is told as not kept, if a command changes it.
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

/** What is told of names that Node gives as other names: under those nothing is found. */
export const namesThatAreNoText = 'files whose names are not valid UTF-8 are skipped'

/** Whether nothing is found under a name because it is not the one on disk. */
export function isNoText(path: string): boolean {
  return path.includes('\uFFFD') && statsAt(path) === undefined
}

/** Where a folder above is a link, what that leads to is not what stands at the path. Each folder is asked for once. */
class RealFolders {
  readonly #asked = new Map<string, boolean>()

  isReal(path: string): boolean {
    const folder = dirname(path)
    const isReal = this.#asked.get(folder) ?? isInPlace(path)
    this.#asked.set(folder, isReal)
    return isReal
  }
}

/** Compares what was held with what is there now. `beforeOf` tells what stood where nothing was held. */
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

/** Folders that a command made for its files: those younger than it in which nothing was known. */
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
