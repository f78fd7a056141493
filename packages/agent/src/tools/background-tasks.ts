import { randomBytes } from 'node:crypto'
import type { ToolContext } from '@halting/core'
import type { Background, TaskEnded, TaskStarted } from '@halting/core/adapters'
import type { SessionWork } from '../checks/session-work.ts'
import type { ShellCommand, ShellEnd } from './shell-command.ts'

type TaskWork = Awaited<ReturnType<SessionWork['backgroundStarted']>>['atEnd']

/** A background command. */
export interface BackgroundTask {
  readonly id: string
  readonly command: string
  readonly shell: ShellCommand
  /** Its file work, once it has ended. */
  readonly work: TaskWork
  /** The start event. */
  readonly started: TaskStarted
  state: 'running' | 'stopped' | ShellEnd
  /** Whether the task's end was reported, or is about to be reported by the code that set this field. */
  isReported: boolean
  /**
   * Number of characters of the task's output that results have shown, by conversation: '' for the main conversation,
   * or the id of a subagent.
   */
  readonly shown: Map<string, number>
}

/** Records that the task's output so far is shown in the result of a call. */
export function markShown({ shown, shell }: BackgroundTask, caller: Pick<ToolContext, 'agentType' | 'state'>): void {
  shown.set(callerOf(caller), shell.output.length)
}

/** Returns the task's output that no result has shown to the caller. */
export function unshownOutput(
  { shown, shell }: BackgroundTask,
  caller: Pick<ToolContext, 'agentType' | 'state'>,
): string {
  return shell.output.since(shown.get(callerOf(caller)) ?? 0)
}

function callerOf({ agentType, state }: Pick<ToolContext, 'agentType' | 'state'>): string {
  return typeof agentType === 'string' ? state.agentId : ''
}

/** Texts about tasks, in a separate file that runs without tasks do not load. */
interface Words {
  shownCommand(command: string, redact: ((text: string) => string) | undefined): string
  endOf(task: BackgroundTask): readonly TaskEnded[]
}

/** The background commands of a session. Ids are never reused. */
export class BackgroundTasks {
  /** What happens to tasks when the run ends; undefined if their end is not reported to the model. */
  atEnd: Background['atEnd'] | undefined
  /** Removes secrets from what is reported, if the user wants that. */
  redact: ((text: string) => string) | undefined
  readonly #tasks = new Map<string, BackgroundTask>()
  readonly #listeners = new Set<() => void>()
  #words: Words | undefined
  #earlier: ReadonlySet<string> = new Set()
  #prefix = 'bash_'

  /**
   * Continues a session of earlier processes; `ids` are the task ids that the session still contains. A rewind may
   * have removed others, so ids of this process differ by more than a number.
   */
  continueAfter(ids: ReadonlySet<string>): void {
    this.#earlier = ids
    this.#prefix = `bash_${randomBytes(3).toString('hex')}_`
  }

  isEarlier(id: string): boolean {
    return this.#earlier.has(id)
  }

  add(command: string, shell: ShellCommand, work: TaskWork, words: Words): BackgroundTask {
    this.#words = words
    const id = `${this.#prefix}${this.#tasks.size + 1}`
    const description = words.shownCommand(command, this.redact)
    const { trace } = shell
    const started: TaskStarted = { type: 'started', id, description, ...(trace !== undefined && { trace }) }
    const task: BackgroundTask = {
      id,
      command,
      shell,
      work,
      started,
      state: 'running',
      isReported: false,
      shown: new Map(),
    }
    this.#tasks.set(id, task)
    void this.#follow(task)
    return task
  }

  get(id: string): BackgroundTask | undefined {
    return this.#tasks.get(id)
  }

  get ids(): readonly string[] {
    return [...this.#tasks.keys()]
  }

  get running(): readonly BackgroundTask[] {
    return [...this.#tasks.values()].filter(({ state }) => state === 'running')
  }

  /** Ends of tasks that were not reported. */
  get unreported(): readonly TaskEnded[] {
    return [...this.#tasks.values()].flatMap((task) => (task.isReported ? [] : this.endOf(task)))
  }

  /** Returns how a task ended; nothing while it is running. */
  endOf(task: BackgroundTask): readonly TaskEnded[] {
    return task.state === 'running' ? [] : (this.#words?.endOf(task) ?? [])
  }

  /**
   * Returns the task's end, for the result of a tool; empty while the task is running, or if its end was reported
   * before. The end counts as reported when that result is recorded: a call may be dropped, for example a call that
   * began while its message was still streamed.
   */
  unreportedEnd(task: BackgroundTask): { readonly tasks?: readonly TaskEnded[] } {
    const tasks = task.isReported ? [] : this.endOf(task)
    return tasks.length === 0 ? {} : { tasks }
  }

  /** Calls the listener when a task has ended. Returns a function that removes the listener. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops a task and everything that it started. Resolves when it is gone. */
  async stop(task: BackgroundTask): Promise<void> {
    if (task.state !== 'running') return
    task.state = 'stopped'
    await task.shell.end()
    this.#tellEnd()
  }

  /** Records how the task ended, unless it was stopped. Never rejects, because `ended` does not reject. */
  async #follow(task: BackgroundTask): Promise<void> {
    const end = await task.shell.ended
    if (task.state !== 'running') return
    task.state = end
    this.#tellEnd()
  }

  #tellEnd(): void {
    for (const listener of this.#listeners) listener()
  }
}
