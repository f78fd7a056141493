import { ConfigurationError } from '@halting/core'
import { checkObject, checkText } from '@halting/journal'
import { ChangeLog, readChanges, type ChangeRecord, type FileChange } from './change-log.ts'
import { ContentStore } from './content-store.ts'
import { isSameState, stateInPlace } from './path-state.ts'
import { completeRestore, interruptedRestore, restore } from './restore.ts'
import {
  changedRuns,
  lastRestore,
  redoPlan,
  revertPlanFrom,
  type ChangedRun,
  type LeftFile,
  type RevertPlan,
} from './revert-plan.ts'
import { changeText } from './change-text.ts'

/** What to restore: the changes of the last run, all changes since a record, or what the last undo reverted. */
export type WhatToRestore =
  | { readonly kind: 'undo' }
  | {
      readonly kind: 'rewind'
      /** Number of the first record to revert. */
      readonly first: number
    }
  | { readonly kind: 'redo' }

/** A restore plan, with a description for users. */
export interface RestorePlan extends RevertPlan {
  /** What is restored. */
  readonly kind: WhatToRestore['kind']
  /** The run whose changes an undo reverts. */
  readonly run?: string
  /** Number of the log record that the plan refers to; absent if none. */
  readonly of?: number
}

/** The files that a session has changed. Only the process that owns the session may call `apply` and `complete`. */
export class SessionFiles {
  readonly #folder: string
  readonly #contents: ContentStore
  readonly #log: ChangeLog

  /**
   * @param folder See `checkpointsFolder`.
   * @throws ConfigurationError if it is not a folder.
   */
  constructor(folder: string) {
    checkText('The folder of SessionFiles', folder)
    this.#folder = folder
    this.#contents = new ContentStore(folder)
    this.#log = new ChangeLog(folder)
  }

  /** @throws HaltingError `driver` for an unreadable log. */
  records(): Promise<readonly ChangeRecord[]> {
    return readChanges(this.#folder)
  }

  /** The runs whose file changes were not reverted. */
  async runs(): Promise<readonly ChangedRun[]> {
    return changedRuns(await this.records())
  }

  /**
   * Completes an interrupted undo, rewind or redo. Returns the files that were left unchanged; undefined if nothing
   * was interrupted.
   */
  async complete(): Promise<readonly LeftFile[] | undefined> {
    return completeRestore(await this.records(), this.#log, this.#contents)
  }

  /** Returns the remaining part of an interrupted restore; undefined if nothing was interrupted. */
  async cutOff(): Promise<Pick<RestorePlan, 'changes'> | undefined> {
    const records = await this.records()
    const begun = records[interruptedRestore(records) ?? -1]
    if (begun?.type !== 'restore_start') return undefined
    const changes: FileChange[] = []
    for (const change of begun.changes)
      if (!isSameState(stateInPlace(change.path).state, change.after)) changes.push(change)
    return { changes }
  }

  /**
   * Computes a restore plan without changing anything; undefined if there is nothing to restore.
   * @throws ConfigurationError for an invalid request.
   */
  async plan(what: WhatToRestore): Promise<RestorePlan | undefined> {
    checkWhat(what)
    const records = await this.records()
    switch (what.kind) {
      case 'undo': {
        const last = changedRuns(records).at(-1)
        if (last === undefined) return undefined
        return { kind: 'undo', run: last.run, ...(await revertPlanFrom(records, last.first, this.#contents)) }
      }
      case 'rewind':
        return { kind: 'rewind', ...(await revertPlanFrom(records, what.first, this.#contents)) }
      case 'redo': {
        const of = lastRestore(records)
        return of === undefined ? undefined : { kind: 'redo', of, ...(await redoPlan(records, of, this.#contents)) }
      }
    }
  }

  // Spec R-UNDO-4b.
  /**
   * Applies a plan. Returns files that turned out to be changed and were left unchanged. If no file could be restored,
   * nothing counts as reverted, so the restore can be repeated.
   */
  async apply(plan: RestorePlan): Promise<readonly LeftFile[]> {
    if (plan.changes.length === 0 && plan.left.length > 0) return []
    return restore(plan.kind, plan, plan.of, { log: this.#log, contents: this.#contents })
  }

  /** The planned changes as a unified diff. */
  async diff({ changes }: Pick<RestorePlan, 'changes'>, from: string): Promise<string> {
    let text = ''
    for (const change of changes) text += await changeText(change, from, this.#contents)
    return text
  }
}

const kindsToRestore = "{ kind: 'undo' }, { kind: 'redo' } or { kind: 'rewind', first: 3 }"

/** Plain JavaScript may pass anything. */
function checkWhat(what: WhatToRestore): void {
  checkObject('plan', what, kindsToRestore)
  const { kind } = what
  if (kind !== 'undo' && kind !== 'redo' && kind !== 'rewind')
    throw new ConfigurationError(`plan must be given ${kindsToRestore}, but its kind is ${String(kind)}.`)
  if (kind === 'rewind' && !(Number.isInteger(what.first) && what.first >= 0))
    throw new ConfigurationError(
      `first must be the index of a record, 0 or more, not ${String(what.first)}. See records().`,
    )
}
