import { endings } from '@halting/core'
import type { RunGrade } from './graded-run.ts'
import type { RunOutcome } from './run-outcome.ts'

// Spec R-GRADE-4, R-GRADE-5, R-GRADE-6.
/**
 * How a run came out: what a person says of it, else what programs found of its goals, else a guess by its ending. Null where nobody can say: it did not end,
 * somebody stopped it, it waits for a person, a check did not follow its last change, or a later run continues it.
 */
export function gradeOf(outcome: RunOutcome, person?: 'good' | 'bad'): RunGrade | null {
  if (person !== undefined) return { isGood: person === 'good', by: 'person' }
  const { reason, goal, isJudged, isContinued } = outcome
  if (isContinued) return null
  if (typeof goal === 'boolean' && !isJudged) return { isGood: goal, by: 'goal' }
  if (reason === null) return null
  switch (endings[reason].announcement) {
    case 'success':
      return guessOfAnswer(outcome)
    case 'stopped':
    case 'interrupted':
    case 'paused':
      return null
    default:
      // What a limit or an error ended did not do what it was to do.
      return { isGood: false, by: 'guess' }
  }
}

function guessOfAnswer({ goal, verified, isRejected }: RunOutcome): RunGrade | null {
  if (goal === false || isRejected) return { isGood: false, by: 'guess' }
  if (goal === 'unknown' || verified === false) return null
  return { isGood: true, by: 'guess' }
}
