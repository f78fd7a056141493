import { breakdowns, fileFormats, type Flags } from './flags.ts'
import type { FlagFor } from './flag-kinds.ts'
import { namedMoment } from './moments.ts'
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
  | 'since'
  | 'until'
  | 'by'
  | 'open'
  | 'help'
  | 'version'

/** Flags of commands, and those that every program has. */
export const programFlags: { readonly [Name in ProgramFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  json: {
    names: ['--json'],
    group: 'program',
    kind: 'switch',
    meaning:
      'Of check, cluster budget, config, context, doctor, memory, models, permissions, replay, report, rewind, sessions, setup, trust, undo, what-if and why: JSON',
  },
  all: {
    names: ['--all'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of sessions, report and inspect: those of all folders',
  },
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
    read: choice(fileFormats),
    meaning: 'Of sessions export: html, markdown or jsonl; of report: text or html',
  },
  output: {
    names: ['--output'],
    group: 'program',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning:
      'Of sessions export and report: where it goes; stdout unless said otherwise. Of inspect: one session as a page in a file',
  },
  force: {
    names: ['--force'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of sessions export, report and inspect: write over a file that is there',
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
  claudeCode: {
    names: ['--claude-code'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of what-if, report and inspect: all sessions of Claude Code; of a report on a folder those of it',
  },
  codex: {
    names: ['--codex'],
    group: 'program',
    kind: 'switch',
    meaning: 'Of what-if, report and inspect: all sessions of Codex; of a report on a folder those of it',
  },
  since: {
    names: ['--since'],
    group: 'program',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    meaning: 'Of report: runs that began since then: 7d, 12h, 2026-11-01',
  },
  until: {
    names: ['--until'],
    group: 'program',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    meaning: 'Of report: runs that began before then, or on that day',
  },
  by: {
    names: ['--by'],
    group: 'program',
    kind: 'value',
    value: 'WHAT',
    read: choice(breakdowns),
    meaning: 'Of report: what was spent by day, model or folder, all rows of it and of no other',
  },
  open: { names: ['--open'], group: 'program', kind: 'switch', meaning: 'Of inspect: open its page in the browser' },
  help: { names: ['-h', '--help'], group: 'program', kind: 'switch', meaning: 'This text' },
  version: { names: ['-v', '--version'], group: 'program', kind: 'switch', meaning: 'The version' },
}
