import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Model, ToolContext } from '@halting/core'
import { PathMovedError, absolutePath, isInsideAny, calledPath, lookAlikesOf } from '@halting/policy/files'
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
import { exactName } from './shown-name.ts'

/** Options of `Workspace`. */
export interface WorkspaceOptions {
  /** Where the agent works. Relative paths of the file tools are relative to this, wherever the shell has gone. */
  readonly cwd: string
  /** Further folders of the workspace. */
  readonly additionalDirectories?: readonly string[]
  /** Environment of commands; the program's own when absent. */
  readonly env?: Environment
  /** Bounds of the tools. What is left out has its default. */
  readonly limits?: Partial<Limits>
  /** Paths that Grep and Glob must not show, such as `RulePermissions.deniesReading`. */
  readonly hides?: (path: string, rights?: CallerRights) => boolean
  /** Paths that a person is asked about before they are read, such as `RulePermissions.asksToRead`: apply_patch quotes no lines of them. */
  readonly asksToRead?: (path: string, rights?: CallerRights) => boolean
  /** Where the path of a call led when it was judged, such as `RulePermissions.judgedPath`. `agentId`: the subagent that calls. `path`: which path of a call with several. */
  readonly judged?: (callId: string, agentId?: string, path?: string) => string | undefined
  /** Gives the library that makes images smaller, or undefined for none; `sharp` where it is installed when absent. */
  readonly imageLibrary?: () => Promise<Sharp | undefined>
  /** Gives the address of the module that reads PDFs, or undefined for none; `unpdf` where it is installed when absent. */
  readonly pdfLibrary?: PdfLibrary
  /** What WebFetch may reach beside the internet. */
  readonly web?: WebOptions
  /** Keeps what files were before the tools change them; nothing does when absent. */
  readonly checkpoints?: FileCheckpoints
  /** Where all of an output goes that is too long to be shown, such as `ResultFiles.spoolFolder`; nowhere when absent. */
  readonly spoolFolder?: string
  /** To what a command is confined that no rule let run, such as `RulePermissions.confinementOf`; no command is when absent. */
  readonly confinementOf?: (call: CommandCall) => Confinement | undefined
}

/** Subagents whose files are known; one that is forgotten has to read again what it writes. */
const mostAgents = 100

type Caller = Pick<ToolContext, 'agentType' | 'state' | 'memos'>

/** The id of the subagent that calls; undefined for the main conversation. */
export function agentIdOf({ agentType, state }: Caller): string | undefined {
  return typeof agentType === 'string' ? state.agentId : undefined
}

/** A command as a call has it, with what its confinement depends on. */
export interface CommandInput {
  /** The command line. */
  readonly command: string
  /** It does not wait for its end. */
  readonly run_in_background?: boolean
  /** A person is asked to run it as it is. */
  readonly unconfined?: boolean
}

/** What a person should know of a command that ran confined to the workspace. */
export type ConfinedNotice =
  /** It created something that programs outside of the confinement would obey; that was moved away. */
  | {
      readonly kind: 'confined_file_taken_back'
      /** Where it was. */
      readonly path: string
      /** Where it is now. */
      readonly movedTo: string
    }
  /** Whether it created such a thing is not known. */
  | {
      readonly kind: 'confined_command_unchecked'
      /** Why. */
      readonly why: string
    }

/** What the tools of one session share: directories, what was read, where the shell is, what runs. */
export class Workspace {
  /** The working directory, by its real path. */
  readonly cwd: string
  /** The folders of the workspace, by their real paths. */
  readonly directories: readonly string[]
  /** The environment of commands. */
  readonly env: Environment
  /** Bounds of the tools. */
  readonly limits: Limits
  /** Files as the main conversation saw them. */
  readonly files: FileStates = new FileStates()
  /** Processes that tools have started. */
  readonly processes: ProcessTable
  /** Tasks in the background. */
  readonly tasks: BackgroundTasks = new BackgroundTasks()
  /** What calls have done to files, and which of them were checks. */
  readonly work: SessionWork
  /** Ends or leaves what runs; there once a command was started. */
  leaveRunning: typeof LeaveRunning | undefined
  /** The span of a call as a W3C header, which its command is given as `TRACEPARENT`: such as `Telemetry.traceparentOf`. */
  traceparentOf: ((callId: string) => string | undefined) | undefined
  /** What lives on when this program ends. */
  readonly left: LeftRunning = new LeftRunning()
  /** Whether searches leave a path out. */
  readonly hides: (path: string, rights?: CallerRights) => boolean
  /** Whether a person is asked before a path is read. */
  readonly asksToRead: (path: string, rights?: CallerRights) => boolean
  /** Makes images fit for a service. */
  readonly fitImage: FitImage
  /** Gives the address of the module that reads PDFs; undefined for none. */
  readonly pdfLibrary: PdfLibrary | undefined
  /** What WebFetch may reach. */
  readonly web: WebOptions
  /** Takes secrets out of what is shown of files and commands, where a person wants that. */
  redact?: (text: string) => string
  /** Secrets of known forms, too: then output of what lives on, which nobody looks at, is written to no file. */
  redactsSecrets = false
  /** Stores files before they are changed; undefined for no storing. */
  readonly checkpoints: FileCheckpoints | undefined
  /** Folder for outputs that are too long; undefined for none. */
  readonly spoolFolder: string | undefined
  /** Who searches the web, and what rules deny of it; the service of the model that is asked when absent. */
  webSearch?: WebSearchPort
  /** Answers small questions, such as those about pages; one of the run's `models` or its context defence's. The model of the run when absent. */
  smallModel?: Model | undefined
  /** Holds the commands of the session, where a person wants that. */
  sandbox?: Sandbox
  /** Confines commands that no rule let run; they run as this program does without one. */
  wall?: SessionWall
  /** Tries commands before a person is asked about them; there once one was tried. */
  trials: Trials | undefined
  /** Told what a person should know of commands that ran confined to the workspace. */
  onConfined: ((notice: ConfinedNotice) => void) | undefined
  /** Where a person works in an editor that gives and takes files: Read, Edit and Write go through it. */
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

