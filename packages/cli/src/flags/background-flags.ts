import type { FlagFor } from './flag-kinds.ts'
import { backgrounds, type Flags } from './flags.ts'
import { choice } from './values.ts'

/** The flag about commands in the background: a row of the one table. */
export const backgroundFlags: { readonly background: FlagFor<NonNullable<Flags['background']>> } = {
  background: {
    names: ['--background'],
    group: 'tools',
    kind: 'value',
    value: 'WHAT',
    read: choice(backgrounds),
    meaning: 'Commands that still run when the run would end: wait for them, stop them, or keep them running',
  },
}
