import { UsageError } from '../usage-error.ts'
import type { Command } from './command-table.ts'
import { isOwned } from './flag-commands.ts'
import type { FlagName, Flags } from './flags.ts'
import { nearest } from './nearest.ts'
import type { AnyFlag, ListFlag, ValueFlag } from './flag-kinds.ts'
import { flagTable } from './table.ts'

export interface Parsed {
  readonly flags: Flags
  /** What is no flag: the prompt. */
  readonly words: readonly string[]
}

/** How arguments are read. */
export interface ParseOptions {
  /** The command that they are for: a spelling may mean one flag of this command, and another one elsewhere. */
  readonly command?: Command | undefined
  /** Receives flags that are not in the table, which are then skipped with their value. Without it they are refused. */
  readonly onUnknown?: (flag: string) => void
}

type Values = { [name in FlagName]?: unknown }

/**
 * Reads arguments by the table: `--flag value`, `--flag=value`, and everything after `--` as words.
 * @throws UsageError for what cannot be read; the message says what is right.
 */
export function parseFlags(argv: readonly string[], { command, onUnknown }: ParseOptions = {}): Parsed {
  const values: Values = {}
  const words: string[] = []
  const left = [...argv]
  for (let argument = left.shift(); argument !== undefined; argument = left.shift()) {
    if (argument === '--') words.push(...left.splice(0))
    else if (isWord(argument)) words.push(argument)
    else if (onUnknown !== undefined && findRow(nameIn(argument)) === undefined) {
      onUnknown(nameIn(argument))
      // A word behind it is its value: hosts give their prompts on stdin.
      if (!argument.includes('=') && left[0] !== undefined && isWord(left[0])) left.shift()
    } else takeFlag(rowFor(argument, command), left, values)
  }
  // Every value was made by the reader of its row, and a row reads what `Flags` says.
  return { flags: values as Flags, words }
}

/** A flag with its values, or a word; after `--` every argument is a word. */
export interface ArgumentGroup {
  /** Undefined for a word, and for `--`. */
  readonly flag: FlagName | undefined
  /** The arguments as they were given. */
  readonly tokens: readonly string[]
}

/** The arguments of a call that `parseFlags` reads for a run, in groups. @throws UsageError as `parseFlags` does. */
export function argumentGroups(argv: readonly string[]): readonly ArgumentGroup[] {
  const groups: ArgumentGroup[] = []
  const left = [...argv]
  for (let argument = left.shift(); argument !== undefined; argument = left.shift()) {
    if (argument === '--') {
      groups.push(...['--', ...left.splice(0)].map((token) => ({ flag: undefined, tokens: [token] })))
    } else if (isWord(argument)) groups.push({ flag: undefined, tokens: [argument] })
    else {
      const start = argv.length - left.length - 1
      const row = rowFor(argument)
      takeFlag(row, left, {})
      groups.push({ flag: row.name, tokens: argv.slice(start, argv.length - left.length) })
    }
  }
  return groups
}

/** A list of points begins with a dash as well: no flag has a space behind it. */
function isWord(argument: string): boolean {
  return argument === '-' || !argument.startsWith('-') || /^-\s/.test(argument)
}

/** A flag as it was given. */
interface GivenFlag {
  readonly given: string
  /** What stands behind `=`. */
  readonly inline: string | undefined
  readonly name: FlagName
  readonly flag: AnyFlag
}

function takeFlag({ given, inline, name, flag }: GivenFlag, left: string[], values: Values): void {
  switch (flag.kind) {
    case 'switch':
      values[name] = switchValue(given, inline)
      return
    case 'value': {
      const isLeftOut = flag.without !== undefined && inline === undefined && !isOptionalValue(left[0])
      values[name] = isLeftOut ? flag.without : read(flag, given, inline ?? nextValue(flag, given, left))
      return
    }
    case 'list': {
      // True: only this line writes the values of a list.
      const before = (values[name] ?? []) as readonly string[]
      const taken = read(flag, given, inline ?? nextValue(flag, given, left))
      values[name] = [...before, ...taken, ...moreValues(flag, given, left)]
    }
  }
}

function rowFor(argument: string, command?: Command): GivenFlag {
  const [, given = argument, inline] = /^(--?[^=]*)=(.*)$/s.exec(argument) ?? []
  const row = findRow(given, command)
  if (row !== undefined) return { given, inline, name: row[0], flag: row[1] }
  const meant = nearestFlag(given)
  throw new UsageError(
    `There is no flag ${given}. ${meant === undefined ? 'halting help flags lists all flags.' : `Did you mean ${meant}?`}`,
  )
}

/** A flag that begins like this one, the shortest first: `--max-budget` for `--max-budget-usd`. Else the nearest by letters. */
function nearestFlag(given: string): string | undefined {
  const names = Object.values(flagTable).flatMap((row) => row.names.filter((name) => name.startsWith('--')))
  const longer = given.length < 5 ? [] : names.filter((name) => name.startsWith(given))
  return longer.toSorted((one, other) => one.length - other.length)[0] ?? nearest(given, names)
}

/** Where a spelling has several rows: that of the command, else that of runs. */
function findRow(given: string, command?: Command): readonly [FlagName, AnyFlag] | undefined {
  // True: the keys of the table are the names.
  const rows = Object.entries(flagTable) as (readonly [FlagName, AnyFlag])[]
  const spelled = rows.filter(([, { names }]) => names.includes(given))
  return (
    spelled.find(([, { commands = [] }]) => isOwned(command, commands)) ??
    spelled.find(([, { commands }]) => commands === undefined) ??
    spelled[0]
  )
}

function nameIn(argument: string): string {
  return argument.split('=', 1)[0] ?? argument
}

function switchValue(given: string, inline: string | undefined): boolean {
  if (inline === undefined || inline === 'true') return true
  if (inline === 'false') return false
  throw new UsageError(`${given} takes no value (received "${inline}").`)
}

function nextValue(flag: ValueFlag<unknown> | ListFlag, given: string, left: string[]): string {
  const [next] = left
  if (next === undefined || isFlag(next)) throw new UsageError(`${given} needs a value: ${given} ${flag.value}.`)
  left.shift()
  return next
}

function moreValues(flag: ListFlag, given: string, left: string[]): readonly string[] {
  const more: string[] = []
  for (let [next] = left; next !== undefined && flag.takesMore?.(next) === true; [next] = left) {
    left.shift()
    more.push(...read(flag, given, next))
  }
  return more
}

/** An id is one word: what is more than that is the prompt. */
function isOptionalValue(next: string | undefined): boolean {
  return next !== undefined && !isFlag(next) && /^\S+$/.test(next)
}

/** Other words that begin with a dash may be values: a system prompt may be a list. */
function isFlag(argument: string): boolean {
  return argument === '--' || findRow(nameIn(argument)) !== undefined
}

function read<Value>(flag: Pick<ValueFlag<Value>, 'read'>, given: string, value: string): Value {
  const reading = flag.read(value)
  if ('value' in reading) return reading.value
  const hint = reading.meant === undefined ? '' : ` Did you mean ${reading.meant}?`
  throw new UsageError(`${given} takes ${reading.expected}, not "${value}".${hint}`)
}
