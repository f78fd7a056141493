import type { FileWork } from './file-work.ts'

/** How far a run has checked its changes: part of `RunProgress`, small and JSON. */
export type VerificationProgress = {
  /** Lines changed since a check last passed; 0 if everything is checked. */
  readonly unchecked: number
  /** Lines changed in total. */
  readonly changed: number
  /** The last check; null if there was none. */
  readonly check: string | null
  /** Whether a check has passed. */
  readonly hasPassed: boolean
  /**
   * Number of tool results when the model was asked to verify. Null if the model was asked in a run that this one
   * continues; absent if it was not asked.
   */
  readonly askedAt?: number | null
}

const nothingDone: VerificationProgress = Object.freeze({ unchecked: 0, changed: 0, check: null, hasPassed: false })

/** The progress after a call. */
export function afterWork(before: VerificationProgress | undefined, work: FileWork): VerificationProgress {
  const { unchecked, changed, check, hasPassed, ...asked } = before ?? nothingDone
  const { changedLines = 0 } = work
  const hasJustPassed = work.check?.passed === true
  return {
    unchecked: hasJustPassed ? 0 : unchecked + changedLines,
    changed: changed + changedLines,
    check: work.check?.command ?? check,
    hasPassed: hasPassed || hasJustPassed,
    ...asked,
  }
}

// Spec R-VERI-1a.
/**
 * The progress after a subagent. A passed check of the subagent counts like one of the run. `changedAtStart`: lines that
 * the run had changed when the subagent started. Changes made in parallel may be later than its check, so they count as
 * unchecked.
 */
export function afterAgent(
  before: VerificationProgress | undefined,
  agent: VerificationProgress,
  changedAtStart: number,
): VerificationProgress {
  const { unchecked, changed, check, hasPassed, ...asked } = before ?? nothingDone
  const uncheckedConcurrent = agent.hasPassed ? Math.min(unchecked, Math.max(0, changed - changedAtStart)) : unchecked
  return {
    unchecked: uncheckedConcurrent + agent.unchecked,
    changed: changed + agent.changed,
    check: agent.check ?? check,
    hasPassed: hasPassed || agent.hasPassed,
    ...asked,
  }
}

// Spec R-VERI-7.
/** The progress for a run that continues another one. Tool results are counted from zero there. */
export function carriedVerification(before: VerificationProgress | undefined): VerificationProgress | undefined {
  return before?.askedAt === undefined ? before : { ...before, askedAt: null }
}

// Spec R-VERI-6.
/** Whether the last change of a run was checked, as far as its tools report. JSON. */
export type Verified = boolean | 'nothing changed'

export function verifiedOf(progress: VerificationProgress | undefined): Verified {
  if (progress === undefined || progress.changed === 0) return 'nothing changed'
  return progress.unchecked === 0
}
