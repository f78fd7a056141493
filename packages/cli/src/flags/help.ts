import { type Command, commandTable } from './command-table.ts'
import type { AnyFlag, FlagGroup } from './flag-kinds.ts'
import { flagsOf } from './flag-commands.ts'
import { flagTable } from './table.ts'

const titles: Readonly<Record<FlagGroup, string>> = {
  output: 'What goes in and out',
  model: 'The model and what it is told',
  sessions: 'What is kept, and going on with it',
  limits: 'When to stop',
  goals: 'When it is done',
  context: 'When the window fills up',
  tools: 'What it may do',
  cluster: 'Sessions on a cluster',
  program: 'The program',
}

/** How a command is used, or the program where that is the same. */
export function helpFor(command: Command | undefined, width: number): string {
  const hasOwn = command !== undefined && commandTable[command].takes === 'own flags'
  return hasOwn ? commandHelp(command, width) : helpText(width)
}

/** How the program is used, in one screen or two. */
function helpText(width: number): string {
  // True: `titles` has a title for every group and no other key.
  const groups = (Object.keys(titles) as FlagGroup[]).map((group) => {
    const rows = Object.values(flagTable).filter((flag) => flag.group === group)
    return [titles[group], ...rows.map((flag: AnyFlag) => row(flag, width))].join('\n')
  })
  // Commands may share a line.
  const lines = new Set([...ownUsage, ...Object.values(commandTable).flatMap(({ usage: each }) => each)])
  const usage = [...lines].join('\n')
  return `halting: a coding agent that always stops, and says why\n\n${usage}\n\n${groups.join('\n\n')}\n\n${exits}\n`
}

/** How one command is used. */
function commandHelp(command: Command, width: number): string {
  const { usage } = commandTable[command]
  const rows = flagsOf(command).map((flag) => row({ ...flag, meaning: meaningFor(command, flag.meaning) }, width))
  return `${usage.join('\n')}\n\n${rows.join('\n')}\n\nhalting --help shows all commands and flags.\n`
}

/** Where a meaning is of some commands (`Of undo and setup: A. Of rewind: B`), what it says of this one. */
function meaningFor(command: Command, meaning: string): string {
  const [general, ...parts] = meaning.split(/(?:^|(?<=[.;]) )of (?=[^:]+: )/i)
  if (general !== '') return meaning
  for (const part of parts) {
    const [, commands = '', said = ''] = /^([^:]+): (.*)$/.exec(part) ?? []
    if (!commands.split(/[ ,]+/).includes(command)) continue
    return said.charAt(0).toUpperCase() + said.slice(1).replace(/[.;]$/, '')
  }
  return meaning
}

/** How the program itself is called. */
const ownUsage = [
  `  halting ["PROMPT"] [flags]    a conversation in the terminal, which may begin with a prompt`,
  `  halting -p "PROMPT" [flags]   answer one prompt; what is piped in joins it`,
]

const exits = `Exit codes: 0 done, 1 failed, 2 not usable as given, 3 a limit, 4 a hook, 5 an approval is needed, 6 a goal is not met, 130 Ctrl-C, 143 SIGTERM.
Keys: ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; ANTHROPIC_BASE_URL and ANTHROPIC_MODEL are heeded.`

const column = 34

function row(flag: AnyFlag, width: number): string {
  const name = `  ${flag.names.join(', ')}${flag.kind === 'switch' ? '' : ` ${flag.value}`}`
  const lines = wrapped(flag.meaning, Math.max(30, width - column))
  const head = name.length < column - 1 ? name.padEnd(column) : `${name}\n${' '.repeat(column)}`
  return head + lines.join(`\n${' '.repeat(column)}`)
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
