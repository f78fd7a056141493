import type { Command } from './commands.ts'
import type { AnyFlag, FlagGroup } from './flag-kinds.ts'
import { flagsOf, hasOwnHelp, type HelpedCommand } from './helped-commands.ts'
import { flagTable } from './table.ts'

const titles: Readonly<Record<FlagGroup, string>> = {
  output: 'What goes in and out',
  model: 'The model and what it is told',
  sessions: 'What is kept, and going on with it',
  limits: 'When to stop',
  context: 'When the window fills up',
  tools: 'What it may do',
  cluster: 'Sessions on a cluster',
  program: 'The program',
}

/** How a command is used, or the program where that is the same. */
export function helpFor(command: Command | undefined, width: number): string {
  return hasOwnHelp(command) ? commandHelp(command, width) : helpText(width)
}

/** How the program is used, in one screen or two. */
function helpText(width: number): string {
  // True: `titles` has a title for every group and no other key.
  const groups = (Object.keys(titles) as FlagGroup[]).map((group) => {
    const rows = Object.values(flagTable).filter((flag) => flag.group === group)
    return [titles[group], ...rows.map((flag: AnyFlag) => row(flag, width))].join('\n')
  })
  const usage = calls.map(({ text }) => text).join('\n')
  return `halting: a coding agent that always stops, and says why\n\n${usage}\n\n${groups.join('\n\n')}\n\n${exits}\n`
}

/** How one command is used. */
function commandHelp(command: HelpedCommand, width: number): string {
  const usage = calls.filter(({ of }) => of.includes(command)).map(({ text }) => text)
  const rows = flagsOf(command).map((name) => {
    const flag: AnyFlag = flagTable[name]
    return row({ ...flag, meaning: meaningFor(command, flag.meaning) }, width)
  })
  return `${usage.join('\n')}\n\n${rows.join('\n')}\n\nhalting --help shows all commands and flags.\n`
}

/** Where a meaning is of some commands (`Of undo and setup: A. Of rewind: B`), what it says of this one. */
function meaningFor(command: HelpedCommand, meaning: string): string {
  const [general, ...parts] = meaning.split(/(?:^|(?<=[.;]) )of (?=[^:]+: )/i)
  if (general !== '') return meaning
  for (const part of parts) {
    const [, commands = '', said = ''] = /^([^:]+): (.*)$/.exec(part) ?? []
    if (!commands.split(/[ ,]+/).includes(command)) continue
    return said.charAt(0).toUpperCase() + said.slice(1).replace(/[.;]$/, '')
  }
  return meaning
}

/** How each command is called; none for the program itself. */
const calls: readonly { readonly of: readonly Command[]; readonly text: string }[] = [
  {
    of: [],
    text: `  halting ["PROMPT"] [flags]    a conversation in the terminal, which may begin with a prompt`,
  },
  {
    of: [],
    text: `  halting -p "PROMPT" [flags]   answer one prompt; what is piped in joins it`,
  },
  {
    of: ['serve'],
    text: `  halting serve --restate URL   works at sessions of a cluster (docs/guide/cluster.md); --cluster URL asks for them`,
  },
  {
    of: ['cluster'],
    text: `  halting cluster dev           such a cluster on this machine, to try: server, worker, a session`,
  },
  {
    of: ['acp'],
    text: `  halting acp [flags]           serves an editor over stdin and stdout (Agent Client Protocol)`,
  },
  {
    of: ['check'],
    text: `  halting check [flags]         what a run with these flags cannot exceed; runs nothing`,
  },
  {
    of: ['context'],
    text: `  halting context [PROMPT]      what fills the window with the next request, and what happens when it is full`,
  },
  {
    of: ['sessions'],
    text: `  halting sessions [show ID | search TEXT | delete ID --yes]
                                what is kept of this folder: newest first, one of them, those that say TEXT`,
  },
  {
    of: ['sessions'],
    text: `  halting sessions export SESSION --format html|markdown|jsonl [--output FILE]
                                a session as one file, to read or to hand on`,
  },
  {
    of: ['undo'],
    text: `  halting undo [SESSION]        takes back what the last run changed in files, without git; --dry-run prints it, --redo takes it back`,
  },
  {
    of: ['rewind'],
    text: `  halting rewind SESSION [MESSAGE]
                                goes back to before a message, files too; without one: which there are`,
  },
  {
    of: ['approve', 'deny'],
    text: `  halting approve|deny SESSION TOOL_USE_ID
                                answers a call that waits; --resume SESSION goes on then`,
  },
  {
    of: ['why'],
    text: `  halting why [SESSION]         why a session stopped, where its turns, tokens, dollars and time went, and how to continue it`,
  },
  {
    of: ['replay'],
    text: `  halting replay [SESSION]      what happened in a session, one line per step; asks no model`,
  },
  {
    of: ['what-if'],
    text: `  halting what-if [SESSION|FOLDER …] --max-turns N …
                                where other limits would have stopped sessions, and what that saves and loses;
                                also for sessions of Claude Code and Codex: all of them with --claude-code and --codex`,
  },
  {
    of: ['report'],
    text: `  halting report [FOLDER]       what sessions cost, how they ended, which limits saved money and which lost work, which tools
                                fail; of the last week, or with --since 30d; as a page with --format html --output week.html`,
  },
  {
    of: ['inspect'],
    text: `  halting inspect [SESSION|FOLDER …] [--open]
                                a web page about sessions, for a browser on this machine: where turns, tokens and money went;
                                with --output FILE one session as a file`,
  },
  {
    of: ['config'],
    text: `  halting config                which settings are in force, where each comes from, what does not count and why`,
  },
  {
    of: ['trust'],
    text: `  halting trust [FOLDER]        what a folder's settings would run and loosen, and have it count; --list, --revoke`,
  },
  {
    of: ['mcp'],
    text: `  halting mcp list|get|add|add-json|remove
                                servers (MCP) whose tools sessions here have; halting mcp --help tells more`,
  },
  {
    of: ['memory'],
    text: `  halting memory [show TOPIC|ID | forget ID … | dream [undo]]
                                notes of earlier sessions in this folder; all of one, without some, put in order by a model`,
  },
  {
    of: ['permissions'],
    text: `  halting permissions COMMAND   what would become of a command of bash: part by part, and by which rule; runs nothing`,
  },
  {
    of: ['models'],
    text: `  halting models [PART]         the models that are known: windows, prices, where a key is found`,
  },
  {
    of: ['setup'],
    text: `  halting setup [--model NAME]  finds keys, models on this machine and settings of other agents, and writes your settings
                                after showing them; --yes writes without a question, --dry-run only shows`,
  },
  {
    of: ['doctor'],
    text: `  halting doctor [flags]        whether a run can begin, and what to do when it cannot`,
  },
  {
    of: ['init'],
    text: `  halting init                  writes an AGENTS.md for this folder from what lies in it; never over one that is there`,
  },
  {
    of: ['demo'],
    text: `  halting demo [--keep]         watch it fix a bug, with a scripted model: no key, no network`,
  },
]

const exits = `Exit codes: 0 done, 1 failed, 2 not usable as given, 3 a limit, 4 a hook, 5 an approval is needed, 130 Ctrl-C, 143 SIGTERM.
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
