import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, fileFormats, breakdowns } from '../flags.ts'
import { namedMoment } from '../time-values.ts'
import { choice, filledText, lossShare, spentDollars, standingBudget, wholeNumber } from '../values.ts'

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
  | 'run'
  | 'mayLose'
  | 'save'
  | 'claudeCode'
  | 'codex'
  | 'since'
  | 'untilDate'
  | 'by'
  | 'open'
  | 'help'
  | 'usd'
  | 'version'

/** Flags of single commands, and those that every program has. */
export const programFlags: { readonly [Name in ProgramFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  json: {
    names: ['--json'],
    topic: 'commands',
    kind: 'switch',
    commands: [
      'budget',
      'check',
      'cluster budget',
      'config',
      'context',
      'doctor',
      'grade',
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
    insteadForRuns: 'For a run, use --output-format json.',
    meaning: 'Print JSON',
  },
  all: {
    names: ['--all'],
    topic: 'commands',
    kind: 'switch',
    commands: ['sessions', 'report', 'inspect', 'what-if'],
    meaning: 'Include the sessions of all folders',
  },
  yes: {
    names: ['--yes'],
    topic: 'commands',
    kind: 'switch',
    commands: ['cluster dev', 'sessions', 'setup', 'trust', 'undo', 'rewind'],
    meaning: 'Proceed without asking',
  },
  format: {
    names: ['--format'],
    topic: 'commands',
    kind: 'value',
    value: 'FORMAT',
    read: choice(fileFormats),
    commands: ['sessions', 'report'],
    meaning: 'Set the file format: html, markdown or jsonl (default: html)',
    meaningFor: {
      report: 'Set the format: text or html (default: text)',
    },
  },
  output: {
    names: ['--output'],
    topic: 'commands',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    commands: ['sessions', 'report', 'inspect'],
    meaning: 'Write to this file instead of stdout',
    meaningFor: { inspect: 'Write one session as a page to this file' },
  },
  force: {
    names: ['--force'],
    topic: 'commands',
    kind: 'switch',
    commands: ['sessions', 'report', 'inspect'],
    meaning: 'Overwrite an existing file',
    meaningFor: { sessions: 'Overwrite an existing file; with delete --cluster: end the work at the session first' },
  },
  usd: {
    names: ['--usd'],
    topic: 'commands',
    kind: 'value',
    value: 'X',
    read: spentDollars,
    commands: ['budget'],
    meaning: 'Amount that was really spent, in US dollars, from 0',
  },
  message: {
    names: ['--message'],
    topic: 'commands',
    kind: 'value',
    value: 'TEXT',
    read: filledText,
    commands: ['deny'],
    meaning: 'Text that the model receives as the reason',
  },
  keep: {
    names: ['--keep'],
    topic: 'commands',
    kind: 'switch',
    commands: ['demo'],
    meaning: 'Keep the folder that the demonstration worked in',
  },
  noProgress: {
    names: ['--no-progress'],
    topic: 'commands',
    kind: 'switch',
    commands: ['what-if'],
    meaning: 'Apply the guard that stops a run whose turns repeat without progress; runs of halting always have it',
  },
  budgetPerDay: {
    names: ['--budget-per-day'],
    topic: 'commands',
    kind: 'list',
    value: 'X[:MODEL]',
    read: standingBudget,
    commands: ['what-if'],
    meaning:
      'Apply a standing budget of X US dollars a day over all these sessions, or those of one model: 5:claude-opus-*',
  },
  budgetPerMonth: {
    names: ['--budget-per-month'],
    topic: 'commands',
    kind: 'list',
    value: 'X[:MODEL]',
    read: standingBudget,
    commands: ['what-if'],
    meaning: 'Apply a standing budget of X US dollars a calendar month (days and months of the local time zone)',
  },
  suggest: {
    names: ['--suggest'],
    topic: 'commands',
    kind: 'switch',
    commands: ['what-if'],
    meaning: 'Find the limits that would have saved the most without losing a result',
  },
  run: {
    names: ['--run'],
    topic: 'commands',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['grade'],
    meaning: 'Grade this run of the session, counted from 1 (default: the newest)',
  },
  mayLose: {
    names: ['--may-lose'],
    topic: 'commands',
    kind: 'value',
    value: 'SHARE',
    read: lossShare,
    commands: ['what-if'],
    meaning: 'With --suggest: find limits that each lose at most this share of solved runs, such as 2%',
  },
  save: {
    names: ['--save'],
    topic: 'commands',
    kind: 'switch',
    commands: ['what-if'],
    meaning: 'With --may-lose: write these limits into your settings for this project (default: only show them)',
  },
  claudeCode: {
    names: ['--claude-code'],
    topic: 'commands',
    kind: 'switch',
    commands: ['what-if', 'report', 'inspect', 'grade'],
    meaning: 'Include all sessions of Claude Code',
    meaningFor: {
      grade: 'Search only sessions of Claude Code',
      report: 'Include all sessions of Claude Code; with a FOLDER, only those of this folder',
    },
  },
  codex: {
    names: ['--codex'],
    topic: 'commands',
    kind: 'switch',
    commands: ['what-if', 'report', 'inspect', 'grade'],
    meaning: 'Include all sessions of Codex',
    meaningFor: {
      grade: 'Search only sessions of Codex',
      report: 'Include all sessions of Codex; with a FOLDER, only those of this folder',
    },
  },
  since: {
    names: ['--since'],
    topic: 'commands',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    commands: ['report'],
    meaning: 'Include only runs that started at this time or later: 7d, 12h, 2026-11-01',
  },
  untilDate: {
    names: ['--until'],
    topic: 'commands',
    kind: 'value',
    value: 'WHEN',
    read: namedMoment,
    commands: ['report'],
    meaning: 'Include only runs that started before this time, or on this day',
  },
  by: {
    names: ['--by'],
    topic: 'commands',
    kind: 'value',
    value: 'WHAT',
    read: choice(breakdowns),
    commands: ['report'],
    meaning: 'Print only the breakdown by day, model or folder, with all rows',
  },
  open: {
    names: ['--open'],
    topic: 'commands',
    kind: 'switch',
    commands: ['inspect'],
    meaning: 'Open the page in the browser',
  },
  help: { names: ['-h', '--help'], topic: 'program', kind: 'switch', meaning: 'Print help' },
  version: { names: ['-v', '--version'], topic: 'program', kind: 'switch', meaning: 'Print the version' },
}
