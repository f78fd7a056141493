import type { RunResult, TranscriptEntry, Verified } from '@halting/core'
import type { RunProgress } from '@halting/core/adapters'
import { answerStands, type StepRecord } from '@halting/core/steps'

// Spec R-VERI-20.
/** What a run that has ended changed in files, and whether that was checked. JSON. */
export interface VerificationFigures {
  /** Whether a check passed after the last change. */
  readonly verified: Verified
  /** Lines that were changed in all. */
  readonly changedLines: number
  /** Lines that were changed since a check last passed; also where goals that hold checked them. */
  readonly uncheckedLines: number
  /** The check that ran last; null for none. */
  readonly lastCheck: string | null
  /** A check has passed in the run. */
  readonly hasPassed: boolean
  /** The model was asked to verify its last change. */
  readonly wasAsked: boolean
  /** It called no tool after that: the answer before is the answer of the run. */
  readonly keptAnswer: boolean
}

/** Undefined for a run that did not end, and for one in which nobody looked at that. */
export function verificationFigures(
  { verification }: Pick<RunProgress, 'verification'>,
  records: readonly StepRecord[],
  terminal: Pick<RunResult, 'verified'> | undefined,
): VerificationFigures | undefined {
  if (terminal?.verified === undefined) return undefined
  const { unchecked = 0, changed = 0, check = null, hasPassed = false, askedAt } = verification ?? {}
  return {
    verified: terminal.verified,
    changedLines: changed,
    uncheckedLines: unchecked,
    lastCheck: check,
    hasPassed,
    wasAsked: askedAt !== undefined,
    keptAnswer: askedAt !== undefined && answerStands(entriesOf(records)),
  }
}

/** What the run itself added to its conversation. */
function entriesOf(records: readonly StepRecord[]): readonly TranscriptEntry[] {
  return records.flatMap((record) => {
    if (record.type === 'lap' && record.lap.scope === '') return record.lap.added
    return record.type === 'end' && record.scope === '' ? record.added : []
  })
}
