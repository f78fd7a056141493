import type { FlagFor } from '../flag-kinds.ts'
import { type Flags } from '../flags.ts'
import { command, duration, durationOrNone, filledText, goalTries, loopRounds, passes, single } from '../values.ts'

type GoalsFlag =
  | 'until'
  | 'goal'
  | 'untilTries'
  | 'untilTimeout'
  | 'untilStable'
  | 'skipIfMet'
  | 'stopWhenMet'
  | 'protect'
  | 'every'
  | 'rounds'
  | 'loopTime'

/** Flags about goals, and about loops that repeat a prompt. */
export const goalsFlags: { readonly [Name in GoalsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  until: {
    names: ['--until'],
    topic: 'goals',
    kind: 'list',
    value: 'CMD',
    read: command,
    meaning: 'Continue until this command exits with 0: "npm test". Repeat the flag for more commands; all must pass',
  },
  goal: {
    names: ['--goal'],
    topic: 'goals',
    kind: 'value',
    value: 'TEXT',
    read: filledText,
    meaning:
      'Continue until this condition holds, as judged by a model that must quote tool output. A command (--until) is more reliable',
  },
  untilTries: {
    names: ['--until-tries'],
    topic: 'goals',
    kind: 'value',
    value: 'N',
    read: goalTries,
    alsoOf: ['what-if'],
    meaning: 'Maximum number of times an answer is sent back while a goal is not met, 1 to 1000 (default: 10)',
    meaningFor: { 'what-if': 'Try this maximum number of times an answer is sent back, 1 to 1000' },
  },
  untilTimeout: {
    names: ['--until-timeout'],
    topic: 'goals',
    kind: 'value',
    value: 'TIME',
    read: duration,
    meaning: 'Time limit for one check, such as 90s; a check that exceeds it has failed (default: 10m)',
  },
  untilStable: {
    names: ['--until-stable'],
    topic: 'goals',
    kind: 'value',
    value: 'N',
    read: passes,
    meaning: 'Number of consecutive passes a check needs, 1 to 100; for flaky checks (default: 1)',
  },
  skipIfMet: {
    names: ['--skip-if-met'],
    topic: 'goals',
    kind: 'switch',
    meaning: 'End at once, without a request, if the goal is met before the run starts',
  },
  stopWhenMet: {
    names: ['--stop-when-met'],
    topic: 'goals',
    kind: 'switch',
    meaning: 'Check after each turn that changed something, and end as soon as the goal is met',
  },
  protect: {
    names: ['--protect'],
    topic: 'goals',
    kind: 'list',
    value: 'GLOB',
    read: single,
    meaning: 'Prevent the agent from changing these files: "test/**". Repeat the flag for more patterns',
  },
  every: {
    names: ['--every'],
    topic: 'commands',
    kind: 'value',
    value: 'TIME',
    read: durationOrNone,
    commands: ['loop'],
    meaning: 'Time from the start of a round to the start of the next, such as 10m; 0 starts the next round at once',
  },
  rounds: {
    names: ['--rounds'],
    topic: 'commands',
    kind: 'value',
    value: 'N',
    read: loopRounds,
    commands: ['loop'],
    meaning: 'Maximum number of rounds, 1 to 1000000',
  },
  loopTime: {
    names: ['--for'],
    topic: 'commands',
    kind: 'value',
    value: 'TIME',
    read: duration,
    commands: ['loop'],
    meaning: 'Maximum duration of the loop, such as 8h; does not interrupt a running round',
  },
}
