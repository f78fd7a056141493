import type { Scenario } from './world.ts'

/** Aborts where they are easily lost: on record in a hook's outcome alone. */
export const abortScenarios: readonly Scenario[] = [
  {
    name: 'last answers that an abort forestalls',
    replies: ['text', 'read'],
    depth: 1,
    deviations: 2,
    aborts: ['user'],
    hooks: ['beforeStep', 'onStop'],
    options: { wrapUp: true },
  },
]
