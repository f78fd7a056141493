import { UsageError } from '../usage-error.ts'
import type { Command } from './command-table.ts'
import { isFlagOf } from './flag-commands.ts'
import type { FlagName, Flags } from './flags.ts'
import { nearest } from './nearest.ts'
import type { AnyFlag, ListFlag, ValueFlag } from './flag-kinds.ts'
import { flagTable } from './table.ts'

export interface ParsedArguments {
  readonly flags: Flags
  /** Arguments that are not flags: the prompt. */
  readonly words: readonly string[]
}

/** How arguments are read. */
export interface ParseOptions {
  /** The command. A spelling can mean one flag for this command and another elsewhere. */
  readonly command?: Command | undefined
  /** Receives unknown flags, which are skipped with their values. Without it, they are errors. */
  readonly onUnknown?: (flag: string) => void
}

type Values = { [name in FlagName]?: unknown }

/**
 * Parses arguments according to the flag table: `--flag value`, `--flag=value`; everything after `--` is a word.
 * @throws UsageError that says what is valid
 */
export function parseFlags(argv: readonly string[], { command, onUnknown }: ParseOptions = {}): ParsedArguments {
  const values: Values = {}
  const words: string[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === '--') words.push(...rest.splice(0))
    else if (isWord(argument)) words.push(argument)
    else if (onUnknown !== undefined && findRow(nameIn(argument)) === undefined) {
      onUnknown(nameIn(argument))
      // The word after it is its value, since hosts send their prompts on stdin.
      if (!argument.includes('=') && rest[0] !== undefined && isWord(rest[0])) rest.shift()
    } else takeFlag(rowFor(argument, command), rest, values)
  }
  // This cast is safe: the reader in each row returns the type that `Flags` declares.
  return { flags: values as Flags, words }
}

/** A flag with its values, or a word. After `--`, every argument is a word. */
export interface ArgumentGroup {
  /** Undefined for a word and for `--`. */
  readonly flag: FlagName | undefined
  /** The original arguments. */
  readonly tokens: readonly string[]
}

/** Groups the arguments of a run as `parseFlags` reads them. @throws UsageError like `parseFlags` */
export function argumentGroups(argv: readonly string[]): readonly ArgumentGroup[] {
  const groups: ArgumentGroup[] = []
  const rest = [...argv]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === '--') {
      groups.push(...['--', ...rest.splice(0)].map((token) => ({ flag: undefined, tokens: [token] })))
    } else if (isWord(argument)) groups.push({ flag: undefined, tokens: [argument] })
    else {
      const start = argv.length - rest.length - 1
      const row = rowFor(argument)
      takeFlag(row, rest, {})
      groups.push({ flag: row.name, tokens: argv.slice(start, argv.length - rest.length) })
    }
  }
  return groups
}

/** A Markdown list also begins with a dash; a flag is never followed by a space in the same argument. */
function isWord(argument: string): boolean {
  return argument === '-' || !argument.startsWith('-') || /^-\s/.test(argument)
}

/** A flag on the command line. */
interface FlagArgument {
  readonly given: string
  /** The text after `=`. */
  readonly inline: string | undefined
  readonly name: FlagName
  readonly flag: AnyFlag
}

function takeFlag({ given: spelling, inline, name, flag }: FlagArgument, rest: string[], values: Values): void {
  switch (flag.kind) {
    case 'switch':
      values[name] = switchValue(spelling, inline)
      return
    case 'value': {
      const isLeftOut = flag.without !== undefined && inline === undefined && !isOptionalValue(rest[0])
      values[name] = isLeftOut ? flag.without : readValue(flag, spelling, inline ?? nextValue(flag, spelling, rest))
      return
    }
    case 'list': {
      // This cast is safe: only this line writes the values of a list.
      const before = (values[name] ?? []) as readonly string[]
      const taken = readValue(flag, spelling, inline ?? nextValue(flag, spelling, rest))
      values[name] = [...before, ...taken, ...moreValues(flag, spelling, rest)]
    }
  }
}

function rowFor(argument: string, command?: Command): FlagArgument {
  const [, spelling = argument, inline] = /^(--?[^=]*)=(.*)$/s.exec(argument) ?? []
  const row = findRow(spelling, command)
  if (row !== undefined) return { given: spelling, inline, name: row[0], flag: row[1] }
  const meant = nearestFlag(spelling)
  throw new UsageError(
    `There is no flag ${spelling}. ${meant === undefined ? 'halting help flags lists all flags.' : `Did you mean ${meant}?`}`,
  )
}

/** The shortest flag that begins with this text, such as `--max-budget-usd` for `--max-budget`; otherwise the flag with the most similar spelling. */
function nearestFlag(spelling: string): string | undefined {
  const names = Object.values(flagTable).flatMap((row) => row.names.filter((name) => name.startsWith('--')))
  const longer = spelling.length < 5 ? [] : names.filter((name) => name.startsWith(spelling))
  return longer.toSorted((one, other) => one.length - other.length)[0] ?? nearest(spelling, names)
}

/** If several rows have the spelling: the row of the command, otherwise that of runs. */
function findRow(spelling: string, command?: Command): readonly [FlagName, AnyFlag] | undefined {
  // This cast is safe: the keys of the table are the names of flags.
  const rows = Object.entries(flagTable) as (readonly [FlagName, AnyFlag])[]
  const spelled = rows.filter(([, { names }]) => names.includes(spelling))
  return (
    spelled.find(([, { commands = [] }]) => isFlagOf(command, commands)) ??
    spelled.find(([, { commands }]) => commands === undefined) ??
    spelled[0]
  )
}

function nameIn(argument: string): string {
  return argument.split('=', 1)[0] ?? argument
}

function switchValue(spelling: string, inline: string | undefined): boolean {
  if (inline === undefined || inline === 'true') return true
  if (inline === 'false') return false
  throw new UsageError(`${spelling} takes no value (received "${inline}").`)
}

function nextValue(flag: ValueFlag<unknown> | ListFlag, spelling: string, rest: string[]): string {
  const [next] = rest
  if (next === undefined || isFlag(next)) throw new UsageError(`${spelling} needs a value: ${spelling} ${flag.value}.`)
  rest.shift()
  return next
}

function moreValues(flag: ListFlag, spelling: string, rest: string[]): readonly string[] {
  const more: string[] = []
  for (let [next] = rest; next !== undefined && flag.takesMore?.(next) === true; [next] = rest) {
    rest.shift()
    more.push(...readValue(flag, spelling, next))
  }
  return more
}

/** An optional value is a single word; anything else is the prompt. */
function isOptionalValue(next: string | undefined): boolean {
  return next !== undefined && !isFlag(next) && /^\S+$/.test(next)
}

/** Other arguments that begin with a dash can be values, such as a system prompt that is a list. */
function isFlag(argument: string): boolean {
  return argument === '--' || findRow(nameIn(argument)) !== undefined
}

function readValue<Value>(flag: Pick<ValueFlag<Value>, 'read'>, spelling: string, value: string): Value {
  const reading = flag.read(value)
  if ('value' in reading) return reading.value
  const hint = reading.meant === undefined ? '' : ` Did you mean ${reading.meant}?`
  throw new UsageError(`${spelling} takes ${reading.expected}, not "${value}".${hint}`)
}
