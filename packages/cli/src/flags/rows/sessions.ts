import type { FlagFor } from '../flag-kinds.ts'
import { type Flags } from '../flags.ts'
import { filledText, uuid } from '../values.ts'

type SessionsFlag =
  | 'resume'
  | 'continue'
  | 'forkSession'
  | 'sessionId'
  | 'noSessionPersistence'
  | 'sessionStore'
  | 'to'
  | 'resumeSessionAt'
  | 'resumeDropsTurn'
  | 'noFileCheckpoints'
  | 'dryRun'
  | 'redo'
  | 'skipChanged'
  | 'conversationOnly'
  | 'filesOnly'

/** Flags about stored sessions, how they are resumed, and how their changes are undone. */
export const sessionsFlags: { readonly [Name in SessionsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  resume: {
    names: ['-r', '--resume'],
    topic: 'sessions',
    kind: 'value',
    value: '[ID]',
    read: filledText,
    without: '',
    meaning: 'Continue a session; without an ID, list the sessions to choose from',
  },
  continue: {
    names: ['-c', '--continue'],
    topic: 'sessions',
    kind: 'switch',
    meaning: 'Continue the newest session of this folder',
  },
  forkSession: {
    names: ['--fork-session'],
    topic: 'sessions',
    kind: 'switch',
    meaning: 'Continue in a copy with a new ID (needs --resume or --continue)',
  },
  sessionId: {
    names: ['--session-id'],
    topic: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: uuid,
    meaning: 'Set the ID of the new session',
  },
  noSessionPersistence: {
    names: ['--no-session-persistence'],
    topic: 'sessions',
    kind: 'switch',
    meaning: 'Do not store the session; it cannot be resumed then',
  },
  sessionStore: {
    names: ['--session-store'],
    topic: 'sessions',
    kind: 'value',
    value: 'STORE',
    read: filledText,
    alsoOf: ['approve', 'deny', 'grade', 'inspect', 'replay', 'report', 'rewind', 'sessions', 'undo', 'what-if', 'why'],
    meaning: 'Store sessions in sqlite:PATH, postgres://HOST/DATABASE or files (default: files)',
  },
  to: {
    names: ['--to'],
    topic: 'commands',
    kind: 'value',
    value: 'STORE',
    read: filledText,
    commands: ['sessions copy'],
    meaning: 'Copy to sqlite:PATH, postgres://HOST/DATABASE or files',
  },
  resumeSessionAt: {
    names: ['--resume-session-at'],
    topic: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: filledText,
    meaning: 'Rewind the conversation to this message, which stays as its last (needs --resume or --continue)',
  },
  resumeDropsTurn: {
    names: ['--resume-drops-turn'],
    topic: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: filledText,
    meaning: 'Refuse to drop more than the turn of this prompt (needs --resume-session-at)',
  },
  noFileCheckpoints: {
    names: ['--no-file-checkpoints'],
    topic: 'sessions',
    kind: 'switch',
    meaning: 'Do not save file contents before changes; halting undo cannot restore them then',
  },
  dryRun: {
    names: ['--dry-run'],
    topic: 'commands',
    kind: 'switch',
    commands: ['setup', 'undo', 'rewind'],
    meaning: 'Print the changes as a unified diff, and change nothing',
  },
  redo: {
    names: ['--redo'],
    topic: 'commands',
    kind: 'switch',
    commands: ['undo'],
    meaning: 'Revert the last undo or rewind',
  },
  skipChanged: {
    names: ['--skip-changed'],
    topic: 'commands',
    kind: 'switch',
    commands: ['undo', 'rewind'],
    meaning: 'Skip files that were changed by something else since, and restore the others',
  },
  conversationOnly: {
    names: ['--conversation-only'],
    topic: 'commands',
    kind: 'switch',
    commands: ['rewind'],
    meaning: 'Rewind the conversation, and leave the files unchanged',
  },
  filesOnly: {
    names: ['--files-only'],
    topic: 'commands',
    kind: 'switch',
    commands: ['rewind'],
    meaning: 'Restore the files, and leave the conversation unchanged',
  },
}
