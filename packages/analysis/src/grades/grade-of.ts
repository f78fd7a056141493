import { endings } from '@halting/core'
import type { RunGrade } from './graded-run.ts'
import type { RunOutcome } from './run-outcome.ts'

// Spec R-GRADE-4, R-GRADE-5, R-GRADE-6.
/**
 * The grade of a run: that of a person, else that of its goal checks, else a guess from its ending. Null when it cannot be known: the run did not
 * end, was stopped, waits for a person, was not checked after its last change, or is continued by a later run.
 */
export function gradeOf(outcome: RunOutcome, person?: 'good' | 'bad'): RunGrade | null {
  if (person !== undefined) return { isGood: person === 'good', by: 'person' }
  const { reason, goal, isJudged, isContinued } = outcome
  if (isContinued) return null
  if (typeof goal === 'boolean' && !isJudged) return { isGood: goal, by: 'goal' }
  if (reason === null) return null
  switch (endings[reason].announcement) {
    case 'success':
      return gradeOfAnswer(outcome)
    case 'stopped':
    case 'interrupted':
    case 'paused':
      return null
    default:
      // A run that ended by a limit or an error did not finish its task.
      return { isGood: false, by: 'guess' }
  }
}

function gradeOfAnswer({ goal, verified, isRejected }: RunOutcome): RunGrade | null {
  if (goal === false || isRejected) return { isGood: false, by: 'guess' }
  if (goal === 'unknown' || verified === false) return null
  return { isGood: true, by: 'guess' }
}
