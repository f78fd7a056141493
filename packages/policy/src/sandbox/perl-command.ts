import type { PlainCommand } from './description.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A command with its environment. */
export type CommandWithEnvironment = PlainCommand & { readonly env: Environment }

/** The start of such a command through a launcher. */
export interface LaunchedCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Environment
}

/**
 * Starts a command through a perl program that prepares something and then becomes the command. Its arguments are `words`, one `e…` for each
 * variable that perl itself must not see, `--`, and the command.
 */
export function perlCommand(
  command: CommandWithEnvironment,
  { perl, program, words }: { readonly perl: string; readonly program: string; readonly words: readonly string[] },
): LaunchedCommand {
  const ofPerl = Object.entries(command.env).filter(([name]) => isPerlVariable(name))
  const variables = ofPerl.flatMap(([name, value]) => (value === undefined ? [] : [`e${name}=${value}`]))
  const without = Object.fromEntries(ofPerl.map(([name]) => [name, undefined]))
  return {
    file: perl,
    args: ['-e', program, '--', ...words, ...variables, '--', command.file, ...command.args],
    // Loading another locale takes time, and perl warns about missing ones. The perl programs remove this variable again.
    env: { ...command.env, ...without, LC_ALL: 'C' },
  }
}

/** Whether perl itself must not see a variable of the command. */
export function isPerlVariable(name: string): boolean {
  return name.startsWith('PERL') || name === 'LC_ALL'
}
