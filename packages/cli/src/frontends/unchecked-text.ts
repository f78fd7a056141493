import { endings, type RunResult } from '@halting/core'

// Spec R-VERI-23.
/** What a person should know of the last change of a run, in one sentence; '' where it was checked, where nothing changed, and after an interruption. */
export function uncheckedSentence({ verified, reason }: Pick<RunResult, 'verified' | 'reason'>): string {
  const isInterrupted = endings[reason].announcement === 'interrupted'
  return verified === false && !isInterrupted ? 'No check has passed since the last change.' : ''
}
