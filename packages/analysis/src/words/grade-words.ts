import type { RunGrade } from '../grades/graded-run.ts'

const sources: { readonly [by in RunGrade['by']]: string } = {
  person: 'graded by you',
  goal: 'by its goals',
  guess: 'a guess',
}

/** How a run came out, and who says so: `good, by its goals`. */
export function gradeText(grade: RunGrade | null): string {
  return grade === null ? 'not known' : `${grade.isGood ? 'good' : 'bad'}, ${sources[grade.by]}`
}
