import { atExit, notAtExit } from '@halting/policy'
import type { Readable } from 'node:stream'
import { detachedOf, endGroup, isRunning, isRunningInTurns, killGroup, type ProcessGroup } from './process-group.ts'

/** What a group is to people, and the pipe that it writes into. */
export interface Origin {
  readonly command: string
  readonly pipe: Readable | undefined
  /** The sandbox holds it: nothing of it outlives this program. */
  readonly isHeld: boolean
}

/** Of what is no command of the model. */
const unnamed: Origin = { command: '', pipe: undefined, isHeld: false }

/** A command that ended and left something behind. */
export interface LeftBehind {
  readonly group: ProcessGroup
  readonly origin: Origin
}

/**
 * Every process group that this session started and that may still run.
 *
 * P1: nothing that is in the table survives `dispose()`.
 * P2: nothing of it survives the program's own exit, also when nobody disposed: an exit listener is there while anything runs.
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
    if (this.#groups.size === 0) atExit(this.#killAll)
    this.#groups.set(group, origin)
  }

  /** A command has ended by itself; what it left in the background is kept in the table. A promise where it takes more than a moment to find that out. */
  release(group: ProcessGroup): void | Promise<void> {
    const origin = this.#groups.get(group)
    if (origin === undefined) return undefined
    const { groupId, mark, started, leaves } = group
    // Without its monitor, which has ended: its number may be that of a stranger by now.
    const leftBehind: ProcessGroup = { groupId, mark, started, leaves, knownBy: 'mark' }
    this.#groups.set(leftBehind, origin)
    this.leave(group)
    const settle = (isLeft: boolean): void => {
      if (!isLeft) this.leave(leftBehind)
    }
    const isLeft = isRunningInTurns(leftBehind)
    return isLeft instanceof Promise ? isLeft.then(settle) : settle(isLeft)
  }

  /** What commands that ended have left and that still runs. */
  get leftBehind(): readonly LeftBehind[] {
    const left: LeftBehind[] = []
    for (const [group, origin] of this.#groups) {
      if (group.knownBy !== 'mark') continue
      if (isRunning(group)) left.push({ group, origin })
      // Nothing can come to it any more.
      else this.leave(group)
    }
    return left
  }

  has(group: ProcessGroup): boolean {
    return this.#groups.has(group)
  }

  /** Ends a command and all that it started; of one that has ended by itself what it left. Resolves when it is gone. */
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

  /** From now on what left this group lives on. Gives its processes, and what is left of the group. */
  leaveDetached(group: ProcessGroup): { readonly detached: readonly number[]; readonly rest: ProcessGroup } {
    const origin = this.#groups.get(group)
    const detached = origin === undefined ? [] : detachedOf(group)
    if (origin === undefined || detached.length === 0) return { detached: [], rest: group }
    const rest: ProcessGroup = { ...group, leaves: 'detached' }
    if (isRunning(rest)) this.#groups.set(rest, origin)
    this.leave(group)
    return { detached, rest }
  }

  /** This group is nobody's any more: it lives on. */
  leave(group: ProcessGroup): void {
    this.#groups.delete(group)
    if (this.#groups.size === 0) notAtExit(this.#killAll)
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#groups.keys()].map((group) => this.end(group)))
  }
}
