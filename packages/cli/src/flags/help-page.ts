import { UsageError } from '../usage-error.ts'
import { partHelp } from './command-help.ts'
import type { Command } from './command-table.ts'
import { commandNames, isCommand } from './commands.ts'
import type { Flags } from './flags.ts'
import { flagTopics, type HelpPage } from './help.ts'
import { nearest } from './nearest.ts'
import { flagTable } from './table.ts'

/** The page for `--help`: of the command and subcommand, of `-p`, or of the program. @throws UsageError for a word that looks like a misspelled command */
export function pageForCall(command: Command | undefined, { print }: Flags, words: readonly string[]): HelpPage {
  if (command === 'help') return pageNamed(words)
  if (command !== undefined) return pageOfCommand(command, words)
  if (print === true) return { kind: 'prompt' }
  const [word, ...more] = words
  if (word !== undefined && more.length === 0 && nearestCommand(word) !== undefined) throw unknownPage(word)
  return { kind: 'program' }
}

/** The page for `halting help …`. @throws UsageError that suggests the nearest command or topic */
export function pageNamed(argv: readonly string[]): HelpPage {
  const [first, second, ...more] = argv.filter((word) => word !== '--help' && word !== '-h' && word !== '--')
  if (first === undefined) return argv.length === 0 ? { kind: 'program' } : { kind: 'command', command: 'help' }
  if (first.startsWith('-')) return pageOfFlag(first)
  if (isCommand(first)) return pageOfCommand(first, second === undefined ? [] : [second, ...more])
  if (first === 'flags' && second === undefined) return { kind: 'flags' }
  const name = first === 'flags' ? (second ?? '') : first
  const topic = flagTopics.find((each) => each === name)
  if (topic !== undefined) return { kind: 'flags', topic }
  throw first === 'flags' ? unknownTopic(name) : unknownPage(name)
}

/** The page for `halting help -p`, or the page of the topic that contains a flag. */
function pageOfFlag(given: string): HelpPage {
  if (flagTable.print.names.includes(given)) return { kind: 'prompt' }
  const flag = Object.values(flagTable).find(({ names }) => names.includes(given))
  if (flag !== undefined) return { kind: 'flags', topic: flag.topic }
  const meant = nearest(
    given,
    Object.values(flagTable).flatMap(({ names }) => names.filter((name) => name.startsWith('--'))),
  )
  throw new UsageError(
    `There is no flag ${given}. ${meant === undefined ? 'halting help flags lists all flags.' : `Did you mean ${meant}?`}`,
  )
}

function pageOfCommand(command: Command, [part]: readonly string[]): HelpPage {
  return part !== undefined && Object.hasOwn(partHelp, `${command} ${part}`)
    ? { kind: 'command', command, part }
    : { kind: 'command', command }
}

function nearestCommand(word: string): string | undefined {
  return nearest(word, commandNames, word.length < 5 ? 1 : 2)
}

function unknownPage(word: string): UsageError {
  const meant = nearest(word, [...commandNames, ...flagTopics], 2)
  const hint = meant === undefined ? 'halting --help lists all commands.' : `Did you mean ${meant}?`
  return new UsageError(`There is no command "${word.slice(0, 40)}". ${hint}`)
}

function unknownTopic(name: string): UsageError {
  const meant = nearest(name, flagTopics, 2)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return new UsageError(`There is no topic "${name.slice(0, 40)}".${hint} Topics: ${flagTopics.join(', ')}.`)
}
