import type { Environment } from '../files/paths.ts'
import type { SandboxedCommand } from './sandbox.ts'

/** What a confined command made where something is obeyed later, and that was moved out of the way. */
export interface MovedAside {
  /** The path at which the command made it. */
  readonly path: string
  /** The path at which it is now. */
  readonly movedTo: string
}

/** What came of a confined command beside its output. */
export interface CommandAftermath {
  /** What the command made where something is obeyed later: it was moved aside, and nothing is lost. */
  readonly takenBack: readonly MovedAside[]
}

/** A command that may change the workspace and nothing else. */
export interface EditCommand extends SandboxedCommand {
  /**
   * Resolves when nothing that the command started runs any more. To be called when bubblewrap has ended, and before `settle`.
   * @throws SandboxError where something cannot be ended.
   */
  gone(): Promise<void>
  /** To be called when the command, and all that it started, has ended, however it ended. A second call does nothing. */
  settle(): CommandAftermath
}

/** The caches of tools that confined commands of one project have. */
export interface ProjectCaches {
  /**
   * Makes the caches ready for one command. Where that is not possible it has none.
   *
   * @param env The environment of the command: variables name places of caches.
   */
  enter(env: Environment): EnteredCaches
}

/** The caches of one confined command. */
export interface EnteredCaches {
  /** The program that mounts the caches and then starts bubblewrap, whose path and arguments follow its own arguments. */
  readonly launcher?: {
    /** Path of the program. */
    readonly file: string
    /** Its arguments. */
    readonly args: readonly string[]
  }
  /** Arguments of bubblewrap, behind the empty home of the command. */
  readonly mounts: readonly string[]
  /** Variables of the environment that are others for the launcher; undefined for those that it must not see. */
  readonly env: Environment
}
