import { join } from 'node:path'
import { type DetectOptions, detectWall, forgetMeans, type WallMeans } from './wall-means.ts'
import { isSystemPlace, listedFolders } from './readable-places.ts'
import { isInside } from '../files/paths.ts'
import { ToolCaches } from './edit-caches.ts'
import type { ProjectCaches } from './edit-command.ts'
import { detectEdits } from './edit-detect.ts'
import type { EditMeans } from './edit-means.ts'
import type { EditWall } from './edit-wall.ts'
import { detectTrials, type TrialMeans } from './trial-means.ts'
import type { TrialWall } from './trial-wall.ts'
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
  /** What commands leave as it is wherever it lies: what the person keeps for agents, and this program. */
  readonly keptFolders?: readonly string[]
  /** Why commands that no rule covers ask in `acceptEdits` although they could be confined, as the end of a sentence; they run confined when absent. */
  readonly editsOff?: string | undefined
  /** The setting `tryReadOnly`: commands are tried before a person is asked about them. Off when absent. */
  readonly tries?: boolean | undefined
}

/** What confines the commands of one session that no rule let run. Nothing is tried before it is asked. */
export class SessionWall {
  /** The person's own folder. */
  readonly home: string
  /** The file that stores what works on this machine. */
  readonly memory: string
  /** The folder for what is taken back from confined commands, and for what the next process must know of one that did not end. */
  readonly stateFolder: string
  /** Made by whoever starts the first confined command, and disposed of with the workspace. */
  confiner: Wall | undefined
  /** The same for commands that may change the workspace. */
  editor: EditWall | undefined
  /** The same for commands that are tried. */
  trialist: TrialWall | undefined
  readonly #options: SessionWallOptions
  #means: WallMeans | undefined
  #edits: EditMeans | undefined
  #caches: ToolCaches | undefined
  #trials: TrialMeans | undefined

  constructor(options: SessionWallOptions) {
    this.home = options.home
    this.memory = join(options.configFolder, 'confinement.json')
    this.stateFolder = join(options.configFolder, 'confined')
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

  /** What confines commands that may change the workspace, found out once. */
  edits(): EditMeans {
    const { setting, isSandboxed, path, writable, editsOff } = this.#options
    if (isSandboxed()) return { kind: 'off', why: 'the sandbox confines all commands' }
    if (setting === 'off') return { kind: 'off', why: 'confineJudged is off' }
    if (editsOff !== undefined) return { kind: 'off', why: editsOff }
    this.#edits ??= detectEdits({ path, directories: writable, home: this.home, memory: this.#editMemory })
    return this.#edits
  }

  /** To be called when a command could not be confined: what worked before may not work now, so it is found out anew. */
  forgetEdits(): void {
    forgetMeans(this.#editMemory)
    this.#edits = undefined
    this.#trials = undefined
  }

  /** The folder in which caches of confined commands are kept. */
  get cacheFolder(): string {
    return join(this.#options.configFolder, 'caches')
  }

  /** The caches of tools for commands that may change the workspace, made once; undefined where nothing confines them. */
  caches(): ProjectCaches | undefined {
    const means = this.edits()
    if (means.kind !== 'bubblewrap') return undefined
    const { home, path, writable } = this.#options
    const [project = home] = writable
    this.#caches ??= new ToolCaches({
      folder: this.cacheFolder,
      project,
      home,
      directories: writable,
      path,
      bubblewrap: means.file,
    })
    return this.#caches
  }

  get #editMemory(): string {
    return join(this.#options.configFolder, 'confinement-edits.json')
  }

  /** What tries commands before a person is asked about them, found out once. */
  trials(): TrialMeans {
    const { setting, isSandboxed, path, writable, tries } = this.#options
    if (tries !== true) return { kind: 'off', why: 'the setting is off' }
    if (isSandboxed()) return { kind: 'off', why: 'the sandbox confines all commands' }
    if (setting === 'off') return { kind: 'off', why: 'confineJudged is off' }
    this.#trials ??= detectTrials({ path, directories: writable, home: this.home, memory: this.#editMemory })
    return this.#trials
  }

  /** Whether a place outside the session is read, or listed, because it belongs to the system. */
  reads(path: string, isListed: boolean): boolean {
    if (isSystemPlace(path)) return true
    // With bubblewrap these folders are others.
    return isListed && this.means().kind === 'landlock' && listedFolders.some((folder) => isInside(path, folder))
  }

  /** What commands that may change the workspace leave as it is, wherever it lies. */
  get keptFolders(): readonly string[] {
    return this.#options.keptFolders ?? []
  }

  /** Removes what was made for confined commands. */
  dispose(): void {
    this.confiner?.dispose()
    this.editor?.dispose()
    this.trialist?.dispose()
  }
}
