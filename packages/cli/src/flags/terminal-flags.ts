import type { FlagFor } from './flag-kinds.ts'
import { type Flags, themes } from './flags.ts'
import { choice } from './values.ts'

/** The flags of the interactive program: rows of the one table. */
export const terminalFlags: {
  readonly theme: FlagFor<NonNullable<Flags['theme']>>
  readonly noAnimation: FlagFor<NonNullable<Flags['noAnimation']>>
} = {
  theme: {
    names: ['--theme'],
    group: 'output',
    kind: 'value',
    value: 'THEME',
    read: choice(themes),
    meaning: 'Colours of the interactive program: dark, light or none; as the terminal says when absent',
  },
  noAnimation: {
    names: ['--no-animation'],
    group: 'output',
    kind: 'switch',
    meaning: 'Interactive: nothing moves by itself, as seconds do; for screen readers',
  },
}
