import type { Environment } from '../files/paths.ts'
import type { SandboxedCommand } from './sandbox.ts'

/** A control file that a confined command created, and that was moved aside. */
export interface MovedAside {
  /** The path at which the command created it. */
  readonly path: string
  /** The path to which it was moved. */
  readonly movedTo: string
}

/** The result of a confined command besides its output. */
export interface CommandAftermath {
  /** Control files that the command created. They were moved aside, so nothing is lost. */
  readonly takenBack: readonly MovedAside[]
}

/** A command that may change the workspace and nothing else. */
export interface EditCommand extends SandboxedCommand {
  /**
   * Resolves when no process of the command runs any more. Call it when bubblewrap has ended, and before `settle`.
   * @throws SandboxError if a process cannot be ended.
   */
  gone(): Promise<void>
  /** Call this when the command and all its processes have ended, for whatever reason. A second call does nothing. */
  settle(): CommandAftermath
}

/** The caches of tools for the confined commands of one project. */
export interface ProjectCaches {
  /**
   * Prepares the caches for one command. If that is impossible, it has none.
   * @param env The environment of the command, whose variables may name caches.
   */
  enter(env: Environment): EnteredCaches
}

/** The caches of one confined command. */
export interface EnteredCaches {
  /** The program that mounts the caches and then starts bubblewrap. Append the path and the arguments of bubblewrap to its arguments. */
  readonly launcher?: {
    /** Path of the program. */
    readonly file: string
    /** Its arguments. */
    readonly args: readonly string[]
  }
  /** Arguments of bubblewrap, to be placed after the empty home of the command. */
  readonly mounts: readonly string[]
  /** Variables that the launcher needs; undefined for those that it must not see. */
  readonly env: Environment
}
