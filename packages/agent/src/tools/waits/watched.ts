import type { Json, ToolContext, ToolOutput } from '@halting/core'
import type { CallWait } from '@halting/core/adapters'
import type { BackgroundTask } from '../background-tasks.ts'
import type { Workspace } from '../workspace.ts'
import type { Unmet, Watch } from './until.ts'

/** Input of the Wait tool: one of `task_id`, `seconds`, `file_path` and `command`, and what belongs to it. */
export interface WaitInput {
  /** A background command or an agent: waits for its end. */
  readonly task_id?: string
  /** Waits for so long. */
  readonly seconds?: number
  /** Waits for a file or folder. */
  readonly file_path?: string
  /** What has to become of the file; `exists` when absent. */
  readonly change?: 'exists' | 'changes' | 'gone'
  /** Run again and again until it exits with 0. */
  readonly command?: string
  /** The command runs as it is where it would be confined to the workspace: a person is asked first. */
  readonly unconfined?: boolean
  /** Between two runs of the command. */
  readonly every_seconds?: number
  /** Of a background command or of `command`: waits for a line of its output that matches this regular expression. */
  readonly pattern?: string
  /** Most seconds to wait. */
  readonly timeout_seconds?: number
}

/** A call of Wait, and what it is handed. */
export interface WaitCall {
  readonly input: WaitInput
  readonly workspace: Workspace
  readonly context: ToolContext
  readonly wait: CallWait
}

/** What a wait shows at its end. */
export interface Shown {
  /** Sentences for the model. */
  readonly said: string
  /** Above these, on a line of its own: what was written that matched. */
  readonly line?: string
  /** Output of what was waited for; '' for none. */
  readonly output?: string
  readonly details?: { readonly [name: string]: Json }
  readonly tasks?: ToolOutput['tasks']
  /** The command of the background that was waited for: what it did to files is told where it has ended. */
  readonly task?: BackgroundTask
}

/** Something that is waited for. */
export interface Watched<Value> {
  /** In a few words, behind "waits for". */
  readonly what: string
  readonly watch: Watch<Value>
  /** How it is when it has come; a result of its own where it turned out that it cannot be waited for. */
  met(value: Value): Shown | ToolOutput
  /** How it is when the wait ends without it. */
  unmet(why: Unmet): Shown
  /** Resolves once nothing of it runs any more. */
  settled?(): Promise<void>
}
