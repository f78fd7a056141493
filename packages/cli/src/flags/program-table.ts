import { exportFormats, type Flags } from './flags.ts'
import type { FlagFor } from './flag-kinds.ts'
import { choice, filledText } from './values.ts'

type ProgramFlag =
  | 'json'
  | 'all'
  | 'yes'
  | 'format'
  | 'output'
  | 'force'
  | 'message'
  | 'keep'
  | 'noProgress'
  | 'suggest'
  | 'claudeCode'
  | 'codex'
  | 'help'
  | 'version'

/** Flags of commands, and those that every program has. */
export const programFlags: { readonly [Name in ProgramFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  json: {
    names: ['--json'],
    group: 'program',
    kind: 'switch',
    meaning:
      'Of check, cluster budget, config, context, doctor, memory, models, permissions, replay, rewind, sessions, setup, trust, undo, what-if and why: JSON',
  },
  all: { names: ['--all'], group: 'program', kind: 'switch', meaning: 'Of sessions: those of all folders' },
  yes: {
    names: ['--yes'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of cluster dev, sessions delete, setup, trust, undo and rewind: do it',
  },
  format: {
    names: ['--format'],
    group: 'program',
    kind: 'value',
    value: 'FORMAT',
    read: choice(exportFormats),
    meaning: 'Of sessions export: html, markdown or jsonl; html unless said otherwise',
  },
  output: {
    names: ['--output'],
    group: 'program',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'Of sessions export: where it goes; stdout unless said otherwise',
  },
  force: {
    names: ['--force'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of sessions export: write over a file that is there',
  },
  message: {
    names: ['--message'],
    group: 'program',
    kind: 'value',
    value: 'TEXT',
    read: filledText,
    meaning: 'Of deny: what the model is told',
  },
  keep: { names: ['--keep'], group: 'program', kind: 'switch', meaning: 'Of demo: keep the folder it worked in' },
  noProgress: {
    names: ['--no-progress'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of what-if: with the guard against going in circles, which a run of this program has in any case',
  },
  suggest: {
    names: ['--suggest'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of what-if: the limits that would have saved most and lost nothing',
  },
  claudeCode: { names: ['--claude-code'], group: 'program', kind: 'switch', meaning: 'Of what-if: all of Claude Code' },
  codex: { names: ['--codex'], group: 'program', kind: 'switch', meaning: 'Of what-if: all sessions of Codex' },
  help: { names: ['-h', '--help'], group: 'program', kind: 'switch', meaning: 'This text' },
  version: { names: ['-v', '--version'], group: 'program', kind: 'switch', meaning: 'The version' },
}
