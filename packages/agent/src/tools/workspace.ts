import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Model, ToolContext } from '@halting/core'
import { PathMovedError, absolutePath, isInsideAny, resolveToolPath, lookAlikesOf } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { type CallerRights, defaultMediaLimits } from '@halting/core/adapters'
import { createFitImage, type FitImage } from '../media/fit-image.ts'
import type { PdfLibrary } from '../media/pdf-text.ts'
import type { Sharp } from '../media/sharp.ts'
import { SessionWork } from '../checks/session-work.ts'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import type { CommandCall, SessionWall } from '@halting/policy'
import type { Sandbox } from '@halting/policy/sandbox'
import type { Confinement } from '@halting/policy/wall'
import type { WebOptions } from '../web/fetch-page.ts'
import type { WebSearchPort } from '../web/search-port.ts'
import { BackgroundTasks } from './background-tasks.ts'
import type { EditorFiles } from './editor-files.ts'
import { FileStates } from './file-state.ts'
import type { leaveRunning as LeaveRunning } from './leave-running.ts'
import { LeftRunning } from './left-running.ts'
import { type Environment, type Limits, limitsFrom } from './limits.ts'
import { ProcessTable } from './process-table.ts'
import { lookAlikes } from './path-texts.ts'
import type { Trials } from './trial.ts'
import { exactName } from './display-name.ts'

/** Options of `Workspace`. */
export interface WorkspaceOptions {
  /** The agent's folder. Relative paths of file tools are relative to it, independent of the shell's directory. */
  readonly cwd: string
  /** Further folders of the workspace. */
  readonly additionalDirectories?: readonly string[]
  /** Environment of commands (default: that of the program). */
  readonly env?: Environment
  /** Limits of the tools. Omitted ones have their defaults. */
  readonly limits?: Partial<Limits>
  /** Paths that Grep and Glob must not show, such as `RulePermissions.deniesReading`. */
  readonly hides?: (path: string, rights?: CallerRights) => boolean
  /**
   * Paths that need the user's permission to be read, such as `RulePermissions.asksToRead`: apply_patch quotes no
   * lines of them.
   */
  readonly asksToRead?: (path: string, rights?: CallerRights) => boolean
  /**
   * Returns the real path of a call when the call was judged, such as `RulePermissions.judgedPath`. `agentId`: the
   * calling subagent. `path`: selects one path of a call with several.
   */
  readonly judged?: (callId: string, agentId?: string, path?: string) => string | undefined
  /** Returns the library that reduces images, or undefined if none exists (default: `sharp` if installed). */
  readonly imageLibrary?: () => Promise<Sharp | undefined>
  /** Returns the URL of the module that reads PDFs, or undefined if none exists (default: `unpdf` if installed). */
  readonly pdfLibrary?: PdfLibrary
  /** What WebFetch may reach in addition to the internet. */
  readonly web?: WebOptions
  /** Stores files before tools change them (default: they are not stored). */
  readonly checkpoints?: FileCheckpoints
  /** Folder for outputs that are too long to show, such as `ResultFiles.spoolFolder` (default: they are not stored). */
  readonly spoolFolder?: string
  /** The confinement of a command that no rule allowed, such as `RulePermissions.confinementOf` (default: none). */
  readonly confinementOf?: (call: CommandCall) => Confinement | undefined
}

/**
 * Maximum number of subagents whose file states are stored; a subagent whose states were removed has to read files
 * again before it writes them.
 */
const maxAgents = 100

type Caller = Pick<ToolContext, 'agentType' | 'state' | 'memos'>

/** The id of the calling subagent; undefined for the main conversation. */
export function agentIdOf({ agentType, state }: Caller): string | undefined {
  return typeof agentType === 'string' ? state.agentId : undefined
}

/** The command of a call, with what its confinement depends on. */
export interface CommandInput {
  /** The command line. */
  readonly command: string
  /** Whether the command runs in the background. */
  readonly run_in_background?: boolean
  /** Whether the user is asked to run the command unconfined. */
  readonly unconfined?: boolean
}

/** What the user should know about a command that ran confined to the workspace. */
export type ConfinedNotice =
  /**
   * The command created something that programs outside the confinement would obey; the created item was moved away.
   */
  | {
      readonly kind: 'confined_file_taken_back'
      /** Original path of the item. */
      readonly path: string
      /** Current path of the item. */
      readonly movedTo: string
    }
  /** It is unknown whether the command created such an item. */
  | {
      readonly kind: 'confined_command_unchecked'
      /** The reason. */
      readonly why: string
    }

