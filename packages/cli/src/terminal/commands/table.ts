import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { helpCommand } from './help-command.ts'
import { lookCommands } from './look-commands.ts'
import { sessionCommands } from './session-commands.ts'
import { settingCommands } from './setting-commands.ts'
import { shownCommands } from './shown-commands.ts'
import { toldCommands } from './told-commands.ts'

/** The commands of the program, in the order in which they are listed. */
const names = [
  'help',
  'why',
  'limits',
  'cost',
  'context',
  'compact',
  'clear',
  'resume',
  'fork',
  'rewind',
  'model',
  'mode',
  'permissions',
  'diff',
  'todos',
  'tasks',
  'transcript',
  'history',
  'export',
  'copy',
  'theme',
  'memory',
  'mcp',
  'hooks',
  'quit',
] as const

export type CommandName = (typeof names)[number]

const table: { readonly [name in CommandName]: Command } = {
  help: helpCommand(() => listedCommands),
  ...shownCommands,
  ...toldCommands,
  ...lookCommands,
  ...sessionCommands,
  ...settingCommands,
}

/** What people know it as elsewhere. */
const otherNames: { readonly [name: string]: CommandName } = { exit: 'quit', new: 'clear' }

export const commandNames: readonly string[] = [...names, ...Object.keys(otherNames)]

export const listedCommands: readonly { readonly name: CommandName; readonly command: Command }[] = names.map(
  (name) => ({ name, command: table[name] }),
)

/** Runs the command of that name; what goes wrong is told. */
export function runCommand(app: AppContext, name: string, argument = ''): void {
  const known = names.find((each) => each === name) ?? otherNames[name]
  if (known === undefined) return
  void (async () => table[known].run(app, argument))().catch((thrown: unknown) => app.fail(thrown))
}
