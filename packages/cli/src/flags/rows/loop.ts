import type { FlagFor } from '../flag-kinds.ts'
import type { Flags } from '../flags.ts'
import { duration, durationOrNone, loopRounds } from '../values.ts'

type LoopFlag = 'every' | 'rounds' | 'loopTime'

/** Flags about a prompt that is repeated. */
export const loopFlags: { readonly [Name in LoopFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
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
