import { UsageError } from '../usage-error.ts'
import { nearest } from './nearest.ts'

/** What the program does beside answering a prompt, each in a word. */
const commands = [
  'acp',
  'approve',
  'check',
  'cluster',
  'config',
  'context',
  'demo',
  'deny',
  'doctor',
  'init',
  'inspect',
  'mcp',
  'memory',
  'models',
  'permissions',
  'replay',
  'report',
  'rewind',
  'serve',
  'sessions',
  'setup',
  'trust',
  'undo',
  'what-if',
  'why',
] as const
export type Command = (typeof commands)[number]

export function isCommand(word: string | undefined): word is Command {
  return commands.some((command) => command === word)
}

const longestWord = 24

/** Words that other programs of this kind have as commands, and what serves here in their place. */
const elsewhere: Readonly<Record<string, string>> = {
  help: 'halting --help',
  version: 'halting --version',
  login: 'set ANTHROPIC_API_KEY; halting setup tells which keys are found',
  auth: 'set ANTHROPIC_API_KEY; halting setup tells which keys are found',
  'setup-token': 'set ANTHROPIC_AUTH_TOKEN; halting doctor tells whether it is found',
  logout: 'unset ANTHROPIC_API_KEY',
  configure: 'halting setup',
  onboard: 'halting setup',
  status: 'halting doctor',
  settings: 'halting config',
  model: 'halting models',
  resume: 'halting --resume, or halting --resume ID -p "PROMPT"',
  continue: 'halting --continue, or halting --continue -p "PROMPT"',
  session: 'halting sessions',
  history: 'halting sessions',
  list: 'halting sessions',
  usage: 'halting report',
  cost: 'halting report',
  stats: 'halting report',
  ui: 'halting inspect',
  dashboard: 'halting inspect',
  compact: 'a run makes room by itself; --autocompact says when',
  exec: 'halting -p "PROMPT"',
  run: 'halting -p "PROMPT"',
  chat: 'halting',
  print: 'halting -p "PROMPT"',
}

/**
 * A single word is no prompt unless `-p` says so: it is a command, or a mistake that must not cost a request.
 * @throws UsageError that names the nearest command.
 */
export function refuseUnknownCommand(word: string): never {
  // A key that was pasted in the wrong place is not repeated.
  if (word.length > longestWord)
    throw new UsageError(`There is no such command. The commands are ${commands.join(', ')}.`)
  const instead = elsewhere[word.toLowerCase()]
  const meant = nearest(word, commands)
  const hint =
    instead === undefined ? (meant === undefined ? '' : ` Did you mean halting ${meant}?`) : ` Instead: ${instead}.`
  throw new UsageError(
    `There is no command "${word}".${hint} The commands are ${commands.join(', ')}; as a prompt it goes behind -p (halting -p "${word}"), or is typed in the conversation that halting opens.`,
  )
}
