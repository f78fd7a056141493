import type { AnyFlag, FlagGroup } from './flag-kinds.ts'
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

/** How the program is used, in one screen or two. */
export function helpText(width: number): string {
  // True: `titles` has a title for every group and no other key.
  const groups = (Object.keys(titles) as FlagGroup[]).map((group) => {
    const rows = Object.values(flagTable).filter((flag) => flag.group === group)
    return [titles[group], ...rows.map((flag: AnyFlag) => row(flag, width))].join('\n')
  })
  return `${usage}\n\n${groups.join('\n\n')}\n\n${exits}\n`
}

const usage = `halting: a coding agent that always stops, and says why

  halting ["PROMPT"] [flags]    a conversation in the terminal, which may begin with a prompt
  halting -p "PROMPT" [flags]   answer one prompt; what is piped in joins it
  halting serve --restate URL   works at sessions of a cluster (docs/guide/cluster.md); --cluster URL asks for them
  halting cluster dev           such a cluster on this machine, to try: server, worker, a session
  halting acp [flags]           serves an editor over stdin and stdout (Agent Client Protocol)
  halting check [flags]         what a run with these flags cannot exceed; runs nothing
  halting context [PROMPT]      what fills the window with the next request, and what happens when it is full
  halting sessions [show ID | search TEXT | delete ID --yes]
                                what is kept of this folder: newest first, one of them, those that say TEXT
  halting sessions export SESSION --format html|markdown|jsonl [--output FILE]
                                a session as one file, to read or to hand on
  halting undo [SESSION]        takes back what the last run changed in files, without git; --dry-run prints it, --redo takes it back
  halting rewind SESSION [MESSAGE]
                                goes back to before a message, files too; without one: which there are
  halting approve|deny SESSION TOOL_USE_ID
                                answers a call that waits; --resume SESSION goes on then
  halting why [SESSION]         why a session stopped, where turns, tokens, dollars and time went, what lets it go on
  halting replay [SESSION]      what happened in a session, a line for each step, without a model
  halting what-if [SESSION|FOLDER …] --max-turns N …
                                where other limits would have stopped sessions, what that saves and loses;
                                files of Claude Code and Codex too, all of theirs with --claude-code and --codex
  halting report [FOLDER]       what sessions cost, how they ended, which limits saved money and which lost work, which tools
                                fail: of a week, or of a folder with --since 30d; --format html --output week.html
  halting inspect [SESSION|FOLDER …] [--open]
                                a page over sessions, for a browser of this machine: where turns, tokens and money went;
                                with --output FILE one session as a page in a file
  halting config                which settings are in force, where each comes from, what does not count and why
  halting trust [FOLDER]        what a folder's settings would run and loosen, and have it count; --list, --revoke
  halting mcp list|get|add|add-json|remove
                                servers (MCP) whose tools sessions here have; halting mcp --help tells more
  halting memory [show TOPIC|ID | forget ID … | dream [undo]]
                                notes of earlier sessions in this folder; all of one, without some, put in order by a model
  halting permissions COMMAND   what would become of a command of bash: part by part, and by which rule; runs nothing
  halting models [PART]         the models that are known: windows, prices, where a key is found
  halting setup [--model NAME]  finds keys, models on this machine and settings of other agents, and writes your settings
                                after showing them; --yes writes without a question, --dry-run only shows
  halting doctor [flags]        whether a run can begin, and what to do when it cannot
  halting init                  writes an AGENTS.md for this folder from what lies in it; never over one that is there
  halting demo [--keep]         watch it fix a bug, with a scripted model: no key, no network`

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
