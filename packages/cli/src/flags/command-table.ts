interface CommandRow {
  /** How it is called: lines of the help. */
  readonly usage: readonly string[]
  /** Commands that take the flags of runs have the help of the program, others one of their own. */
  readonly takes: 'own flags' | 'flags of runs'
  /** It reads what was recorded and starts no run: limits of runs are refused. */
  readonly readsRecords?: boolean
}

// approve and deny share a line, which the help of the program shows once.
const rows = {
  serve: {
    usage: [
      `  halting serve --restate URL   works at sessions of a cluster (docs/guide/cluster.md); --cluster URL asks for them`,
    ],
    takes: 'flags of runs',
  },
  cluster: {
    usage: [`  halting cluster dev           such a cluster on this machine, to try: server, worker, a session`],
    takes: 'flags of runs',
  },
  acp: {
    usage: [`  halting acp [flags]           serves an editor over stdin and stdout (Agent Client Protocol)`],
    takes: 'flags of runs',
  },
  loop: {
    usage: [
      `  halting loop "PROMPT" --every 10m [--rounds N | --for 8h | --until CMD | --max-budget-usd X]
                                repeats a prompt in one session under one budget; --continue continues a loop`,
    ],
    takes: 'flags of runs',
  },
  check: {
    usage: [
      `  halting check [flags]         what a run with these flags is likely to cost, and cannot exceed; runs nothing`,
    ],
    takes: 'flags of runs',
  },
  context: {
    usage: [
      `  halting context [PROMPT]      what fills the window with the next request, and what happens when it is full`,
    ],
    takes: 'flags of runs',
  },
  sessions: {
    usage: [
      `  halting sessions [show ID | search TEXT | delete ID --yes]
                                what is kept of this folder: newest first, one of them, those that say TEXT`,
      `  halting sessions export SESSION --format html|markdown|jsonl [--output FILE]
                                a session as one file, to read or to hand on`,
    ],
    takes: 'own flags',
    readsRecords: true,
  },
  undo: {
    usage: [
      `  halting undo [SESSION]        takes back what the last run changed in files, without git; --dry-run prints it, --redo takes it back`,
    ],
    takes: 'own flags',
  },
  rewind: {
    usage: [
      `  halting rewind SESSION [MESSAGE]
                                goes back to before a message, files too; without one: which there are`,
    ],
    takes: 'own flags',
  },
  approve: {
    usage: [
      `  halting approve|deny SESSION TOOL_USE_ID
                                answers a call that waits; --resume SESSION goes on then`,
    ],
    takes: 'own flags',
  },
  deny: {
    usage: [
      `  halting approve|deny SESSION TOOL_USE_ID
                                answers a call that waits; --resume SESSION goes on then`,
    ],
    takes: 'own flags',
  },
  why: {
    usage: [
      `  halting why [SESSION]         why a session stopped, where its turns, tokens, dollars and time went, and how to continue it`,
    ],
    takes: 'own flags',
    readsRecords: true,
  },
  replay: {
    usage: [`  halting replay [SESSION]      what happened in a session, one line per step; asks no model`],
    takes: 'own flags',
    readsRecords: true,
  },
  'what-if': {
    usage: [
      `  halting what-if [SESSION|FOLDER …] --max-turns N …
                                where other limits would have stopped sessions, and what that saves and loses;
                                also for sessions of Claude Code and Codex: all of them with --claude-code and --codex`,
    ],
    takes: 'own flags',
  },
  report: {
    usage: [
      `  halting report [FOLDER]       what sessions cost, how they ended, which limits saved money and which lost work, which tools
                                fail; of the last week, or with --since 30d; as a page with --format html --output week.html`,
    ],
    takes: 'own flags',
    readsRecords: true,
  },
  inspect: {
    usage: [
      `  halting inspect [SESSION|FOLDER …] [--open]
                                a web page about sessions, for a browser on this machine: where turns, tokens and money went;
                                with --output FILE one session as a file`,
    ],
    takes: 'own flags',
    readsRecords: true,
  },
  budget: {
    usage: [
      `  halting budget [settle ID --usd X]
                                what is left of standing budgets, and when they reset; settle corrects a charge`,
    ],
    takes: 'flags of runs',
  },
  config: {
    usage: [
      `  halting config                which settings are in force, where each comes from, what does not count and why`,
    ],
    takes: 'flags of runs',
  },
  trust: {
    usage: [
      `  halting trust [FOLDER]        what a folder's settings would run and loosen, and have it count; --list, --revoke`,
    ],
    takes: 'own flags',
  },
  mcp: {
    usage: [
      `  halting mcp list|get|add|add-json|remove
                                servers (MCP) whose tools sessions here have; halting mcp --help tells more`,
    ],
    takes: 'flags of runs',
  },
  memory: {
    usage: [
      `  halting memory [show TOPIC|ID | forget ID … | dream [undo]]
                                notes of earlier sessions in this folder; all of one, without some, put in order by a model`,
    ],
    takes: 'flags of runs',
  },
  permissions: {
    usage: [
      `  halting permissions COMMAND   what would become of a command of bash: part by part, and by which rule; runs nothing`,
    ],
    takes: 'flags of runs',
  },
  models: {
    usage: [`  halting models [PART]         the models that are known: windows, prices, where a key is found`],
    takes: 'own flags',
  },
  setup: {
    usage: [
      `  halting setup [--model NAME]  finds keys, models on this machine and settings of other agents, and writes your settings
                                after showing them; --yes writes without a question, --dry-run only shows`,
    ],
    takes: 'flags of runs',
  },
  doctor: {
    usage: [`  halting doctor [flags]        whether a run can begin, and what to do when it cannot`],
    takes: 'flags of runs',
  },
  init: {
    usage: [
      `  halting init                  writes an AGENTS.md for this folder from what lies in it; never over one that is there`,
    ],
    takes: 'flags of runs',
  },
  demo: {
    usage: [`  halting demo [--keep]         watch it fix a bug, with a scripted model: no key, no network`],
    takes: 'own flags',
  },
} as const

/** What the program does beside answering a prompt, each in a word. */
export type Command = keyof typeof rows

/** One row a command, in the order of the help: its usage, help, refusals and the guess at a slip follow from it. */
export const commandTable: { readonly [name in Command]: CommandRow } = rows
