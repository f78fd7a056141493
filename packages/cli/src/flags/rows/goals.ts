import type { FlagFor } from '../flag-kinds.ts'
import { type Flags } from '../flags.ts'
import { command, duration, filledText, goalTries, passes, single } from '../values.ts'

type GoalsFlag =
  | 'until'
  | 'goal'
  | 'untilTries'
  | 'untilTimeout'
  | 'untilStable'
  | 'skipIfMet'
  | 'stopWhenMet'
  | 'protect'

/** Flags about what must hold before a run is done. */
export const goalsFlags: { readonly [Name in GoalsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  until: {
    names: ['--until'],
    group: 'goals',
    kind: 'list',
    value: 'CMD',
    read: command,
    meaning: 'Go on until this command exits with 0: "npm test"; may be given several times, all must pass',
  },
  goal: {
    names: ['--goal'],
    group: 'goals',
    kind: 'value',
    value: 'TEXT',
    read: filledText,
    meaning: 'Go on until this holds: a model judges it, and must quote what tools printed. A command is surer',
  },
  untilTries: {
    names: ['--until-tries'],
    group: 'goals',
    kind: 'value',
    value: 'N',
    read: goalTries,
    alsoOf: ['what-if'],
    meaning: 'How often an answer is sent back while a goal is not met, 1 to 1000; 10 unless said otherwise',
  },
  untilTimeout: {
    names: ['--until-timeout'],
    group: 'goals',
    kind: 'value',
    value: 'TIME',
    read: duration,
    meaning: 'Time for one check, such as 90s; 10m unless said otherwise. One that takes longer has failed',
  },
  untilStable: {
    names: ['--until-stable'],
    group: 'goals',
    kind: 'value',
    value: 'N',
    read: passes,
    meaning: 'Passes in a row that a check needs, 1 to 100; 1 unless said otherwise. For checks that are flaky',
  },
  skipIfMet: {
    names: ['--skip-if-met'],
    group: 'goals',
    kind: 'switch',
    meaning: 'End at once, without a request, if the goal holds before the run begins',
  },
  stopWhenMet: {
    names: ['--stop-when-met'],
    group: 'goals',
    kind: 'switch',
    meaning: 'Check after each turn that changed something, and end as soon as the goal holds',
  },
  protect: {
    names: ['--protect'],
    group: 'goals',
    kind: 'list',
    value: 'GLOB',
    read: single,
    meaning: 'Files that the agent may not change: "test/**"; may be given several times',
  },
}
