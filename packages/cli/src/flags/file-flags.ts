import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { filledText } from './values.ts'

type FileFlag =
  | 'noFileCheckpoints'
  | 'resumeSessionAt'
  | 'resumeDropsTurn'
  | 'dryRun'
  | 'redo'
  | 'skipChanged'
  | 'conversationOnly'
  | 'filesOnly'

/** Flags about the files that a session changed, and about going back: rows of the one table. */
export const fileFlags: { readonly [Name in FileFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  resumeSessionAt: {
    names: ['--resume-session-at'],
    group: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: filledText,
    meaning: 'With --resume or --continue: the conversation goes back to this message, the last that is left',
  },
  resumeDropsTurn: {
    names: ['--resume-drops-turn'],
    group: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: filledText,
    meaning: 'With --resume-session-at: refuse to take back more than the turn of this prompt',
  },
  noFileCheckpoints: {
    names: ['--no-file-checkpoints'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'Do not keep what files were before they are changed; halting undo then has nothing to bring back',
  },
  dryRun: {
    names: ['--dry-run'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of undo, rewind and setup: print what it would change, as a unified diff, and change nothing',
  },
  redo: { names: ['--redo'], group: 'program', kind: 'switch', meaning: 'Of undo: take back the last undo or rewind' },
  skipChanged: {
    names: ['--skip-changed'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of undo and rewind: leave files that somebody else has changed since, and put the others back',
  },
  conversationOnly: {
    names: ['--conversation-only'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of rewind: leave the files as they are',
  },
  filesOnly: {
    names: ['--files-only'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of rewind: leave the conversation as it is',
  },
}
