import { dirname } from 'node:path'
import type { ToolContext } from '@halting/core'
import { headOf, messageOf } from '@halting/core/adapters'
import { realPath } from '@halting/journal/files'
import type { Environment } from '../tools/limits.ts'
import { ChangeLog, type ChangeCall, type FileChange } from './change-log.ts'
import type { CommandChange } from '../checks/command-changes.ts'
import { changedLines } from './changed-lines.ts'
import { snapshotFolder } from './folder-snapshot.ts'
import { GitProject, isInRepository } from './git-snapshot.ts'
import { ContentStore } from './content-store.ts'
import { absent, isSameState, sha256Of, stateAt, statsAt, type PathState } from './path-state.ts'
import {
  FileSnapshots,
  snapshotLimits,
  type SnapshotLimits,
  type WorktreeSnapshot,
  type DetectedChanges,
} from './worktree-snapshot.ts'

/** The call that is about to change something. */
export type ChangingCall = Pick<ToolContext, 'callId' | 'toolName' | 'idempotencyKey'>

/** Options of `FileCheckpoints`. */
export interface CheckpointOptions {
  /** Folder of the stored contents: see `checkpointsFolder`. */
  readonly folder: string
  /** Working folder of the agent. Changes that commands make in it are detected. */
  readonly cwd: string
  /** Further folders of the workspace, absolute. Changes that commands make in them are detected too. */
  readonly directories?: readonly string[]
  /** The environment of git (default: that of this process). */
  readonly env?: Environment
  /** Folders inside the workspace that are not inspected: those of this program. */
  readonly hidden?: readonly string[]
  /** Bounds of the change detection. Omitted ones have their defaults. */
  readonly limits?: Partial<SnapshotLimits>
  /** Removes keys from commands, which are logged for users to read. */
  readonly redact?: (text: string) => string
  /** Called once when files can no longer be stored. The run continues. */
  readonly onProblem?: (problem: string) => void
}

/** A folder in which changes are detected. */
interface Project {
  readonly path: string
  readonly files: FileSnapshots
  git: GitProject | undefined
}

/** The content that a tool is about to write. */
export interface NextContent {
  readonly content: Uint8Array
  /** Undefined for a new file: the system selects the mode. */
  readonly mode: number | undefined
}

/**
 * Stores file contents before the tools of a session change them. C1: the state before a change and the state that a
 * tool writes are on disk before the tool writes, so a crash in between loses nothing. C2: a content that cannot be
 * stored never stops the run. It is reported; since every file is compared before it is restored, nothing wrong is
 * restored. C3: a change that two parallel calls both see is recorded once: inspecting and recording are one step, and
 * steps run one after another.
 */
export class FileCheckpoints {
  readonly #options: CheckpointOptions
  readonly #limits: SnapshotLimits
  readonly #contents: ContentStore
  #log: ChangeLog
  #projects: readonly Project[]
  /** The last recorded state of each path, and when it was recorded. */
  readonly #latest = new Map<string, { readonly at: number; readonly after: PathState }>()
  #moment = 0
  #isOff = false
  #step: Promise<unknown> = Promise.resolve()

  constructor(options: CheckpointOptions) {
    this.#options = options
    this.#limits = { ...snapshotLimits, ...options.limits }
    this.#contents = new ContentStore(options.folder)
    this.#log = new ChangeLog(options.folder)
    this.#projects = this.#openProjects()
  }

  #openProjects(): readonly Project[] {
    const { folder, hidden = [], cwd, directories = [] } = this.#options
    return [...new Set([cwd, ...directories])].map((path) => ({
      path,
      files: new FileSnapshots(this.#contents, [folder, ...hidden], this.#limits),
      git: undefined,
    }))
  }

  /** Invalidates contents staged before a restore. Must not be called while a call is running. */
  invalidate(): void {
    this.#latest.clear()
    this.#log = new ChangeLog(this.#options.folder)
    this.#projects = this.#openProjects()
  }

  /** Stops storing contents. */
  turnOff(): void {
    this.#isOff = true
  }

