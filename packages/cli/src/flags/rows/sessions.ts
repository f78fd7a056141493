import type { FlagFor } from '../flag-kinds.ts'
import { type Flags } from '../flags.ts'
import { filledText, uuid } from '../values.ts'

type SessionsFlag =
  | 'resume'
  | 'continue'
  | 'forkSession'
  | 'sessionId'
  | 'noSessionPersistence'
  | 'resumeSessionAt'
  | 'resumeDropsTurn'
  | 'noFileCheckpoints'
  | 'dryRun'
  | 'redo'
  | 'skipChanged'
  | 'conversationOnly'
  | 'filesOnly'

/** Flags about stored sessions, how they continue, and how their changes are undone. */
export const sessionsFlags: { readonly [Name in SessionsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  resume: {
    names: ['-r', '--resume'],
    group: 'sessions',
    kind: 'value',
    value: '[ID]',
    read: filledText,
    without: '',
    meaning: 'Go on with a session; without an id: which there are',
  },
  continue: {
    names: ['-c', '--continue'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'Go on with the newest session of this folder',
  },
  forkSession: {
    names: ['--fork-session'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'With --resume or --continue: in a copy with an id of its own',
  },
  sessionId: {
    names: ['--session-id'],
    group: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: uuid,
    meaning: 'The id of the new session',
  },
  noSessionPersistence: {
    names: ['--no-session-persistence'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'Keep no record of the session, which then cannot be resumed',
  },
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
    commands: ['setup', 'undo', 'rewind'],
    meaning: 'Of undo, rewind and setup: print what it would change, as a unified diff, and change nothing',
  },
  redo: {
    names: ['--redo'],
    group: 'program',
    kind: 'switch',
    commands: ['undo'],
    meaning: 'Of undo: take back the last undo or rewind',
  },
  skipChanged: {
    names: ['--skip-changed'],
    group: 'program',
    kind: 'switch',
    commands: ['undo', 'rewind'],
    meaning: 'Of undo and rewind: leave files that somebody else has changed since, and put the others back',
  },
  conversationOnly: {
    names: ['--conversation-only'],
    group: 'program',
    kind: 'switch',
    commands: ['rewind'],
    meaning: 'Of rewind: leave the files as they are',
  },
  filesOnly: {
    names: ['--files-only'],
    group: 'program',
    kind: 'switch',
    commands: ['rewind'],
    meaning: 'Of rewind: leave the conversation as it is',
  },
}
