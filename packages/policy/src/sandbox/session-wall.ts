import { join } from 'node:path'
import { type DetectOptions, detectWall, type WallMeans } from './wall-means.ts'
import { isSystemPlace, listedFolders } from './readable-places.ts'
import { isInside } from '../files/paths.ts'
import type { Wall } from './wall.ts'

/** Options of `SessionWall`. */
export interface SessionWallOptions {
  /** The person's own folder. */
  readonly home: string
  /** The person's folder of this program: what works on this machine is stored there. */
  readonly configFolder: string
  /** The search path, and the folders in which no program that confines is looked for. */
  readonly path: string
  /** Folders that commands may write: no program there is trusted. */
  readonly writable: readonly string[]
  /** The setting `confineJudged`. */
  readonly setting: 'auto' | 'off'
  /** Whether a sandbox confines all commands already. */
  readonly isSandboxed: () => boolean
}

/** What confines the commands of one session that no rule let run. Nothing is tried before it is asked. */
export class SessionWall {
  /** The person's own folder. */
  readonly home: string
  /** The file that stores what works on this machine. */
  readonly memory: string
  /** Made by whoever starts the first confined command, and disposed of with the workspace. */
  confiner: Wall | undefined
  readonly #options: SessionWallOptions
  #means: WallMeans | undefined

  constructor(options: SessionWallOptions) {
    this.home = options.home
    this.memory = join(options.configFolder, 'confinement.json')
    this.#options = options
  }

  /** What this machine can confine commands with, found out once. */
  means(): WallMeans {
    const { setting, isSandboxed, path, writable } = this.#options
    if (isSandboxed()) return { kind: 'off', why: 'the sandbox confines all commands' }
    if (setting === 'off') return { kind: 'off', why: 'confineJudged is off' }
    const options: DetectOptions = { path, writable, memory: this.memory }
    this.#means ??= detectWall(options)
    return this.#means
  }

  /** Whether a place outside the session is read, or listed, because it belongs to the system. */
  reads(path: string, isListed: boolean): boolean {
    if (isSystemPlace(path)) return true
    // With bubblewrap these folders are others.
    return isListed && this.means().kind === 'landlock' && listedFolders.some((folder) => isInside(path, folder))
  }

  /** Removes what was made for confined commands. */
  dispose(): void {
    this.confiner?.dispose()
  }
}
