import { knownModels, modelAliases } from '@halting/models'
import { commandHelp, partHelp } from '../flags/command-help.ts'
import { type Command, commandTable } from '../flags/command-table.ts'
import { commandNames } from '../flags/commands.ts'
import { flagsForRuns, commandFlags } from '../flags/flag-commands.ts'
import type { AnyFlag } from '../flags/flag-kinds.ts'
import { flagTopics } from '../flags/help.ts'
import { flagTable } from '../flags/table.ts'
import { choicesOf } from '../flags/values.ts'

/** The candidates for one word of a command line. */
export type Candidates =
  /** For `text`, nothing is suggested. */
  | { readonly kind: 'text' | 'files' | 'folders' | 'sessions' | 'sessions or files' }
  | { readonly kind: 'words'; readonly words: readonly string[] }

/** A flag in the form that completion scripts need. */
export interface CompletedFlag {
  readonly names: readonly string[]
  readonly meaning: string
  /** Absent for a switch. */
  readonly value?: Candidates
  /** Whether the value is optional. */
  readonly isOptional: boolean
}

/** The flags and words after one prefix: the program alone (''), a command, or a subcommand (`sessions show`). */
export interface CompletedCommand {
  readonly name: string
  readonly meaning: string
  readonly flags: readonly CompletedFlag[]
  /** Candidates for the words after it. */
  readonly words: Candidates
}

/** Everything that is completed. All names and words are safe in a shell script without quotes. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[]
}

const anyText: Candidates = { kind: 'text' }
const wordsOf = (words: readonly string[]): Candidates => ({ kind: 'words', words })

/** Candidates for the arguments of commands and subcommands; others accept any text. */
const operands: Readonly<Record<string, Candidates>> = {
  acp: wordsOf(['setup']),
  approve: { kind: 'sessions' },
  completion: wordsOf(['bash', 'zsh', 'fish']),
  deny: { kind: 'sessions' },
  grade: { kind: 'sessions or files' },
  help: wordsOf([...commandNames, 'flags']),
  'help flags': wordsOf(flagTopics),
  inspect: { kind: 'sessions or files' },
  'memory dream': wordsOf(['undo']),
  replay: { kind: 'sessions or files' },
  report: { kind: 'folders' },
  rewind: { kind: 'sessions' },
  'sessions copy': { kind: 'sessions' },
  'sessions delete': { kind: 'sessions' },
  'sessions export': { kind: 'sessions or files' },
  'sessions show': { kind: 'sessions or files' },
  trust: { kind: 'folders' },
  undo: { kind: 'sessions' },
  'what-if': { kind: 'sessions or files' },
  why: { kind: 'sessions or files' },
}

