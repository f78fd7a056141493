import { onProcessExit, offProcessExit } from '@halting/policy'
import type { Readable } from 'node:stream'
import { detachedOf, endGroup, isRunning, isRunningInTurns, killGroup, type ProcessGroup } from './process-group.ts'

/** The command of a group, for users, and the pipe to which it writes. */
export interface Origin {
  readonly command: string
  readonly pipe: Readable | undefined
  /** The command is confined by the sandbox: none of its processes outlives this program. */
  readonly isConfined: boolean
}

/** For processes that are not a command of the model. */
const unnamed: Origin = { command: '', pipe: undefined, isConfined: false }

/** A command that ended and left processes running. */
export interface LeftBehind {
  readonly group: ProcessGroup
  readonly origin: Origin
}

/**
 * Every process group that this session started and that may still run. P1: nothing in the table survives `dispose()`.
 * P2: nothing in the table survives the exit of the program, even without `dispose()`: an exit listener is registered
 * while
 * anything is running.
 */
export class ProcessTable {
  readonly #groups = new Map<ProcessGroup, Origin>()
  readonly #graceMs: number
  readonly #killAll = (): void => {
    for (const group of this.#groups.keys()) killGroup(group)
  }

  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  add(group: ProcessGroup, origin: Origin = unnamed): void {
    if (this.#groups.size === 0) onProcessExit(this.#killAll)
    this.#groups.set(group, origin)
  }

  /**
   * Records that a command has ended by itself; processes that it left remain in the table. Returns a promise if
   * finding them takes long.
   */
  release(group: ProcessGroup): void | Promise<void> {
    const origin = this.#groups.get(group)
    if (origin === undefined) return undefined
    const { groupId, mark, started, leaves } = group
    // Without the monitor, which has ended: its process number may have been reused.
    const leftBehind: ProcessGroup = { groupId, mark, started, leaves, knownBy: 'mark' }
    this.#groups.set(leftBehind, origin)
    this.leave(group)
    const settle = (isLeft: boolean): void => {
      if (!isLeft) this.leave(leftBehind)
    }
    const isLeft = isRunningInTurns(leftBehind)
    return isLeft instanceof Promise ? isLeft.then(settle) : settle(isLeft)
  }

  /** Running processes that finished commands have left. */
  get leftBehind(): readonly LeftBehind[] {
    const left: LeftBehind[] = []
    for (const [group, origin] of this.#groups) {
      if (group.knownBy !== 'mark') continue
      if (isRunning(group)) left.push({ group, origin })
      // No new processes can join this group.
      else this.leave(group)
    }
    return left
  }

  has(group: ProcessGroup): boolean {
    return this.#groups.has(group)
  }

  /**
   * Ends a command and everything that it started, or what a finished command left. Resolves when all of it has ended.
   */
  async end(group: ProcessGroup): Promise<void> {
    const there = this.#groups.has(group) ? group : this.#leftBy(group)
    if (there === undefined) return
    await endGroup(there, this.#graceMs)
    this.leave(there)
  }

  #leftBy({ mark }: ProcessGroup): ProcessGroup | undefined {
    for (const group of this.#groups.keys()) if (group.knownBy === 'mark' && group.mark === mark) return group
    return undefined
  }

  /** Lets processes that left this group continue. Returns them, and the rest of the group. */
  leaveDetached(group: ProcessGroup): { readonly detached: readonly number[]; readonly rest: ProcessGroup } {
    const origin = this.#groups.get(group)
    const detached = origin === undefined ? [] : detachedOf(group)
    if (origin === undefined || detached.length === 0) return { detached: [], rest: group }
    const rest: ProcessGroup = { ...group, leaves: 'detached' }
    if (isRunning(rest)) this.#groups.set(rest, origin)
    this.leave(group)
    return { detached, rest }
  }

  /** Removes a group from the table, so that its processes continue. */
  leave(group: ProcessGroup): void {
    this.#groups.delete(group)
    if (this.#groups.size === 0) offProcessExit(this.#killAll)
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#groups.keys()].map((group) => this.end(group)))
  }
}
