import { type CommandHelp, commandHelp, partHelp, type PartHelp, promptHelp } from './command-help.ts'
import type { Command } from './command-table.ts'
import { flagsForRuns, commandFlags } from './flag-commands.ts'
import type { AnyFlag, FlagTopic } from './flag-kinds.ts'
import { flagTable } from './table.ts'
import { wrapToColumns } from '../io/columns.ts'
import { tableLines } from '../io/table.ts'

/** A help page: the program, `-p`, all flags, the flags of a topic, a command, or a subcommand (`sessions show`). */
export type HelpPage =
  | { readonly kind: 'program' }
  | { readonly kind: 'prompt' }
  | { readonly kind: 'flags'; readonly topic?: FlagTopic }
  | { readonly kind: 'command'; readonly command: Command; readonly part?: string }

const titles: Readonly<Record<FlagTopic, string>> = {
  output: 'Input and output',
  model: 'Model and instructions',
  sessions: 'Sessions',
  limits: 'Limits',
  context: 'Context window',
  goals: 'Goals',
  tools: 'Tools and permissions',
  hosts: 'Hosts (with --input-format stream-json)',
  cluster: 'Clusters',
  commands: 'Flags of single commands',
  program: 'Help and version',
}

// The keys of the table are the names of all topics.
/** The topics of flags, in the order of help. */
export const flagTopics = Object.keys(titles) as readonly FlagTopic[]

/** The text of a help page, with lines of at most `width` columns. */
export function helpText(page: HelpPage, width: number): string {
  switch (page.kind) {
    case 'program':
      return firstScreen(width)
    case 'prompt':
      return promptPage(width)
    case 'flags':
      return flagsPage(page.topic, width)
    case 'command':
      return page.part === undefined
        ? commandPage(page.command, width)
        : partPage(page.command, `${page.command} ${page.part}`, width)
  }
}

/** Commands by task. Commands on the same line share a summary. */
const tasks: readonly (readonly [
  title: string,
  rows: readonly (readonly [names: readonly Command[], summary?: string])[],
])[] = [
  ['Set up', [[['setup']], [['doctor']], [['init']], [['demo']], [['completion']]]],
  [
    'Sessions and runs',
    [
      [['sessions']],
      [['why']],
      [['grade']],
      [['replay']],
      [['undo', 'rewind'], 'Revert file changes; rewind a session'],
      [['approve', 'deny'], 'Approve or deny a pending tool call'],
    ],
  ],
  ['Cost and limits', [[['check']], [['context']], [['budget']], [['report']], [['inspect']], [['what-if']]]],
  ['Permissions and settings', [[['permissions']], [['trust']], [['config']], [['models']], [['mcp']], [['memory']]]],
  ['Automation', [[['loop']], [['acp']], [['serve', 'cluster'], 'Run a worker of a cluster; try a cluster']]],
]

const starts = [
  ['halting ["PROMPT"]', 'Start an interactive session'],
  ['halting -p "PROMPT"', 'Answer one prompt and exit'],
  ['halting -c, -r [ID]', 'Continue the newest or a given one'],
] as const

/** The first page of help: at most 40 lines, even at a width of 60 columns. */
function firstScreen(width: number): string {
  const lines = tasks.flatMap(([title, rows]) => [
    `${title}:`,
    ...tableLines(
      rows.map(([names, summary]) => [names.join(', '), summary ?? commandHelp[names[0] ?? 'help'].summary]),
      { columns: [{ min: 14 }, {}] },
    ),
  ])
  return [
    'halting: a coding agent that always stops, and reports why',
    '',
    ...tableLines(starts, { columns: [{}, {}] }),
    '',
    ...lines,
    '',
    'Limits: --max-turns, --max-budget-usd, --max-duration',
    'More: halting COMMAND --help, halting help flags',
    '',
  ]
    .flatMap((line) => (line.length > width ? hanging(line, 7, width) : [line]))
    .join('\n')
}

function promptPage(width: number): string {
  return `${pageHead(promptHelp, width)}\n${topicSections(flagsForRuns(), width)}\n${exitCodesText(width)}`
}

function flagsPage(topic: FlagTopic | undefined, width: number): string {
  const flags = Object.values(flagTable).filter((flag) => topic === undefined || flag.topic === topic)
  return `${topicSections(flags, width)}${topic === undefined ? `\n${exitCodesText(width)}` : ''}`
}

/** Flags below the titles of their topics. */
function topicSections(flags: readonly AnyFlag[], width: number): string {
  return flagTopics
    .map((topic) => {
      const rows = flags.filter((flag) => flag.topic === topic)
      return rows.length === 0 ? '' : `${titles[topic]}:\n${rows.map((flag) => flagRow(flag, width, true)).join('')}`
    })
    .filter((section) => section !== '')
    .join('\n')
}

function commandPage(command: Command, width: number): string {
  const help = commandHelp[command]
  const own = (help.ownFlags ?? []).map(({ name, meaning }) => row(name, meaning, width))
  const rows = describedFlags(command).map((flag) => flagRow(withMeaningFor(command, flag), width, false))
  return `${pageHead(help, width)}\nFlags:\n${[...own, ...rows].join('')}${namedFlags(command, width)}${partsLine(command, width)}`
}

