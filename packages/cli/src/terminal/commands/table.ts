import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { goalCommands, loopCommand } from './goal-commands.ts'
import { helpCommand } from './help-command.ts'
import { viewCommands } from './view-commands.ts'
import { sessionCommands } from './session-commands.ts'
import { settingCommands } from './setting-commands.ts'
import { statusCommands } from './status-commands.ts'
import { cliCommands } from './cli-commands.ts'

/** The built-in commands, in the order of the list. */
const names = [
  'help',
  'why',
  'until',
  'goal',
  'loop',
  'limits',
  'cost',
  'context',
  'compact',
  'clear',
  'resume',
  'fork',
  'rewind',
  'retry',
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
  'grade',
  'theme',
  'memory',
  'mcp',
  'hooks',
  'quit',
] as const

export type CommandName = (typeof names)[number]

const table: { readonly [name in CommandName]: Command } = {
  help: helpCommand((app) => listedCommands(app.cluster)),
  ...statusCommands,
  ...cliCommands,
  ...viewCommands,
  ...sessionCommands,
  ...settingCommands,
  ...goalCommands,
  loop: loopCommand,
}

/** Names used by other programs. */
const aliases: { readonly [name: string]: CommandName } = { exit: 'quit', new: 'clear' }

export const commandNames: readonly string[] = [...names, ...Object.keys(aliases)]

/** The commands for sessions of this machine, or on a cluster. */
export function listedCommands(
  cluster: AppContext['cluster'],
): readonly { readonly name: CommandName; readonly command: Command }[] {
  const available = cluster === undefined ? names : names.filter((name) => table[name].needs === undefined)
  return available.map((name) => ({ name, command: table[name] }))
}

/** Why a command does not work on a cluster. */
const unavailableReasons = {
  files: 'the files of this session are on its worker.',
  settings: 'this session has the settings of its worker.',
  record: 'the record of this session is on the cluster.',
} satisfies Record<NonNullable<Command['needs']>, string>

/** Runs a command by name; errors are shown. */
export function runCommand(app: AppContext, name: string, argument = ''): void {
  const known = names.find((each) => each === name) ?? aliases[name]
  if (known === undefined) return
  const { needs } = table[known]
  if (needs !== undefined && app.cluster !== undefined)
    return app.note(`/${known} works only in sessions on this machine: ${unavailableReasons[needs]}`)
  void (async () => table[known].run(app, argument))().catch((thrown: unknown) => app.fail(thrown))
}