  /** Runs `save`, which writes this content to a real path or deletes the file. */
  async around<T>(call: ChangingCall, path: string, next: NextContent | 'deleted', save: () => Promise<T>): Promise<T> {
    await this.#inTurn(async () => {
      const { state: before, content } = stateAt(path)
      if (before.kind === 'file' && content !== undefined) await this.#contents.store(before.sha256, content)
      const after = next === 'deleted' ? absent : stateOf(next)
      const madeFolders = before.kind === 'absent' ? missingAbove(path) : []
      const change: FileChange = { path, before, after, ...(madeFolders.length > 0 && { madeFolders }) }
      await this.#log.append({ type: 'change', ...callOf(call), changes: [change] }, 'synced')
      this.#latest.set(path, { at: ++this.#moment, after })
    })
    return save()
  }

  /**
   * Runs a command, which may change anything in the folder. Calls `onChanges` with the command's changes if all of
   * them were detected.
   */
  async aroundCommand<T>(
    call: ChangingCall,
    command: string,
    run: () => Promise<T>,
    onChanges?: (files: readonly CommandChange[]) => void,
  ): Promise<T> {
    const begun = await this.#inTurn(async () => {
      await this.#contents.open()
      const look = await this.#snapshot()
      const of = await this.#log.append(
        { type: 'command_start', ...callOf(call), command: this.#redacted(command) },
        'written',
      )
      return { look, of, moment: ++this.#moment }
    })
    try {
      return await run()
    } finally {
      if (begun !== undefined)
        await this.#inTurn(async () => {
          const seen = await begun.look.changes()
          const changes = this.#withoutKnown(seen.changes, begun.moment)
          for (const { before } of changes) if (before.kind === 'file') await this.#contents.storeStaged(before.sha256)
          const { of } = begun
          const { unseen } = seen
          await this.#log.append({ type: 'command_end', ...callOf(call), of, changes, unseen }, 'synced')
          for (const { path, after } of changes) this.#latest.set(path, { at: ++this.#moment, after })
          if (onChanges !== undefined && unseen.length === 0) onChanges(await changedLines(changes, this.#contents))
        })
    }
  }

  /** Records the start of a background command, whose changes and their times are unknown. */
  async background(call: ChangingCall, command: string): Promise<void> {
    await this.#inTurn(async () => {
      const of = await this.#log.append(
        { type: 'command_start', ...callOf(call), command: this.#redacted(command) },
        'written',
      )
      const unseen = [`a command in the background (${headOf(this.#redacted(command), 80)}) may have changed files`]
      await this.#log.append({ type: 'command_end', ...callOf(call), of, changes: [], unseen }, 'written')
    })
  }

  /** Deletes contents that were staged for commands and not needed. */
  async dispose(): Promise<void> {
    await this.#contents.close().catch(() => {})
  }

  async #snapshot(): Promise<WorktreeSnapshot> {
    const snapshots: WorktreeSnapshot[] = []
    for (const project of this.#projects) snapshots.push(await this.#snapshotOf(project))
    const [only, ...others] = snapshots
    return only !== undefined && others.length === 0 ? only : { changes: () => changesOfAll(snapshots) }
  }

  async #snapshotOf(project: Project): Promise<WorktreeSnapshot> {
    const { env = process.env } = this.#options
    const root = realPath(project.path)
    // A repository may be created or removed during a session.
    if (!isInRepository(root)) project.git = undefined
    else project.git ??= await GitProject.of(root, env)
    const look = await project.git?.snapshot(project.files, this.#contents, this.#limits)
    return look ?? snapshotFolder(root, project.files, this.#limits)
  }

  #redacted(command: string): string {
    const text = this.#options.redact?.(command) ?? command
    return text.length > 200 ? `${headOf(text, 200)}...` : text
  }

  #withoutKnown(changes: DetectedChanges['changes'], since: number): readonly FileChange[] {
    return changes.flatMap((change) => {
      const known = this.#latest.get(change.path)
      if (known === undefined || known.at < since) return [change]
      return isSameState(known.after, change.after) ? [] : [{ ...change, before: known.after }]
    })
  }

  /** Inspects and records after all earlier inspections have finished. */
  #inTurn<T>(work: () => Promise<T>): Promise<T | undefined> {
    const step = this.#step.then(() => this.#trying(work))
    this.#step = step
    return step
  }

  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#isOff) return undefined
    try {
      return await work()
    } catch (thrown) {
      this.#isOff = true
      this.#options.onProblem?.(messageOf(thrown))
      return undefined
    }
  }
}

/** Merges changes of folders that may contain one another: returns each path once. */
async function changesOfAll(snapshots: readonly WorktreeSnapshot[]): Promise<DetectedChanges> {
  const changes = new Map<string, FileChange>()
  const unseen: string[] = []
  for (const look of snapshots) {
    const seen = await look.changes()
    for (const change of seen.changes) if (!changes.has(change.path)) changes.set(change.path, change)
    unseen.push(...seen.unseen)
  }
  return { changes: [...changes.values()], unseen }
}

function stateOf({ content, mode }: NextContent): PathState {
  const permissions = mode === undefined ? null : mode & 0o7777
  return { kind: 'file', sha256: sha256Of(content), bytes: content.length, mode: permissions }
}

/**
 * Returns the call that an idempotency key identifies: `session/run/…`, followed by the calls from the run down to
 * this one. The first call is a call of the main loop.
 */
function callOf({ callId, toolName, idempotencyKey }: ChangingCall): ChangeCall {
  const [, run = '', call = callId] = /^[^/]*\/([^/]*)\/(?:(?:tool|agent):\d+:\d+:([^/]*))?/.exec(idempotencyKey) ?? []
  return { run, call, tool: toolName }
}

/** Folders above a path that do not exist, the outermost first. */
function missingAbove(path: string): readonly string[] {
  const missing: string[] = []
  for (
    let folder = dirname(path);
    statsAt(folder) === undefined && dirname(folder) !== folder;
    folder = dirname(folder)
  )
    missing.unshift(folder)
  return missing
}
