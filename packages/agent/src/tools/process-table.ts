import { endGroup, isRunning, type ProcessGroup, signalGroup } from './process-group.ts'

/**
 * Every process group that this session started and that may still run.
 *
 * P1: nothing survives `dispose()`.
 * P2: nothing survives the program's own exit, also when nobody disposed: an exit listener is there while anything runs.
 */
export class ProcessTable {
  readonly #groups = new Set<ProcessGroup>()
  readonly #graceMs: number
  readonly #killAll = (): void => {
    for (const group of this.#groups) signalGroup(group, 'SIGKILL')
  }

  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  add(group: ProcessGroup): void {
    if (this.#groups.size === 0) process.once('exit', this.#killAll)
    this.#groups.add(group)
  }

  /** A command has ended by itself; what it left in the background is kept in the table. */
  release(group: ProcessGroup): void {
    const leftBehind: ProcessGroup = { ...group, knownBy: 'mark' }
    if (isRunning(leftBehind)) this.#groups.add(leftBehind)
    this.#forget(group)
  }

  /** Ends a command and all that it started. Resolves when it is gone. */
  async end(group: ProcessGroup): Promise<void> {
    if (!this.#groups.has(group)) return
    await endGroup(group, this.#graceMs)
    this.#forget(group)
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.end(group)))
  }

  #forget(group: ProcessGroup): void {
    this.#groups.delete(group)
    if (this.#groups.size === 0) process.off('exit', this.#killAll)
  }
}
