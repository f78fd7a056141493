import type { ShellCommand, ShellEnd } from './shell-command.ts'

/** A command that runs beside the conversation. */
export interface BackgroundTask {
  readonly id: string
  readonly command: string
  readonly shell: ShellCommand
  state: 'running' | 'stopped' | ShellEnd
}

/** The background commands of a session, under ids that are never given twice. */
export class BackgroundTasks {
  readonly #tasks = new Map<string, BackgroundTask>()

  add(command: string, shell: ShellCommand): BackgroundTask {
    const task: BackgroundTask = { id: `bash_${this.#tasks.size + 1}`, command, shell, state: 'running' }
    this.#tasks.set(task.id, task)
    void follow(task)
    return task
  }

  get(id: string): BackgroundTask | undefined {
    return this.#tasks.get(id)
  }

  get ids(): readonly string[] {
    return [...this.#tasks.keys()]
  }

  /** Ends a task and all that it started. Resolves when it is gone. */
  async stop(task: BackgroundTask): Promise<void> {
    task.state = 'stopped'
    await task.shell.end()
  }
}

/** Notes how the task ended, unless it was stopped. Never rejects: `ended` does not. */
async function follow(task: BackgroundTask): Promise<void> {
  const end = await task.shell.ended
  if (task.state === 'running') task.state = end
}
