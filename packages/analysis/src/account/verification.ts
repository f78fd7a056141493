import type { RunResult, TranscriptEntry, Verified } from '@halting/core'
import type { RunProgress } from '@halting/core/adapters'
import { isAnswerValid, type StepRecord } from '@halting/core/steps'

// Spec R-VERI-20.
/** What an ended run changed in files, and whether that was checked. JSON. */
export interface VerificationFigures {
  /** Whether a check passed after the last change. */
  readonly verified: Verified
  /** Lines that were changed in all. */
  readonly changedLines: number
  /** Lines changed since a check last passed, including those checked by goals that are met. */
  readonly uncheckedLines: number
  /** The last check that ran; null for none. */
  readonly lastCheck: string | null
  /** Whether a check has passed in the run. */
  readonly hasPassed: boolean
  /** Whether the model was asked to verify its last change. */
  readonly wasAsked: boolean
  /** Whether the model called no tool after the request to verify, so that its earlier answer is the answer of the run. */
  readonly keptAnswer: boolean
}

/** Figures of the verification; undefined for a run that has not ended or did not track its changes. */
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
    keptAnswer: askedAt !== undefined && isAnswerValid(entriesOf(records)),
  }
}

/** The entries that the run itself added to its conversation. */
function entriesOf(records: readonly StepRecord[]): readonly TranscriptEntry[] {
  return records.flatMap((record) => {
    if (record.type === 'lap' && record.lap.scope === '') return record.lap.added
    return record.type === 'end' && record.scope === '' ? record.added : []
  })
}
