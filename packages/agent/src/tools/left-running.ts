import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { BackgroundTask } from './background-tasks.ts'

/** What lives on when this program ends, and where its output goes then. */
export class LeftRunning {
  readonly #tasks = new Map<BackgroundTask, string | undefined>()
  readonly #pipes = new Set<Readable>()

  /** Gives the file that its output goes to; none where secrets are to be kept off the disk. */
  addTask(task: BackgroundTask, keepsOutput: boolean): string | undefined {
    // A name that nobody can know before.
    const path = keepsOutput ? join(tmpdir(), `halting-${task.id}-${randomUUID()}.log`) : undefined
    if (!this.#tasks.has(task)) this.#tasks.set(task, path)
    return this.#tasks.get(task)
  }

  /** It lives on, and that was told. */
  has(task: BackgroundTask): boolean {
    return this.#tasks.has(task)
  }

  /** The pipe of something that goes on. A process that writes into a pipe without a reader is ended by that. */
  addPipe(pipe: Readable | undefined): void {
    if (pipe !== undefined) this.#pipes.add(pipe)
  }

  /** From here on nothing of this depends on this program. */
  async handOver(): Promise<void> {
    if (this.#tasks.size + this.#pipes.size === 0) return
    const { drainInto } = await import('./drain-into.ts')
    for (const [{ shell, state }, path] of this.#tasks) {
      if (state !== 'running') continue
      shell.leave()
      drainInto(shell.pipe, path, shell.output.toString())
    }
    for (const pipe of this.#pipes) drainInto(pipe, undefined, '')
  }
}
