import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { BackgroundTask } from './background-tasks.ts'

/** Commands that outlive this program, and the destination of their output. */
export class LeftRunning {
  readonly #tasks = new Map<BackgroundTask, string | undefined>()
  readonly #pipes = new Set<Readable>()

  /** Adds a task. Returns the file for its output; undefined if secrets must not be written to disk. */
  addTask(task: BackgroundTask, keepsOutput: boolean): string | undefined {
    // An unpredictable name.
    const path = keepsOutput ? join(tmpdir(), `halting-${task.id}-${randomUUID()}.log`) : undefined
    if (!this.#tasks.has(task)) this.#tasks.set(task, path)
    return this.#tasks.get(task)
  }

  /** Whether the task continues after this program, which was reported. */
  has(task: BackgroundTask): boolean {
    return this.#tasks.has(task)
  }

  /** Adds the pipe of a process that continues. A process that writes into a pipe without a reader is killed. */
  addPipe(pipe: Readable | undefined): void {
    if (pipe !== undefined) this.#pipes.add(pipe)
  }

  /** After this call, none of these processes depends on this program. */
  async handOver(): Promise<void> {
    if (this.#tasks.size + this.#pipes.size === 0) return
    const { drainPipeInto: drainInto } = await import('./drain-into.ts')
    for (const [{ shell, state }, path] of this.#tasks) {
      if (state !== 'running') continue
      shell.leave()
      drainInto(shell.pipe, path, shell.output.toString())
    }
    for (const pipe of this.#pipes) drainInto(pipe, undefined, '')
  }
}