/**
 * The shared state of a session's tools: directories, files that were read, the shell's directory, running processes.
 */
export class Workspace {
  /** The real path of the working directory. */
  readonly cwd: string
  /** The real paths of the workspace folders. */
  readonly directories: readonly string[]
  /** The environment of commands. */
  readonly env: Environment
  /** Limits of the tools. */
  readonly limits: Limits
  /** Files as the main conversation saw them. */
  readonly files: FileStates = new FileStates()
  /** Processes that tools have started. */
  readonly processes: ProcessTable
  /** Background tasks. */
  readonly tasks: BackgroundTasks = new BackgroundTasks()
  /** What calls have done to files, and which of them were checks. */
  readonly work: SessionWork
  /** Ends running commands or leaves them running; set once a command was started. */
  leaveRunning: typeof LeaveRunning | undefined
  /**
   * Returns the trace span of a call as a W3C header, which is passed to its command as `TRACEPARENT`: such as
   * `Telemetry.traceparentOf`.
   */
  traceparentOf: ((callId: string) => string | undefined) | undefined
  /** Commands that outlive this program. */
  readonly left: LeftRunning = new LeftRunning()
  /** Whether searches omit a path. */
  readonly hides: (path: string, rights?: CallerRights) => boolean
  /** Whether the user is asked before a path is read. */
  readonly asksToRead: (path: string, rights?: CallerRights) => boolean
  /** Makes images fit for a service. */
  readonly fitImage: FitImage
  /** Returns the URL of the module that reads PDFs; undefined if none exists. */
  readonly pdfLibrary: PdfLibrary | undefined
  /** What WebFetch may reach. */
  readonly web: WebOptions
  /** Removes secrets from what is shown of files and commands, if the user wants that. */
  redact?: (text: string) => string
  /**
   * Whether secrets of known forms are also removed. If so, the output of commands that outlive the program is not
   * stored, because nothing redacts it.
   */
  redactsSecrets = false
  /** Stores files before they are changed; undefined if disabled. */
  readonly checkpoints: FileCheckpoints | undefined
  /** Folder for outputs that are too long; undefined if they are not stored. */
  readonly spoolFolder: string | undefined
  /** The provider of web searches, and which results rules deny (default: the service of the calling model). */
  webSearch?: WebSearchPort
  /**
   * Answers small questions, such as those about pages: one of the run's `models`, or its context defence's (default:
   * the model of the run).
   */
  smallModel?: Model | undefined
  /** Confines the commands of the session, if the user wants that. */
  sandbox?: Sandbox
  /** Confines commands that no rule allowed. If absent, they run unconfined, like this program. */
  wall?: SessionWall
  /** Tries commands before the user is asked about them; set once a command was tried. */
  trials: Trials | undefined
  /** Called with notices about commands that ran confined to the workspace. */
  onConfined: ((notice: ConfinedNotice) => void) | undefined
  /** The user's editor, if it provides files: Read, Edit and Write use it. */
  editor?: EditorFiles
  readonly #filesOfAgents = new Map<string, FileStates>()
  readonly #judged: NonNullable<WorkspaceOptions['judged']>
  readonly #confinementOf: WorkspaceOptions['confinementOf']
  #shellDirectory: string

  constructor(options: WorkspaceOptions) {
    this.cwd = resolve(options.cwd)
    this.directories = [this.cwd, ...(options.additionalDirectories ?? []).map((path) => absolutePath(path, this.cwd))]
    this.work = new SessionWork(this.cwd)
    this.env = options.env ?? process.env
    this.limits = limitsFrom(this.env, options.limits)
    this.processes = new ProcessTable(this.limits.killGraceMs)
    this.hides = options.hides ?? (() => false)
    this.asksToRead = options.asksToRead ?? (() => false)
    this.fitImage = createFitImage({
      limits: { ...defaultMediaLimits, imageEncodedBytes: this.limits.imageBytes },
      ...(options.imageLibrary !== undefined && { library: options.imageLibrary }),
    })
    this.pdfLibrary = options.pdfLibrary
    this.web = options.web ?? {}
    this.#judged = options.judged ?? (() => undefined)
    this.#confinementOf = options.confinementOf
    this.checkpoints = options.checkpoints
    this.spoolFolder = options.spoolFolder
    this.#shellDirectory = this.cwd
  }

