import type { Json, ToolContext, ToolOutput } from '@halting/core'
import type { CallWait } from '@halting/core/adapters'
import type { BackgroundTask } from '../background-tasks.ts'
import type { Workspace } from '../workspace.ts'
import type { Unmet, Watch } from './until.ts'

/**
 * Input of the Wait tool: one of `task_id`, `seconds`, `file_path` and `command`, with the fields that belong to it.
 */
export interface WaitInput {
  /** A background command or agent: waits for its end. */
  readonly task_id?: string
  /** Number of seconds to wait. */
  readonly seconds?: number
  /** Waits for a file or folder. */
  readonly file_path?: string
  /** The change to wait for (default: `exists`). */
  readonly change?: 'exists' | 'changes' | 'gone'
  /** A command that is run repeatedly until it exits with 0. */
  readonly command?: string
  /** Run the command unconfined where it would be confined to the workspace: the user is asked first. */
  readonly unconfined?: boolean
  /** Seconds between two runs of the command. */
  readonly every_seconds?: number
  /** Waits for a line in the output of a background command or of `command` that matches this regular expression. */
  readonly pattern?: string
  /** Maximum number of seconds to wait. */
  readonly timeout_seconds?: number
}

/** A call of Wait, with its context. */
export interface WaitCall {
  readonly input: WaitInput
  readonly workspace: Workspace
  readonly context: ToolContext
  readonly wait: CallWait
}

/** The result of a wait. */
export interface WaitResult {
  /** Sentences for the model. */
  readonly sentences: string
  /** The matching line, shown on a line of its own above the sentences. */
  readonly line?: string
  /** Output of the command or task that was waited for; '' if there is none. */
  readonly output?: string
  readonly details?: { readonly [name: string]: Json }
  readonly tasks?: ToolOutput['tasks']
  /** The background command that was waited for: its file work is reported if it has ended. */
  readonly task?: BackgroundTask
}

/** The subject of a wait. */
export interface Watched<Value> {
  /** The subject in a few words, after "waits for". */
  readonly what: string
  readonly watch: Watch<Value>
  /** Returns the result when the condition is met; an error result if waiting turned out to be impossible. */
  met(value: Value): WaitResult | ToolOutput
  /** Returns the result when the wait ends early. */
  unmet(why: Unmet): WaitResult
  /** Resolves once none of the processes of the wait is running. */
  settled?(): Promise<void>
}
