import type { FileWork } from './file-work.ts'

/** How far a run has checked what it changed: part of `RunProgress`, small and JSON. */
export type VerificationProgress = {
  /** Lines that were changed since a check last passed; 0 while nothing is unchecked. */
  readonly unchecked: number
  /** Lines that were changed in all. */
  readonly changed: number
  /** The check that ran last; null for none. */
  readonly check: string | null
  /** A check has passed. */
  readonly hasPassed: boolean
  /** Results of tools when the model was asked to verify; null where it was in a run that this one carries on from, absent until it was. */
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
 * The progress after a subagent: where a check of its own passed, that is as good as one of the run. `changedAtStart`: lines that the run had changed when
 * the agent began. What was changed beside it may have come after its check, and counts as unchecked.
 */
export function afterAgent(
  before: VerificationProgress | undefined,
  agent: VerificationProgress,
  changedAtStart: number,
): VerificationProgress {
  const { unchecked, changed, check, hasPassed, ...asked } = before ?? nothingDone
  const uncheckedBeside = agent.hasPassed ? Math.min(unchecked, Math.max(0, changed - changedAtStart)) : unchecked
  return {
    unchecked: uncheckedBeside + agent.unchecked,
    changed: changed + agent.changed,
    check: agent.check ?? check,
    hasPassed: hasPassed || agent.hasPassed,
    ...asked,
  }
}

// Spec R-VERI-7.
/** The progress as the run has it that carries on from another one: results of tools are counted anew there. */
export function carriedVerification(before: VerificationProgress | undefined): VerificationProgress | undefined {
  return before?.askedAt === undefined ? before : { ...before, askedAt: null }
}

// Spec R-VERI-6.
/** Whether the last change of a run was checked, as far as its tools can tell. JSON. */
export type Verified = boolean | 'nothing changed'

export function verifiedOf(progress: VerificationProgress | undefined): Verified {
  if (progress === undefined || progress.changed === 0) return 'nothing changed'
  return progress.unchecked === 0
}
