import { onProcessExit, offProcessExit } from '@halting/policy'
import { randomUUID } from 'node:crypto'
import { endGroup, killGroup, markVariable, type ProcessGroup } from '../tools/process-group.ts'

/**
 * The processes that hooks of a session started. P1: a hook that hangs is ended together with its group and the
 * processes that left the group, by SIGTERM and then SIGKILL; other hooks continue. P2: nothing survives `dispose()`,
 * including processes that
 * left their group (on Linux, where the environment identifies them). P3: no group survives the exit of this program.
 */
export class HookProcesses {
  /** An environment variable marks every process that hooks start. */
  readonly mark: string = randomUUID()
  readonly #groups = new Set<ProcessGroup>()
  readonly #graceMs: number
  /** The id of the first process group of this session; 0 before the first hook. */
  #first = 0
  readonly #killAll = (): void => {
    for (const group of this.#groups) killGroup(group)
  }

  constructor(graceMs = 500) {
    this.#graceMs = graceMs
  }

  /** The environment of a hook: the common mark and its own, in addition to those of outer agents. */
  environment(env: Readonly<Record<string, string | undefined>>, own: string): Record<string, string | undefined> {
    const outer = env[markVariable]
    return { ...env, [markVariable]: [...(outer === undefined ? [] : [outer]), this.mark, own].join(',') }
  }

  add(groupId: number, own: string): ProcessGroup {
    if (this.#groups.size === 0) onProcessExit(this.#killAll)
    if (this.#first === 0) this.#first = groupId
    const group: ProcessGroup = { groupId, mark: own, knownBy: 'group' }
    this.#groups.add(group)
    return group
  }

  /** The hook has ended by itself. Processes that it left in its group may run until the end of the run. */
  release(group: ProcessGroup): void {
    this.#forget(group)
    // Queries only the kernel: scanning all processes after each hook would cost more than the hook.
    if (hasMembers(group.groupId)) this.#keep({ ...group, knownBy: 'mark' })
  }

  async end(group: ProcessGroup): Promise<void> {
    await endGroup(group, this.#graceMs)
    this.#forget(group)
  }

  /**
   * Limits the number of groups that finished commands left running: ends the oldest ones. Nothing else may be
   * running.
   */
  async trim(most: number): Promise<void> {
    for (const group of this.#groups) if (!hasMembers(group.groupId)) this.#forget(group)
    const left = [...this.#groups]
    await Promise.all(left.slice(0, Math.max(0, left.length - most)).map((group) => this.end(group)))
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.end(group)))
    if (this.#first === 0 || process.platform !== 'linux') return
    // Processes with the mark belong to this session, in any group.
    await endGroup({ groupId: this.#first, mark: this.mark, knownBy: 'mark' }, this.#graceMs)
  }

  #keep(group: ProcessGroup): void {
    if (this.#groups.size === 0) onProcessExit(this.#killAll)
    this.#groups.add(group)
  }

  #forget(group: ProcessGroup): void {
    this.#groups.delete(group)
    if (this.#groups.size === 0) offProcessExit(this.#killAll)
  }
}

function hasMembers(groupId: number): boolean {
  try {
    return process.kill(-groupId, 0)
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}
