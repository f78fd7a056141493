import { endings, type RunResult } from '@halting/core'

// Spec R-VERI-23.
/** What a person should know of the last change of a run, in one sentence; '' where it was checked or nothing changed, after an interruption, and while a call waits. */
export function uncheckedSentence({ verified, reason }: Pick<RunResult, 'verified' | 'reason'>): string {
  const { announcement } = endings[reason]
  const isCut = announcement === 'interrupted' || announcement === 'paused'
  return verified === false && !isCut ? 'No check has passed since the last change.' : ''
}
