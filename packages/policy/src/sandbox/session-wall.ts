import { join } from 'node:path'
import { type DetectOptions, detectWall, forgetMeans, type WallMeans } from './wall-means.ts'
import { isSystemPlace, listedFolders } from './readable-places.ts'
import { isInside } from '../files/paths.ts'
import type { ToolCachesOptions } from './edit-caches.ts'
import { detectEdits, type EditMeansOptions } from './edit-detect.ts'
import type { EditMeans } from './edit-means.ts'
import type { EditWall } from './edit-wall.ts'
import { detectTrials, type TrialMeans } from './trial-means.ts'
import type { TrialWall } from './trial-wall.ts'
import type { Wall } from './wall.ts'

/** Options of `SessionWall`. */
export interface SessionWallOptions {
  /** The person's own folder. */
  readonly home: string
  /** The person's folder of this program, which stores the results of capability tests. */
  readonly configFolder: string
  /** The search path of programs that confine. */
  readonly path: string
  /** Folders that commands may write: programs in them are not trusted. */
  readonly writable: readonly string[]
  /** The setting `confineJudged`. */
  readonly setting: 'auto' | 'off'
  /** Whether a sandbox already confines all commands. */
  readonly isSandboxed: () => boolean
  /** Folders that commands cannot change, wherever they are: what the person keeps for agents, and this program. */
  readonly keptFolders?: readonly string[]
  /** Why commands that no rule covers ask in `acceptEdits` although they could be confined, as the end of a sentence. Without it they run confined. */
  readonly editsOff?: string | undefined
  /** The setting `tryReadOnly`: commands are tried before a person is asked. Default: false. */
  readonly tries?: boolean | undefined
}

/** Confinement of the commands of one session that run without a rule. Capabilities are tested when they are first needed. */
export class SessionWall {
  /** The person's own folder. */
  readonly home: string
  /** The file with the results of capability tests. */
  readonly memory: string
  /** The folder for files that were moved aside, and for the journal of running commands. */
  readonly stateFolder: string
  /** Created by the caller that starts the first confined command, and disposed of with the workspace. */
  readWall: Wall | undefined
  /** Like `readWall`, for commands that may change the workspace. */
  editWall: EditWall | undefined
  /** Like `readWall`, for commands that are tried. */
  trialWall: TrialWall | undefined
  readonly #options: SessionWallOptions
  #means: WallMeans | undefined
  #edits: EditMeans | undefined
  #trials: TrialMeans | undefined

  constructor(options: SessionWallOptions) {
    this.home = options.home
    this.memory = join(options.configFolder, 'confinement.json')
    this.stateFolder = join(options.configFolder, 'confined')
    this.#options = options
  }

  /** What can confine commands on this machine; detected once. */
  means(): WallMeans {
    const off = this.#off()
    if (off !== undefined) return off
    const { path, writable } = this.#options
    const options: DetectOptions = { path, writable, memory: this.memory }
    this.#means ??= detectWall(options)
    return this.#means
  }

  /** What can confine commands that may change the workspace; detected once. */
  edits(): EditMeans {
    const { editsOff } = this.#options
    const off = this.#off()
    if (off !== undefined) return off
    if (editsOff !== undefined) return { kind: 'off', why: editsOff }
    this.#edits ??= detectEdits(this.#editOptions)
    return this.#edits
  }

  /** The folder that stores the caches of confined commands. */
  get cacheFolder(): string {
    return join(this.#options.configFolder, 'caches')
  }

  /** Call this when a command could not be confined to the workspace, or tried: the capabilities are detected again. */
  forgetEdits(): void {
    forgetMeans(this.#editOptions.memory)
    this.#edits = undefined
    this.#trials = undefined
  }

  /**
   * Options of the tool caches for commands that may change the workspace.
   * @param bubblewrap Path of bubblewrap.
   */
  cacheOptions(bubblewrap: string): ToolCachesOptions {
    const { home, path, writable } = this.#options
    const [project = home] = writable
    return { folder: this.cacheFolder, project, home, directories: writable, path, bubblewrap }
  }

  /** What tries commands before a person is asked; detected once. */
  trials(): TrialMeans {
    if (this.#options.tries !== true) return { kind: 'off', why: 'the setting is off' }
    const off = this.#off()
    if (off !== undefined) return off
    this.#trials ??= detectTrials(this.#editOptions)
    return this.#trials
  }

  /** Why commands are not confined individually; undefined if that depends on the machine. */
  #off(): { readonly kind: 'off'; readonly why: string } | undefined {
    const { setting, isSandboxed } = this.#options
    if (isSandboxed()) return { kind: 'off', why: 'the sandbox confines all commands' }
    return setting === 'off' ? { kind: 'off', why: 'confineJudged is off' } : undefined
  }

  get #editOptions(): EditMeansOptions {
    const { path, writable, configFolder } = this.#options
    return { path, directories: writable, home: this.home, memory: join(configFolder, 'confinement-edits.json') }
  }

  /** Whether commands may read, or list, a path outside the session because it belongs to the system. */
  reads(path: string, isListed: boolean): boolean {
    if (isSystemPlace(path)) return true
    // With bubblewrap these folders are replaced.
    return isListed && this.means().kind === 'landlock' && listedFolders.some((folder) => isInside(path, folder))
  }

  /** Folders that must remain unchanged even for commands that may change the workspace. */
  get keptFolders(): readonly string[] {
    return this.#options.keptFolders ?? []
  }

  /** Removes what was created for confined commands. */
  dispose(): void {
    this.readWall?.dispose()
    this.editWall?.dispose()
    this.trialWall?.dispose()
  }
}
