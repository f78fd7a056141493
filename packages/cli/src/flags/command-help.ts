import type { Command } from './command-table.ts'
import type { FlagTopic } from './flag-kinds.ts'
import type { FlagName } from './flags.ts'

/** A flag that is not in the flag table, because its command parses its arguments itself. */
interface OwnFlag {
  readonly name: string
  readonly meaning: string
}

/** The help of one command. */
export interface CommandHelp {
  /** Summary for lists of commands: an imperative of at most 42 characters. */
  readonly summary: string
  /** Command lines, without `halting`. */
  readonly usage: readonly string[]
  /** What it does, and what a user should know before calling it. */
  readonly about: string
  readonly examples: readonly string[]
  readonly ownFlags?: readonly OwnFlag[]
  /** Flags of runs that affect it; they are described. */
  readonly flags?: readonly FlagName[]
  /** Topics whose flags affect it; these flags are only named. */
  readonly topics?: readonly FlagTopic[]
}

/** Help of a subcommand, such as `sessions show`. */
export interface PartHelp extends Omit<CommandHelp, 'summary' | 'topics'> {
  /** The flags of its command that it accepts. */
  readonly flags: readonly FlagName[]
}

const scope: OwnFlag = {
  name: '-s, --scope SCOPE',
  meaning: 'local (you, in this folder), project (.mcp.json) or user (you, everywhere) (default: local)',
}
const clientFlags: readonly OwnFlag[] = [
  { name: '--client-id ID', meaning: 'ID under which halting is registered at the server, for login' },
  { name: '--callback-port PORT', meaning: 'Port of the callback address that is registered there' },
]
const json: OwnFlag = { name: '--json', meaning: 'Print JSON' }
const trust: OwnFlag = { name: '--trust', meaning: 'Trust this folder for this call: its servers apply' }
const mcpAddFlags: readonly OwnFlag[] = [
  scope,
  { name: '-t, --transport TYPE', meaning: 'stdio, http or sse (default: http for a URL, stdio for a command)' },
  { name: '-e, --env NAME=VALUE', meaning: 'Set an environment variable of the server' },
  { name: '-H, --header "NAME: VALUE"', meaning: 'Send a header with each request to a URL' },
  ...clientFlags,
]

const ofRuns: readonly FlagTopic[] = ['model', 'sessions', 'limits', 'context', 'goals', 'tools']
const ofWorkers: readonly FlagTopic[] = ['model', 'limits', 'context', 'goals', 'tools']

