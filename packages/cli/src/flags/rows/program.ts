import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, fileFormats, breakdowns } from '../flags.ts'
import { namedMoment } from '../time-values.ts'
import { choice, filledText, spentDollars, standingBudget } from '../values.ts'

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
  | 'budgetPerDay'
  | 'budgetPerMonth'
  | 'suggest'
  | 'claudeCode'
  | 'codex'
  | 'since'
  | 'untilDate'
  | 'by'
  | 'open'
  | 'help'
  | 'usd'
  | 'version'

/** Flags of commands that start no run, and those that every program has. */
export const programFlags: { readonly [Name in ProgramFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  json: {
    names: ['--json'],
    group: 'program',
    kind: 'switch',
    commands: [
      'budget',
      'check',
      'cluster budget',
      'config',
      'context',
      'doctor',
      'memory',
      'models',
      'permissions',
      'replay',
      'report',
      'rewind',
      'sessions',
      'setup',
      'trust',
      'undo',
      'what-if',
      'why',
    ],
    insteadForRuns: 'A run takes --output-format json.',
    meaning:
      'Of budget, check, cluster budget, config, context, doctor, memory, models, permissions, replay, report, rewind, sessions, setup, trust, undo, what-if and why: print JSON',
  },
  all: {
    names: ['--all'],
    group: 'program',
    kind: 'switch',
    commands: ['sessions', 'report', 'inspect', 'what-if'],
    meaning: 'Of sessions, report, inspect and what-if: the sessions of all folders',
  },
  yes: {
    names: ['--yes'],
    group: 'program',
    kind: 'switch',
    commands: ['cluster dev', 'sessions', 'setup', 'trust', 'undo', 'rewind'],
    meaning: 'Of cluster dev, sessions delete, setup, trust, undo and rewind: do it',
  },
  format: {
    names: ['--format'],
    group: 'program',
    kind: 'value',
    value: 'FORMAT',
    read: choice(fileFormats),
    commands: ['sessions', 'report'],
    meaning: 'Of sessions export: html, markdown or jsonl; of report: text or html',
  },
  output: {
    names: ['--output'],
    group: 'program',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    commands: ['sessions', 'report', 'inspect'],
    meaning:
      'Of sessions export and report: write to this file, not to stdout. Of inspect: write one session as a page into this file',
  },
  force: {
    names: ['--force'],
    group: 'program',
    kind: 'switch',
    commands: ['sessions', 'report', 'inspect'],
    meaning: 'Of sessions export, report and inspect: replace an existing file',
  },
  usd: {
    names: ['--usd'],
    group: 'program',
    kind: 'value',
    value: 'X',
    read: spentDollars,
    commands: ['budget'],
    meaning: 'Of budget settle: US dollars that were really spent, from 0',
  },
  message: {
    names: ['--message'],
    group: 'program',
    kind: 'value',
    value: 'TEXT',
    read: filledText,
    commands: ['deny'],
    meaning: 'Of deny: what the model is told',
  },
  keep: {
    names: ['--keep'],
    group: 'program',
    kind: 'switch',
    commands: ['demo'],
    meaning: 'Of demo: keep the folder it worked in',
  },
  noProgress: {
    names: ['--no-progress'],
    group: 'program',
    kind: 'switch',
    commands: ['what-if'],
    meaning:
      'Of what-if: try the guard that stops a run whose turns repeat without progress. Runs of this program always have it',
  },
  budgetPerDay: {
    names: ['--budget-per-day'],
    group: 'program',
    kind: 'list',
    value: 'X[:MODEL]',
    read: standingBudget,
    commands: ['what-if'],
    meaning:
      'Of what-if: try a standing budget of so many US dollars a day over all these sessions, or of a model: 5:claude-opus-*',
  },
  budgetPerMonth: {
    names: ['--budget-per-month'],
    group: 'program',
    kind: 'list',
    value: 'X[:MODEL]',
    read: standingBudget,
    commands: ['what-if'],
    meaning: 'Of what-if: the same for a calendar month. Days and months are those of the local time zone',
  },
  suggest: {
    names: ['--suggest'],
    group: 'program',
    kind: 'switch',
    commands: ['what-if'],
    meaning: 'Of what-if: find the limits that would have saved the most and lost nothing',
  },
  claudeCode: {
    names: ['--claude-code'],
    group: 'program',
    kind: 'switch',
    commands: ['what-if', 'report', 'inspect'],
    meaning:
      'Of what-if, report and inspect: all sessions of Claude Code. A report about a folder has only those of this folder',
  },
  codex: {
    names: ['--codex'],
    group: 'program',
    kind: 'switch',
    commands: ['what-if', 'report', 'inspect'],
    meaning:
      'Of what-if, report and inspect: all sessions of Codex. A report about a folder has only those of this folder',
  },
  since: {
    names: ['--since'],
    group: 'program',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    commands: ['report'],
    meaning: 'Of report: only runs that began at this time or later: 7d, 12h, 2026-11-01',
  },
  untilDate: {
    names: ['--until'],
    group: 'program',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    commands: ['report'],
    meaning: 'Of report: only runs that began before this time, or on this day',
  },
  by: {
    names: ['--by'],
    group: 'program',
    kind: 'value',
    value: 'WHAT',
    read: choice(breakdowns),
    commands: ['report'],
    meaning: 'Of report: only the breakdown by day, model or folder, with all rows',
  },
  open: {
    names: ['--open'],
    group: 'program',
    kind: 'switch',
    commands: ['inspect'],
    meaning: 'Of inspect: open the page in the browser',
  },
  help: { names: ['-h', '--help'], group: 'program', kind: 'switch', meaning: 'This text' },
  version: { names: ['-v', '--version'], group: 'program', kind: 'switch', meaning: 'The version' },
}