/** The flags that a command's help describes: its own, and some flags of runs. */
function describedFlags(command: Command): readonly AnyFlag[] {
  // `mcp` parses its own flags.
  if (command === 'mcp') return [flagTable.help]
  const { flags = [] } = commandHelp[command]
  const described = new Set([...commandFlags(command), ...flags.map((name) => flagTable[name])])
  return Object.values(flagTable).filter((flag) => described.has(flag))
}

function partPage(command: Command, name: string, width: number): string {
  const help: PartHelp | undefined = partHelp[name]
  if (help === undefined) return commandPage(command, width)
  const own = (help.ownFlags ?? []).map(({ name: flag, meaning }) => row(flag, meaning, width))
  const rows = [...help.flags, 'help' as const].map((flag) =>
    flagRow(withMeaningFor(command, flagTable[flag]), width, false),
  )
  return `${pageHead(help, width)}\nFlags:\n${[...own, ...rows].join('')}`
}

function pageHead({ usage, about, examples }: Omit<CommandHelp, 'summary'>, width: number): string {
  const calls = usage.flatMap((call, at) => {
    // Keeps a flag and its value on one line.
    const joined = call.replaceAll(/(--[\w-]+) (?=[A-Z])/g, '$1\u00A0')
    const lines = hanging(`${at === 0 ? 'Usage: ' : '       '}halting ${joined}`, 11, width)
    return lines.map((line) => line.replaceAll('\u00A0', ' '))
  })
  const exampleLines = examples.flatMap((example) => hanging(`  ${example}`, 6, width))
  return [
    ...calls,
    '',
    wrapToColumns(about, width),
    '',
    `Example${exampleLines.length > 1 ? 's' : ''}:`,
    ...exampleLines,
    '',
  ].join('\n')
}

/** Names of the flags of runs that affect a command; `halting help flags` describes them. */
function namedFlags(command: Command, width: number): string {
  const { topics = [] } = commandHelp[command]
  if (topics.length === 0) return ''
  const described = describedFlags(command)
  const rows = topics.map((topic) => {
    const flags = flagsForRuns().filter((flag) => flag.topic === topic && !described.includes(flag))
    const names = flags.map(({ names: all }) => all.find((name) => name.startsWith('--')) ?? '')
    return [topic, names.join(', ')]
  })
  const lines = tableLines(rows, { columns: [{ min: 8 }, { rest: 'fold' }], width })
  const title = wrapToColumns('Flags of runs, by topic (halting help flags TOPIC describes them):', width)
  return `\n${[title, ...lines, ''].join('\n')}`
}

function partsLine(command: Command, width: number): string {
  const names = Object.keys(partHelp).filter((name) => name.startsWith(`${command} `))
  if (names.length === 0) return ''
  const parts = names.map((name) => name.slice(command.length + 1))
  const line =
    names.length === 1
      ? `More: halting ${names[0]} --help`
      : `More: halting ${command} WHAT --help, where WHAT is ${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`
  return `\n${hanging(line, 6, width).join('\n')}\n`
}

function withMeaningFor(command: Command, flag: AnyFlag): AnyFlag {
  const meaning = flag.meaningFor?.[command]
  return meaning === undefined ? flag : { ...flag, meaning, meaningFor: {} }
}

/** One flag; with `namesCommands`, also the commands that alone accept it. */
function flagRow(flag: AnyFlag, width: number, namesCommands: boolean): string {
  const name = `${flag.names.join(', ')}${flag.kind === 'switch' ? '' : ` ${flag.value}`}`
  if (!namesCommands) return row(name, flag.meaning, width)
  // If a flag of runs has another meaning for a command, the help of that command describes it.
  const others = Object.entries(flag.commands === undefined ? {} : (flag.meaningFor ?? {})).map(
    ([command, meaning]) => ` With ${command}: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}.`,
  )
  const only = flag.commands === undefined ? '' : ` (only ${flag.commands.join(', ')})`
  return row(name, `${flag.meaning}${only}${others.length === 0 ? '' : `.${others.join('')}`}`, width)
}

/** Puts the description on its own lines below a long name, and on a narrow terminal. */
function row(name: string, meaning: string, width: number): string {
  const columns = width < 76 ? 4 : 30
  return tableLines([[name, meaning]], {
    columns: [{ min: columns, max: columns, wide: 'ownLines' }, { rest: 'fold' }],
    width,
  })
    .map((line) => `${line}\n`)
    .join('')
}

const notes = [
  'Exit codes: 0 done, 1 error, 2 usage error, 3 a limit, 4 a hook, 5 approval needed, 6 goal not met, 7 a replayed session differs, 130 Ctrl-C, 143 SIGTERM.',
  'Environment: ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL. Other services: halting models.',
]

function exitCodesText(width: number): string {
  return `${notes.flatMap((note) => hanging(note, 2, width)).join('\n')}\n`
}

/** Wraps a text to `width` columns; further lines are indented. */
function hanging(text: string, indent: number, width: number): readonly string[] {
  if (text.length <= width) return [text]
  const [start = ''] = /^ */.exec(text) ?? []
  const end = text.lastIndexOf(' ', width)
  if (end <= start.length) return [text]
  return [
    text.slice(0, end).trimEnd(),
    ...hanging(`${' '.repeat(indent)}${text.slice(end + 1).trimStart()}`, indent, width),
  ]
}