/** Help of each command. */
export const commandHelp: { readonly [name in Command]: CommandHelp } = {
  acp: {
    summary: 'Serve an editor (Agent Client Protocol)',
    usage: ['acp [flags]', 'acp setup'],
    about:
      'Serves an editor over stdin and stdout (Agent Client Protocol). The editor starts this command. With setup, it sets up a key in a terminal, like halting setup.',
    examples: ['halting acp --model claude-sonnet-5-5'],
    topics: [...ofRuns, 'cluster'],
  },
  approve: {
    summary: 'Approve a pending tool call',
    usage: ['approve SESSION TOOL_USE_ID'],
    about: 'Approves a pending tool call. Nothing runs until you continue with halting -p --resume SESSION.',
    examples: ['halting approve 3f2a8c1e toolu_01'],
  },
  budget: {
    summary: 'Show standing budgets and their resets',
    usage: ['budget', 'budget settle ID --usd X'],
    about: 'Shows what is left of the standing budgets in your settings, and when they reset.',
    examples: ['halting budget', 'halting budget settle 4f1c --usd 0.20'],
    flags: ['settings', 'settingSources', 'trust'],
  },
  check: {
    summary: 'Show upper bounds for a run (runs nothing)',
    usage: ['check [flags]'],
    about: 'Shows upper bounds and the likely cost of a run with these flags. Does not start the run.',
    examples: ['halting check --max-turns 20 --max-budget-usd 0.50'],
    topics: ofRuns,
  },
  cluster: {
    summary: 'Try a cluster here, or set a tenant budget',
    usage: ['cluster dev ["PROMPT"] [flags]', 'cluster budget TENANT --cluster URL [--max-budget-usd X]'],
    about:
      'Starts a cluster of one node on this machine (dev), or shows and sets the shared budget of a tenant (budget).',
    examples: ['halting cluster dev', 'halting cluster budget acme --cluster http://127.0.0.1:8080'],
    topics: ofWorkers,
  },
  completion: {
    summary: 'Print a completion script for your shell',
    usage: ['completion bash|zsh|fish'],
    about:
      'Prints a script that completes commands, flags and their values in this shell. Load it when a shell starts, as the examples do.',
    examples: [
      'eval "$(halting completion bash)"',
      'eval "$(halting completion zsh)"',
      'halting completion fish > ~/.config/fish/completions/halting.fish',
    ],
  },
  config: {
    summary: 'Show effective settings and their sources',
    usage: ['config [flags]'],
    about: 'Shows effective settings, where each comes from, and what is ignored and why.',
    examples: ['halting config', 'halting config --json'],
    flags: ['sessionStore'],
    topics: ofWorkers,
  },
  context: {
    summary: 'Show what fills the context window',
    usage: ['context ["PROMPT"] [flags]'],
    about:
      'Shows what the next request puts into the context window, and what happens when it is full. Makes no request.',
    examples: ['halting context "Fix the build."'],
    topics: ofRuns,
  },
  demo: {
    summary: 'Watch a scripted model fix a bug (no key)',
    usage: ['demo [--keep]'],
    about: 'Shows a run that fixes a bug, with a scripted model. Needs no key and no network.',
    examples: ['halting demo --keep'],
  },
  deny: {
    summary: 'Deny a pending tool call',
    usage: ['deny SESSION TOOL_USE_ID [--message TEXT]'],
    about: 'Denies a pending tool call. Nothing runs until you continue with halting -p --resume SESSION.',
    examples: ['halting deny 3f2a8c1e toolu_01 --message "Do not touch the schema."'],
  },
  doctor: {
    summary: 'Check whether a run can start here',
    usage: ['doctor [flags]'],
    about:
      'Checks whether a run can start here (keys, service, settings, programs), and says how to fix problems. With --cluster, checks a cluster instead: addresses, token, workers, clock.',
    examples: ['halting doctor', 'halting doctor --model gpt-5', 'halting doctor --cluster http://127.0.0.1:8080'],
    flags: ['sessionStore'],
    topics: ofWorkers,
  },
  grade: {
    summary: 'Say whether a run was good or bad',
    usage: ['grade [SESSION] [good|bad|none] [--run N]'],
    about:
      'Stores whether the newest run of a session did what it was to do (none removes that). Without a grade, shows how each run came out, and who says so. Limits are calibrated on good runs (halting what-if --suggest --may-lose). Also takes sessions of Claude Code and Codex.',
    examples: ['halting grade good', 'halting grade 3f2a8c1e bad --run 2'],
  },
  help: {
    summary: 'Show help of a command or of all flags',
    usage: ['help [COMMAND]', 'help flags [TOPIC]'],
    about: 'Shows the help of a command, of halting -p (help -p), of all flags, or of the flags of one topic.',
    examples: ['halting help sessions show', 'halting help flags limits'],
  },
  init: {
    summary: 'Write an AGENTS.md for this folder',
    usage: ['init'],
    about: 'Writes an AGENTS.md for this folder, based on its files. Never overwrites an existing one; asks no model.',
    examples: ['halting init'],
  },
  inspect: {
    summary: 'Inspect sessions on a local web page',
    usage: ['inspect [SESSION|FOLDER …] [--open]', 'inspect --output FILE [SESSION]'],
    about:
      'Serves a web page to a browser on this machine: what happened in each session, and where turns, tokens and dollars went. With --output, writes one session as a page.',
    examples: ['halting inspect --open', 'halting inspect --output it.html'],
  },
  loop: {
    summary: 'Repeat a prompt under one budget',
    usage: ['loop "PROMPT" --every TIME [--rounds N | --for TIME | --until CMD | --max-budget-usd X]'],
    about:
      'Repeats a prompt in one session under one budget. Refuses to start without a bound. With --continue, continues a loop.',
    examples: ['halting loop "Is the build green?" --every 10m --for 8h'],
    topics: ['output', ...ofRuns],
  },
  mcp: {
    summary: 'Manage MCP servers',
    usage: ['mcp list|get|add|add-json|remove|login|logout'],
    about: 'Lists, checks, adds and removes the MCP servers of sessions in this folder, and signs in to them.',
    examples: ['halting mcp add files -- npx -y @modelcontextprotocol/server-filesystem .', 'halting mcp list'],
    ownFlags: [
      ...mcpAddFlags,
      { name: '--no-browser', meaning: 'Print the address of a login instead of opening it' },
      json,
      trust,
    ],
  },
  memory: {
    summary: 'Show or delete notes of earlier sessions',
    usage: ['memory [list]', 'memory show TOPIC|ID', 'memory forget ID …', 'memory dream [undo]'],
    about: 'Shows, deletes or consolidates the notes of earlier sessions in this folder. Only dream asks a model.',
    examples: ['halting memory show build'],
    flags: ['settings', 'settingSources', 'trust'],
    topics: ['model', 'limits'],
  },
  models: {
    summary: 'List known models, prices and keys',
    usage: ['models [PART]'],
    about: 'Lists known models with context windows, prices and where a key was found; with PART, only matching names.',
    examples: ['halting models gemini'],
  },
  permissions: {
    summary: 'Check whether a command would be allowed',
    usage: ['permissions "COMMAND" [flags]'],
    about:
      'Checks whether a Bash command would be allowed, part by part, and by which rule. Does not run it. The exit code is 0 when it would run without asking, else 1.',
    examples: ['halting permissions "npm test && rm x"'],
    flags: ['settings', 'settingSources'],
    topics: ['tools'],
  },
  replay: {
    summary: 'List the steps of a session',
    usage: ['replay [SESSION]'],
    about:
      'Prints what happened in a session, one line per step (default: the newest session of this folder). Asks no model.',
    examples: ['halting replay'],
  },
  report: {
    summary: 'Summarize cost and endings of sessions',
    usage: ['report [FOLDER]'],
    about:
      'Summarizes what sessions cost, how they ended, which limits saved money or lost work, and which tools fail. Without FOLDER and dates, covers the last 7 days of this folder.',
    examples: ['halting report --since 30d', 'halting report --format html --output week.html'],
  },
  rewind: {
    summary: 'Rewind a session to before a message',
    usage: ['rewind SESSION [MESSAGE]'],
    about:
      'Rewinds a session to before a message, including files. Without a number, lists the messages. Requires --yes, or --dry-run to show the changes.',
    examples: ['halting rewind 3f2a8c1e', 'halting rewind 3f2a8c1e 4 --dry-run'],
  },
  serve: {
    summary: 'Run a worker of a cluster',
    usage: ['serve --restate URL [flags]'],
    about: 'Runs sessions of a cluster on this machine until it is stopped; each session takes these flags.',
    examples: ['halting serve --restate http://127.0.0.1:8080 --register'],
    flags: ['tenant'],
    topics: ofWorkers,
  },
  sessions: {
    summary: 'List, show, search, copy, delete sessions',
    usage: [
      'sessions [list]',
      'sessions show ID',
      'sessions search TEXT',
      'sessions export SESSION --format html|markdown|jsonl [--output FILE]',
      'sessions copy [ID] --to sqlite:PATH|postgres://…|files',
      'sessions delete ID --yes',
      'sessions release ID --cluster URL',
      'sessions [list] --cluster URL [--state S] [--tenant NAME] [--older-than AGE] [--limit N]',
      'sessions export|delete ID --cluster URL',
    ],
    about:
      "Lists this folder's sessions, newest first, or shows, searches, exports, copies or deletes them. With --cluster, lists 50 sessions of a cluster: those that are paused first, then those that wait for a person, then the others by their last change.",
    examples: [
      'halting sessions',
      'halting sessions --cluster http://127.0.0.1:8080 --state waiting',
      'halting sessions export 3f2a8c1e --format html --output it.html',
    ],
  },
  setup: {
    summary: 'Find keys and models, write your settings',
    usage: ['setup [--model NAME] [flags]'],
    about:
      'Finds API keys, models on this machine and settings of other agents. Shows the new settings, and writes them after you confirm.',
    examples: ['halting setup', 'halting setup --model gpt-5 --dry-run'],
    flags: ['model', 'settings', 'settingSources', 'trust'],
  },
  trust: {
    summary: "Review and trust a folder's settings",
    usage: ['trust [FOLDER]', 'trust --list', 'trust [FOLDER] --revoke'],
    about:
      "Shows a folder's hooks, allow rules and servers, and trusts the folder after you confirm (default: this folder).",
    examples: ['halting trust', 'halting trust --list'],
  },
  undo: {
    summary: 'Revert the file changes of the last run',
    usage: ['undo [SESSION]'],
    about:
      'Reverts the file changes of the last run. Does not need git. Requires --yes, or --dry-run to show the changes.',
    examples: ['halting undo --dry-run', 'halting undo --yes'],
  },
  'what-if': {
    summary: 'Show what other limits would have changed',
    usage: ['what-if [SESSION|FOLDER …] --max-turns N …'],
    about:
      'Shows where other limits would have stopped stored sessions, and what that saves and loses. Also reads sessions of Claude Code and Codex.',
    examples: [
      'halting what-if --max-turns 20 --no-progress',
      'halting what-if --claude-code --suggest',
      'halting what-if --suggest --may-lose 2% --save',
    ],
  },
  why: {
    summary: 'Explain why a session stopped',
    usage: ['why [SESSION]'],
    about:
      'Explains why a session stopped, where its turns, tokens, dollars and time went, and how to continue it (default: the newest session of this folder).',
    examples: ['halting why', 'halting why --json'],
  },
}