  /**
   * Returns the file states of the caller, in any process: files that one subagent read do not count as read by
   * another one or by the main conversation.
   */
  filesOf(caller: Caller): FileStates {
    const files = this.filesOfAgent(agentIdOf(caller))
    files.follow(caller)
    return files
  }

  /** Returns the file states of a subagent by its id; without an id, those of the main conversation. */
  filesOfAgent(agentId: string | undefined): FileStates {
    if (agentId === undefined) return this.files
    const files = this.#filesOfAgents.get(agentId) ?? new FileStates(this.files)
    // The newest entries are last.
    this.#filesOfAgents.delete(agentId)
    this.#filesOfAgents.set(agentId, files)
    for (const oldest of this.#filesOfAgents.keys()) {
      if (this.#filesOfAgents.size <= maxAgents) break
      this.#filesOfAgents.delete(oldest)
    }
    return files
  }

  /** Files as the main conversation and the subagents of this process saw them. */
  get allFiles(): readonly FileStates[] {
    return [this.files, ...this.#filesOfAgents.values()]
  }

  /**
   * The directory in which the next command starts. The last command's `cd` persists if it remains inside the
   * workspace directories.
   */
  get shellDirectory(): string {
    return this.#shellDirectory
  }

  /**
   * Moves to the directory in which a command ended. Outside the workspace directories the shell is reset. Returns
   * which of the two happened.
   */
  moveShell(directory: string): 'moved' | 'reset' {
    const isAllowed = isInsideAny(directory, this.directories)
    const next = isAllowed ? directory : this.cwd
    // `pwd -P` prints the real path; a cwd that was passed through a link remains as passed.
    this.#shellDirectory = next === realPath(this.cwd) ? this.cwd : next
    return isAllowed ? 'moved' : 'reset'
  }

  /** The shell's directory was removed; the shell starts again at the root of the workspace. */
  resetShell(): void {
    this.#shellDirectory = this.cwd
  }

  /** The absolute path of a path in a call. */
  pathOf(path: string): string {
    return resolveToolPath(path, this.cwd)
  }

  /** A sentence that lists readable files of the same folder whose names look the same; empty if there are none. */
  lookAlikesNote(real: string, rights: CallerRights | undefined): string {
    const names = lookAlikesOf(real).filter((path) => !this.hides(path, rights))
    return names.length === 0 ? '' : lookAlikes(names.slice(0, 3).map(exactName).join(', '))
  }

  /**
   * The real path of a path in a call.
   * @throws PathMovedError if it differs from what was judged.
   */
  realPathOf(path: string, context: Caller & Pick<ToolContext, 'callId'>): string {
    const real = realPath(path)
    const judged = this.#judged(context.callId, agentIdOf(context), path)
    if (judged !== undefined && judged !== real) throw new PathMovedError(path)
    return real
  }

  /** The confinement of a call's command. */
  confinementOf(
    { command, unconfined, run_in_background }: CommandInput,
    context: Caller & Pick<ToolContext, 'callId' | 'rights'>,
  ): Confinement | undefined {
    if (this.wall === undefined) return undefined
    const { callId, rights } = context
    const agentId = agentIdOf(context)
    const fields = {
      ...(unconfined === true && { unconfined }),
      ...(run_in_background === true && { run_in_background }),
    }
    return this.#confinementOf?.({ ...rights, callId, command, agentId, fields })
  }

  /** Lets commands that were left running outlive this program: `dispose` does not end these commands. */
  letGo(): Promise<void> {
    return this.left.handOver()
  }

  /** Running commands that were not reported, for a program that has to end them. */
  async unnamed(): Promise<readonly string[]> {
    const running = this.tasks.running.filter((task) => !this.left.has(task))
    const { leftBehind } = this.processes
    if (running.length + leftBehind.length === 0) return []
    const { leftChildren, leftCommand, shownCommand } = await import('./task-words.ts')
    const left = leftBehind.map(({ origin }) => leftChildren(shownCommand(origin.command, this.redact)))
    return [...running.map(({ id, started }) => leftCommand(id, started.description)), ...left]
  }

  /** Ends everything that commands of this session left running. Resolves when all of it has ended. */
  async dispose(): Promise<void> {
    await this.processes.dispose()
    this.sandbox?.dispose()
    this.wall?.dispose()
    await this.checkpoints?.dispose()
    // Removes files that were not moved by a result. On a failing disk nothing was written, or the cleanup of sessions
    // removes the files.
    if (this.spoolFolder !== undefined)
      await rm(this.spoolFolder, { recursive: true, force: true }).catch(() => undefined)
  }
}
