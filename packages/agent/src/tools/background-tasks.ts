import { randomBytes } from 'node:crypto'
import type { ToolContext } from '@halting/core'
import type { Background, TaskEnded, TaskStarted } from '@halting/core/adapters'
import type { SessionWork } from '../checks/session-work.ts'
import type { ShellCommand, ShellEnd } from './shell-command.ts'

type TaskWork = Awaited<ReturnType<SessionWork['beside']>>['atEnd']

/** A command that runs beside the conversation. */
export interface BackgroundTask {
  readonly id: string
  readonly command: string
  readonly shell: ShellCommand
  /** What it did to files, once it has ended. */
  readonly work: TaskWork
  /** As it is told. */
  readonly started: TaskStarted
  state: 'running' | 'stopped' | ShellEnd
  /** Its end was told, or is about to be by whoever set this. */
  isTold: boolean
  /** How many characters of its output results have shown, to the main conversation ('') or the subagent of an id. */
  readonly shown: Map<string, number>
}

/** Its output up to now is shown with the result of a call. */
export function noteShown({ shown, shell }: BackgroundTask, caller: Pick<ToolContext, 'agentType' | 'state'>): void {
  shown.set(callerOf(caller), shell.output.length)
}

/** Its output that no result has shown to who calls, as it came. */
export function unshownOutput(
  { shown, shell }: BackgroundTask,
  caller: Pick<ToolContext, 'agentType' | 'state'>,
): string {
  return shell.output.since(shown.get(callerOf(caller)) ?? 0)
}

function callerOf({ agentType, state }: Pick<ToolContext, 'agentType' | 'state'>): string {
  return typeof agentType === 'string' ? state.agentId : ''
}

/** The words in which tasks are told: in a file of their own, which runs without tasks do not load. */
interface Words {
  shownCommand(command: string, redact: ((text: string) => string) | undefined): string
  endOf(task: BackgroundTask): readonly TaskEnded[]
}

/** The background commands of a session, under ids that are never given twice. */
export class BackgroundTasks {
  /** What becomes of tasks when the run ends; undefined where nobody tells the model of their end. */
  atEnd: Background['atEnd'] | undefined
  /** Takes secrets out of what is told, where a person wants that. */
  redact: ((text: string) => string) | undefined
  readonly #tasks = new Map<string, BackgroundTask>()
  readonly #listeners = new Set<() => void>()
  #words: Words | undefined
  #earlier: ReadonlySet<string> = new Set()
  #prefix = 'bash_'

  /**
   * The session goes on after other processes; `ids` are those that it still knows of. A rewind may have taken others out of it, so ids of this
   * process are told apart by more than a number.
   */
  goOnAfter(ids: ReadonlySet<string>): void {
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
      isTold: false,
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

  /** Ends that nobody was told of. */
  get untold(): readonly TaskEnded[] {
    return [...this.#tasks.values()].flatMap((task) => (task.isTold ? [] : this.endOf(task)))
  }

  /** How a task ended; nothing while it runs. */
  endOf(task: BackgroundTask): readonly TaskEnded[] {
    return task.state === 'running' ? [] : (this.#words?.endOf(task) ?? [])
  }

  /**
   * News of its end, for the result of a tool that tells of it; none when it runs, or was told of before. It is told when that result is on record:
   * a call may come to nothing, as one does that began while its message was still being streamed.
   */
  newsOfEnd(task: BackgroundTask): { readonly tasks?: readonly TaskEnded[] } {
    const tasks = task.isTold ? [] : this.endOf(task)
    return tasks.length === 0 ? {} : { tasks }
  }

  /** Calls back when a task has ended. Gives the way to be called no more. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends a task and all that it started. Resolves when it is gone. */
  async stop(task: BackgroundTask): Promise<void> {
    if (task.state !== 'running') return
    task.state = 'stopped'
    await task.shell.end()
    this.#tellEnd()
  }

  /** Notes how the task ended, unless it was stopped. Never rejects: `ended` does not. */
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