/** Help of subcommands. */
export const partHelp: { readonly [name: string]: PartHelp } = {
  'budget settle': {
    usage: ['budget settle ID --usd X'],
    about: 'Corrects a charge whose real cost was not known. halting budget lists these charges with their IDs.',
    flags: ['usd', 'json'],
    examples: ['halting budget settle 4f1c --usd 0.20'],
  },
  'cluster budget': {
    usage: ['cluster budget TENANT --cluster URL [--max-budget-usd X]'],
    about: 'Shows what the sessions of a tenant have spent and may spend together. --max-budget-usd sets the limit.',
    flags: ['cluster', 'maxBudgetUsd', 'json'],
    examples: ['halting cluster budget acme --cluster http://127.0.0.1:8080 --max-budget-usd 50'],
  },
  'cluster dev': {
    usage: ['cluster dev ["PROMPT"] [flags]'],
    about:
      'Starts a server, a worker and a session on this machine, until Ctrl-C. The model is scripted unless --model names one. Takes the flags of runs, too.',
    flags: [
      'server',
      'yes',
      'model',
      'port',
      'workspaces',
      'workspaceTemplate',
      'allowedTenants',
      'maxConcurrentRequests',
      'requestsPerMinute',
      'tokensPerMinute',
    ],
    examples: ['halting cluster dev', 'halting cluster dev "List the files." --model claude-sonnet-5-5'],
  },
  'mcp add': {
    usage: ['mcp add [flags] NAME COMMAND [ARGUMENT …]', 'mcp add [flags] NAME URL'],
    about:
      'Adds an MCP server that is started by a command, or reached at a URL. Put arguments of the server after --.',
    flags: [],
    ownFlags: mcpAddFlags,
    examples: [
      'halting mcp add files -- npx -y @modelcontextprotocol/server-filesystem .',
      'halting mcp add docs https://example.com/mcp --header "Authorization: Bearer …"',
    ],
  },
  'mcp add-json': {
    usage: ['mcp add-json [--scope SCOPE] NAME JSON'],
    about: 'Adds an MCP server as JSON, in the form of .mcp.json.',
    flags: [],
    ownFlags: [scope],
    examples: [`halting mcp add-json files '{"command": "npx", "args": ["-y", "a-server"]}'`],
  },
  'mcp get': {
    usage: ['mcp get NAME'],
    about: 'Shows one MCP server, and whether it answers. The exit code is 0 when it is connected.',
    flags: [],
    ownFlags: [json, trust],
    examples: ['halting mcp get files'],
  },
  'mcp list': {
    usage: ['mcp list'],
    about: 'Lists the MCP servers of this folder, and whether they answer.',
    flags: [],
    ownFlags: [json, trust],
    examples: ['halting mcp list'],
  },
  'mcp login': {
    usage: ['mcp login NAME'],
    about:
      'Signs in to a server with a URL, in a browser on this machine. The environment variable MCP_CLIENT_SECRET is the secret of --client-id.',
    flags: [],
    ownFlags: [{ name: '--no-browser', meaning: 'Print the address instead of opening it' }, ...clientFlags, trust],
    examples: ['halting mcp login docs'],
  },
  'mcp logout': {
    usage: ['mcp logout NAME'],
    about: 'Removes the stored login of a server.',
    flags: [],
    ownFlags: [trust],
    examples: ['halting mcp logout docs'],
  },
  'mcp remove': {
    usage: ['mcp remove NAME'],
    about: 'Removes an MCP server from the settings.',
    flags: [],
    ownFlags: [{ ...scope, meaning: 'Scope to remove it from, if it is in several: local, project or user' }],
    examples: ['halting mcp remove files'],
  },
  'memory dream': {
    usage: ['memory dream [undo]'],
    about: 'Lets a model merge, shorten and drop notes. With undo, restores the notes from before the last dream.',
    flags: ['model', 'json'],
    examples: ['halting memory dream', 'halting memory dream undo'],
  },
  'memory forget': {
    usage: ['memory forget ID …'],
    about: 'Deletes notes by their IDs.',
    flags: ['json'],
    examples: ['halting memory forget 9c1e07ab'],
  },
  'memory list': {
    usage: ['memory list'],
    about: 'Lists the topics and notes of this folder.',
    flags: ['json'],
    examples: ['halting memory list'],
  },
  'memory show': {
    usage: ['memory show TOPIC|ID'],
    about: 'Shows one topic with its notes, or one note.',
    flags: ['json'],
    examples: ['halting memory show build'],
  },
  'sessions copy': {
    usage: ['sessions copy [ID] --to STORE'],
    about:
      'Copies a session, or all of this folder, from where sessions are to a store or to files. The originals stay; sessions that are there already are skipped.',
    flags: ['to', 'all', 'sessionStore', 'json'],
    examples: ['halting sessions copy --all --to sqlite:~/halting.db'],
  },
  'sessions delete': {
    usage: ['sessions delete ID --yes'],
    about: 'Deletes a session permanently. Requires --yes.',
    flags: ['yes', 'sessionStore'],
    examples: ['halting sessions delete 3f2a8c1e --yes'],
  },
  'sessions export': {
    usage: ['sessions export SESSION --format html|markdown|jsonl [--output FILE]'],
    about: 'Writes a session as one file, to read or to pass on (default: to stdout).',
    flags: ['format', 'output', 'force', 'sessionStore'],
    examples: ['halting sessions export 3f2a8c1e --format html --output it.html'],
  },
  'sessions list': {
    usage: ['sessions list'],
    about: "Lists this folder's sessions, newest first.",
    flags: ['all', 'sessionStore', 'cluster', 'admin', 'json'],
    examples: ['halting sessions list --all'],
  },
  'sessions release': {
    usage: ['sessions release ID --cluster URL'],
    about:
      'Tries a session of a cluster again that was set aside because its work ended three workers. halting sessions --cluster URL lists these.',
    flags: ['cluster', 'admin'],
    examples: ['halting sessions release 3f2a8c1e --cluster http://127.0.0.1:8080'],
  },
  'sessions search': {
    usage: ['sessions search TEXT'],
    about: 'Lists sessions whose messages contain this text. The exit code is 1 when there are none.',
    flags: ['all', 'sessionStore', 'json'],
    examples: ['halting sessions search "flaky test"'],
  },
  'sessions show': {
    usage: ['sessions show ID'],
    about: 'Prints the conversation of a session.',
    flags: ['sessionStore', 'json'],
    examples: ['halting sessions show 3f2a8c1e'],
  },
}

/** Help of `halting -p`. */
export const promptHelp: Omit<CommandHelp, 'summary'> = {
  usage: ['-p "PROMPT" [flags]'],
  about: 'Answers one prompt and exits. Piped input is appended to the prompt. The exit code says how the run ended.',
  examples: [
    'halting -p "Fix the tests." --until "npm test" --max-budget-usd 2',
    'git diff | halting -p "Review this." --output-format json',
  ],
}
