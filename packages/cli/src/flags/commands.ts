import { UsageError } from '../usage-error.ts'
import { type Command, commandTable } from './command-table.ts'
import { nearest } from './nearest.ts'

export type { Command } from './command-table.ts'

// The keys of the table are the names of all commands.
const commands = (Object.keys(commandTable) as readonly Command[]).toSorted((one, other) => (one < other ? -1 : 1))

/** The names of all commands, sorted. */
export const commandNames: readonly Command[] = commands

export function isCommand(word: string | undefined): word is Command {
  return commands.some((command) => command === word)
}

/** Reserved for commands of later versions. A script that sends one of these words as a prompt would then change its meaning. */
const reserved: ReadonlySet<string> = new Set([
  'attach',
  'eval',
  'logs',
  'ps',
  'run',
  'stop',
  'test',
  'wait',
  'worktrees',
])

/** Maximum length of a command word. A longer single word may be a key that was pasted in the wrong place. */
const maxWordLength = 24

/** Commands of other coding agents, and what to use instead. */
const commandsElsewhere: Readonly<Record<string, string>> = {
  version: 'halting --version',
  login: 'set ANTHROPIC_API_KEY; halting setup shows which keys it finds',
  auth: 'set ANTHROPIC_API_KEY; halting setup shows which keys it finds',
  'setup-token': 'set ANTHROPIC_AUTH_TOKEN; halting doctor shows whether it finds it',
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
  compact: 'runs compact automatically; --autocompact sets when',
  exec: 'halting -p "PROMPT"',
  chat: 'halting',
  print: 'halting -p "PROMPT"',
}

/**
 * Interprets a single word that is not a command: a prompt, or probably a misspelled command.
 * @throws UsageError for a word that is reserved, that is a command of another program, or that may be a key
 */
export function interpretWord(
  word: string,
): { readonly kind: 'prompt' } | { readonly kind: 'slip'; readonly of: Command } {
  if (word.length > maxWordLength)
    throw new UsageError(
      'A single word this long may be an API key: nothing ran, and nothing was sent. To send it as a prompt, put it after -p.',
    )
  const name = word.toLowerCase()
  if (reserved.has(name)) throw new UsageError(`"${word}" is reserved for a later command. ${asPrompt(word)}`)
  const instead = commandsElsewhere[name]
  if (instead !== undefined)
    throw new UsageError(`There is no command "${word}". Instead: ${instead}. ${asPrompt(word)}`)
  // For a short word, one different letter is a large difference.
  const of = nearest(word, commands, word.length < 5 ? 1 : 2)
  return of === undefined ? { kind: 'prompt' } : { kind: 'slip', of: commandNamed(of) }
}

/** @throws UsageError that names both interpretations */
export function refuseMisspelledCommand(word: string, of: Command): never {
  throw new UsageError(`There is no command "${word}". Did you mean halting ${of}? ${asPrompt(word)}`)
}

function asPrompt(word: string): string {
  return `Nothing ran. To send it as a prompt: halting -p ${word}, or halting -- ${word}.`
}

function commandNamed(name: string): Command {
  const found = commands.find((command) => command === name)
  if (found === undefined) throw new Error(`${name} is not a command.`)
  return found
}
