// What the model reads about plan mode.

/** What the model reads about plan mode. */
export interface PlanWords {
  /** How to make a plan, in place of the built-in text. The text always says that nothing may be changed, and how to present a plan. */
  readonly instructions?: string | undefined
  /** Whether the model can present the plan with ExitPlanMode. */
  readonly hasExit: boolean
}

const workflow =
  'Explore what the task is about, and ask what only the user can know. Then make a plan: what to change, where, and how to verify it.'

// Spec R-PLAN-5.
/** The instructions for plan mode: change nothing, how to make a plan, and how to present it. */
export function planModeWords({ instructions = workflow, hasExit }: PlanWords): string {
  const exit = hasExit
    ? 'When the plan is complete, call ExitPlanMode with it: this asks the user to approve it. Do not ask for approval in any other way.'
    : 'When the plan is complete, write it as your answer.'
  return [
    'Plan mode: explore and ask, but change nothing. Calls that would change something are denied until a plan is approved.',
    instructions,
    exit,
  ].join('\n\n')
}

export const planModeOn = 'Plan mode is on (reported by halting, not by the user).'
export const planModeOff =
  'Plan mode is off (reported by halting, not by the user). Changes are allowed again, within the permission rules of the session.'
/** The wording of earlier versions, whose sessions are still read. */
export const earlierPlanModeOn = 'Plan mode is on (told by halting, not by the user).'
export const earlierPlanModeOff = 'Plan mode is over (told by halting, not by the user).'
