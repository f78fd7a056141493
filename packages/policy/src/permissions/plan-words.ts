/** What the model is told of plan mode, and where it comes from. */
export interface PlanWords {
  /** How a plan is made, in place of ours. That nothing is changed, and how a plan is given, is told in any case. */
  readonly instructions?: string | undefined
  /** Whether it can give a plan to somebody who approves it. */
  readonly hasExit: boolean
}

const workflow =
  'Look at what the task is about, and ask what only the person can know. Then make a plan: what is to be changed, where, and how it is checked.'

/** That nothing is changed, how a plan is made, and how it is given (spec R-PLAN-5). */
export function planModeWords({ instructions = workflow, hasExit }: PlanWords): string {
  const exit = hasExit
    ? 'When the plan is complete, give it with ExitPlanMode: that asks the person to approve it. Ask for that in no other way.'
    : 'When the plan is complete, say it.'
  return [
    'Plan mode: look and ask, and change nothing. Until a plan is approved, what would change something is denied.',
    instructions,
    exit,
  ].join('\n\n')
}
