import { endings, type RunResult } from '@halting/core'

// Spec R-VERI-23.
/** A warning that no check covered the last change of a run. '' if it was checked, nothing changed, the run was interrupted, or a call is pending. */
export function uncheckedSentence({ verified, reason }: Pick<RunResult, 'verified' | 'reason'>): string {
  const { announcement } = endings[reason]
  const isCut = announcement === 'interrupted' || announcement === 'paused'
  return verified === false && !isCut ? 'No check has passed since the last change.' : ''
}
