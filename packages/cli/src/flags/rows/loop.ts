import type { FlagFor } from '../flag-kinds.ts'
import type { Flags } from '../flags.ts'
import { duration, durationOrNone, loopRounds } from '../values.ts'

type LoopFlag = 'every' | 'rounds' | 'loopTime'

/** Flags about a prompt that is repeated. */
export const loopFlags: { readonly [Name in LoopFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  every: {
    names: ['--every'],
    group: 'program',
    kind: 'value',
    value: 'TIME',
    read: durationOrNone,
    commands: ['loop'],
    meaning: 'Of loop: time from the start of a round to that of the next, such as 10m; 0 for a round after a round',
  },
  rounds: {
    names: ['--rounds'],
    group: 'program',
    kind: 'value',
    value: 'N',
    read: loopRounds,
    commands: ['loop'],
    meaning: 'Of loop: maximum number of rounds, 1 to 1000000',
  },
  loopTime: {
    names: ['--for'],
    group: 'program',
    kind: 'value',
    value: 'TIME',
    read: duration,
    commands: ['loop'],
    meaning: 'Of loop: time for the whole loop, such as 8h; a round that is running is not cut',
  },
}
