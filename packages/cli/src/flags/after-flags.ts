import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { filledText } from './values.ts'

type AfterFlag = 'promptSuggestions' | 'hookSummary' | 'smallModel'

/** Flags about what comes after a run: rows of the one table. */
export const afterFlags: { readonly [Name in AfterFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  promptSuggestions: {
    names: ['--prompt-suggestions'],
    group: 'output',
    kind: 'switch',
    meaning: 'After a run that completed: ask the small model what may be said next. It costs a request',
  },
  hookSummary: {
    names: ['--hook-summary'],
    group: 'output',
    kind: 'switch',
    meaning: 'After a run: how often its hooks ran, how long they took, and what they decided',
  },
  smallModel: {
    names: ['--small-model'],
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning:
      'The model for what comes after a run and for questions about web pages; that of the session unless said otherwise',
  },
}