/** Builds the model from the tables of commands and flags. */
export function completionModel(): CompletionModel {
  const parts = [...Object.keys(partHelp), 'help flags']
  return {
    commands: [
      { name: '', meaning: '', flags: flagsForRuns().map(completedFlag), words: wordsOf(commandNames) },
      ...commandNames.map((name) => ({
        name,
        meaning: commandHelp[name].summary,
        flags: flagsOfCommand(name),
        words: wordsOfCommand(name, parts),
      })),
      ...parts.map((name) => ({
        name,
        meaning: partHelp[name]?.about.split(/[.,;(]/)[0]?.trim() ?? 'Flags of runs, by topic',
        flags: flagsOfPart(name),
        words: operands[name] ?? anyText,
      })),
    ],
  }
}

function wordsOfCommand(name: Command, parts: readonly string[]): Candidates {
  const own = parts.filter((part) => part.startsWith(`${name} `)).map((part) => part.slice(name.length + 1))
  return operands[name] ?? (own.length === 0 ? anyText : wordsOf(own))
}

function flagsOfCommand(name: Command): readonly CompletedFlag[] {
  const ofRuns = commandTable[name].takes === 'flags of runs' ? flagsForRuns() : []
  const named = (commandHelp[name].flags ?? []).map((flag) => flagTable[flag])
  const rows = name === 'mcp' ? [flagTable.help] : [...new Set([...commandFlags(name), ...named, ...ofRuns])]
  return [
    ...(commandHelp[name].ownFlags ?? []).map(commandOwnFlag),
    ...rows.map((row) => completedFlag(withMeaningFor(name, row))),
  ]
}

function flagsOfPart(name: string): readonly CompletedFlag[] {
  const help = partHelp[name]
  if (help === undefined) return [completedFlag(flagTable.help)]
  const rows = [...help.flags, 'help' as const].map((flag) => flagTable[flag])
  // The only subcommand that accepts the flags of runs.
  const ofRuns = name === 'cluster dev' ? flagsForRuns() : []
  return [
    ...(help.ownFlags ?? []).map(commandOwnFlag),
    ...[...new Set<AnyFlag>([...rows, ...ofRuns])].map(completedFlag),
  ]
}

function withMeaningFor(command: Command, row: AnyFlag): AnyFlag {
  const meaning = row.meaningFor?.[command]
  return meaning === undefined ? row : { ...row, meaning }
}

function completedFlag(row: AnyFlag): CompletedFlag {
  const { names, meaning } = row
  if (row.kind === 'switch') return { names, meaning: firstClause(meaning), isOptional: false }
  return {
    names,
    meaning: firstClause(meaning),
    value: valueCandidates(row.names, row.value, choicesOf(row.read)),
    isOptional: row.kind === 'value' && row.without !== undefined,
  }
}

/** A flag that its command parses itself: `-s, --scope SCOPE`. */
function commandOwnFlag({ name, meaning }: { readonly name: string; readonly meaning: string }): CompletedFlag {
  const names = name.split(', ').map((each) => each.split(' ')[0] ?? '')
  const takesValue = / \S/.test(name.split(', ').at(-1) ?? '')
  const listed = /^([a-z]+), ([a-z]+) or ([a-z]+) \(default/.exec(meaning)?.slice(1)
  const scopes = names.includes('--scope') ? ['local', 'project', 'user'] : listed
  return {
    names,
    meaning: firstClause(meaning),
    ...(takesValue && { value: scopes === undefined ? anyText : wordsOf(scopes) }),
    isOptional: false,
  }
}

const namesOfModels: ReadonlySet<string> = new Set(['--model', '--fallback-model', '--small-model', '--compact-model'])
const namesOfSessions: ReadonlySet<string> = new Set(['--resume'])

function valueCandidates(names: readonly string[], value: string, choices: readonly string[] | undefined): Candidates {
  if (choices !== undefined) return wordsOf(choices)
  if (names.some((name) => namesOfModels.has(name))) return wordsOf(models())
  if (names.some((name) => namesOfSessions.has(name))) return { kind: 'sessions' }
  if (/DIRECTORY|FOLDER/.test(value)) return { kind: 'folders' }
  return /FILE|JSON|SCHEMA|PLACE/.test(value) ? { kind: 'files' } : anyText
}

function models(): readonly string[] {
  return [...Object.keys(modelAliases()), ...knownModels().map(({ name }) => name)].filter(isPlain)
}

/** Whether no shell expands anything in the word, and bash does not split it. */
export function isPlain(word: string): boolean {
  return /^[\w./-]+$/.test(word)
}

/** The first clause of a flag's meaning, as a short description. */
function firstClause(meaning: string): string {
  const [clause = ''] = meaning.split(/[;:(]|\. /)
  return clause.trim().replace(/[.,]$/, '')
}

/** Flags that take a value, for scripts that look up `COMMAND FLAG`. If the value depends on the command, each combination is listed. */
export function flagValues({ commands }: CompletionModel): readonly {
  /** `--flag`, or `command --flag` if the value depends on the command. */
  readonly of: string
  readonly value: Candidates
  readonly isOptional: boolean
}[] {
  const bySpelling = new Map<string, { of: string; value: Candidates | undefined; isOptional: boolean }[]>()
  for (const { name: command, flags } of commands)
    for (const { names, value, isOptional } of flags)
      for (const name of names)
        bySpelling.set(name, [...(bySpelling.get(name) ?? []), { of: command, value, isOptional }])
  return [...bySpelling].flatMap(([name, uses]) => {
    const kinds = new Set(uses.map(({ value, isOptional }) => JSON.stringify([value, isOptional])))
    const found = uses.flatMap(({ of, value, isOptional }) => (value === undefined ? [] : [{ of, value, isOptional }]))
    if (kinds.size > 1) return found.map(({ of, ...rest }) => ({ of: `${of} ${name}`, ...rest }))
    const [first] = found
    return first === undefined ? [] : [{ ...first, of: name }]
  })
}