  /** Files as whoever calls saw them, in any process: what one subagent read, another one and the main conversation did not. */
  filesOf(caller: Caller): FileStates {
    const files = this.filesOfAgent(agentIdOf(caller))
    files.follow(caller)
    return files
  }

  /** By the id of a subagent; those of the main conversation without one. */
  filesOfAgent(agentId: string | undefined): FileStates {
    if (agentId === undefined) return this.files
    const files = this.#filesOfAgents.get(agentId) ?? new FileStates(this.files)
    // The newest stand last.
    this.#filesOfAgents.delete(agentId)
    this.#filesOfAgents.set(agentId, files)
    for (const oldest of this.#filesOfAgents.keys()) {
      if (this.#filesOfAgents.size <= mostAgents) break
      this.#filesOfAgents.delete(oldest)
    }
    return files
  }

  /** Files as the main conversation and the subagents of this process saw them. */
  get allFiles(): readonly FileStates[] {
    return [this.files, ...this.#filesOfAgents.values()]
  }

  /** Where the next command starts. A `cd` of the last one holds, as long as it stays inside the directories. */
  get shellDirectory(): string {
    return this.#shellDirectory
  }

  /** Takes over where a command ended. Outside the directories the shell is put back; returns whether it was. */
  moveShell(directory: string): 'moved' | 'put back' {
    const isAllowed = isInsideAny(directory, this.directories)
    const next = isAllowed ? directory : this.cwd
    // `pwd -P` names the real path; a cwd that was given through a link stays the way it was given.
    this.#shellDirectory = next === realPath(this.cwd) ? this.cwd : next
    return isAllowed ? 'moved' : 'put back'
  }

  /** The command's working directory was removed: start again at the root. */
  resetShell(): void {
    this.#shellDirectory = this.cwd
  }

  /** The path of a call, from the working directory. */
  pathOf(path: string): string {
    return calledPath(path, this.cwd)
  }

  /** A sentence that names files of the same folder whose names look the same and may be read; empty without any. */
  lookAlikesNote(real: string, rights: CallerRights | undefined): string {
    const names = lookAlikesOf(real).filter((path) => !this.hides(path, rights))
    return names.length === 0 ? '' : lookAlikes(names.slice(0, 3).map(exactName).join(', '))
  }

  /**
   * Where a path of a call leads.
   * @throws PathMovedError where that is not what was judged.
   */
  realPathOf(path: string, context: Caller & Pick<ToolContext, 'callId'>): string {
    const real = realPath(path)
    const judged = this.#judged(context.callId, agentIdOf(context), path)
    if (judged !== undefined && judged !== real) throw new PathMovedError(path)
    return real
  }

  /** To what the command of a call is confined. */
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

  /** What was kept when the run ended lives on whatever becomes of this program: `dispose` does not end it. */
  letGo(): Promise<void> {
    return this.left.handOver()
  }

  /** Commands that still run and that nobody was told of, for a program that has to end them. */
  async unnamed(): Promise<readonly string[]> {
    const running = this.tasks.running.filter((task) => !this.left.has(task))
    const { leftBehind } = this.processes
    if (running.length + leftBehind.length === 0) return []
    const { leftChildren, leftCommand, shownCommand } = await import('./task-words.ts')
    const left = leftBehind.map(({ origin }) => leftChildren(shownCommand(origin.command, this.redact)))
    return [...running.map(({ id, started }) => leftCommand(id, started.description)), ...left]
  }

  /** Ends all that commands of this session left running. Resolves when it is gone. */
  async dispose(): Promise<void> {
    await this.processes.dispose()
    this.sandbox?.dispose()
    this.wall?.dispose()
    await this.checkpoints?.dispose()
    // What was not taken over. A disk that refuses has let nothing be written there, or leaves it to the cleanup of sessions.
    if (this.spoolFolder !== undefined)
      await rm(this.spoolFolder, { recursive: true, force: true }).catch(() => undefined)
  }
}
