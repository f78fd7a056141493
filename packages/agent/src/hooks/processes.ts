import { atExit, notAtExit } from '@halting/policy'
import { randomUUID } from 'node:crypto'
import { endGroup, killGroup, markVariable, type ProcessGroup } from '../tools/process-group.ts'

/**
 * What the hooks of a session started.
 *
 * P1: a hook that hangs is ended with its group and what left it: SIGTERM, then SIGKILL. The hooks beside it go on.
 * P2: nothing survives `dispose()`, also what left its group (on Linux, where processes can be told by their environment).
 * P3: nothing of a group survives the program's own exit.
 */
export class HookProcesses {
  /** Every process that hooks start carries it. */
  readonly mark: string = randomUUID()
  readonly #groups = new Set<ProcessGroup>()
  readonly #graceMs: number
  /** A group that was ours; 0 before the first hook. */
  #first = 0
  readonly #killAll = (): void => {
    for (const group of this.#groups) killGroup(group)
  }

  constructor(graceMs = 500) {
    this.#graceMs = graceMs
  }

  /** The environment of a hook: the mark of all, and its own, beside those of agents around this one. */
  environment(env: Readonly<Record<string, string | undefined>>, own: string): Record<string, string | undefined> {
    const outer = env[markVariable]
    return { ...env, [markVariable]: [...(outer === undefined ? [] : [outer]), this.mark, own].join(',') }
  }

  add(groupId: number, own: string): ProcessGroup {
    if (this.#groups.size === 0) atExit(this.#killAll)
    if (this.#first === 0) this.#first = groupId
    const group: ProcessGroup = { groupId, mark: own, knownBy: 'group' }
    this.#groups.add(group)
    return group
  }

  /** The hook has ended by itself. What it left in its group goes on until the end of the run. */
  release(group: ProcessGroup): void {
    this.#forget(group)
    // Asked of the kernel alone: to look through all processes after each hook would cost more than the hook.
    if (hasMembers(group.groupId)) this.#keep({ ...group, knownBy: 'mark' })
  }

  async end(group: ProcessGroup): Promise<void> {
    await endGroup(group, this.#graceMs)
    this.#forget(group)
  }

  /** Of what commands that have ended left, so many groups go on at most: the oldest are ended. Nothing else may be running. */
  async trim(most: number): Promise<void> {
    for (const group of this.#groups) if (!hasMembers(group.groupId)) this.#forget(group)
    const left = [...this.#groups]
    await Promise.all(left.slice(0, Math.max(0, left.length - most)).map((group) => this.end(group)))
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.end(group)))
    if (this.#first === 0 || process.platform !== 'linux') return
    // What carries the mark is ours, wherever it went.
    await endGroup({ groupId: this.#first, mark: this.mark, knownBy: 'mark' }, this.#graceMs)
  }

  #keep(group: ProcessGroup): void {
    if (this.#groups.size === 0) atExit(this.#killAll)
    this.#groups.add(group)
  }

  #forget(group: ProcessGroup): void {
    this.#groups.delete(group)
    if (this.#groups.size === 0) notAtExit(this.#killAll)
  }
}

function hasMembers(groupId: number): boolean {
  try {
    return process.kill(-groupId, 0)
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}
