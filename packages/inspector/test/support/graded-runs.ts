import type { GradedRun } from '@halting/analysis'

/** A run that used one turn of a cent, with this grade. */
export function gradedAs(grade: GradedRun['grade'], more: Partial<GradedRun> = {}): GradedRun {
  const use = { usd: 0.01, tokens: 100, activeMs: 1_000, turns: 1 }
  return { sessionId: 'a', model: 'model-1', repository: '/project', use, grade, ...more }
}
