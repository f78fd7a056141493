import type { PlainCommand } from './description.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A command to be started with an environment. */
export type CommandWithEnvironment = PlainCommand & { readonly env: Environment }

/** How such a command is started by a launcher. */
export interface LaunchedCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Environment
}

/**
 * Starts a command by a program in perl that prepares something and then becomes the command. Its arguments are the given
 * words, one word `e…` for each variable that perl itself must not see, `--`, and the command.
 */
export function perlCommand(
  command: CommandWithEnvironment,
  { perl, program, words }: { readonly perl: string; readonly program: string; readonly words: readonly string[] },
): LaunchedCommand {
  const ofPerl = Object.entries(command.env).filter(([name]) => name.startsWith('PERL'))
  const variables = ofPerl.flatMap(([name, value]) => (value === undefined ? [] : [`e${name}=${value}`]))
  const without = Object.fromEntries(ofPerl.map(([name]) => [name, undefined]))
  return {
    file: perl,
    args: ['-e', program, '--', ...words, ...variables, '--', command.file, ...command.args],
    // Without it perl complains of languages that the system does not have. It is taken away again before the command starts.
    env: { ...command.env, ...without, PERL_BADLANG: '0' },
  }
}
