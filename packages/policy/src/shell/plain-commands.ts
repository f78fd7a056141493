import { analyseShell } from './analysis.ts'
import { formsOf } from './wrappers.ts'

/** A simple command of a command line, as far as it is known before it runs. */
export interface PlainWords {
  /** The words in order; undefined for one that only the shell knows, such as a variable. Without any: an assignment or a redirect. */
  readonly words: readonly (string | undefined)[]
  /** The command inside wrappers such as `timeout 60` and `nice`; the same as `words` without any. */
  readonly inner: readonly (string | undefined)[]
}

/** The commands of a line in the order in which they are written. */
export interface PlainLine {
  /** The commands, each with its words. */
  readonly commands: readonly PlainWords[]
  /** Nothing that bash would run is missing, and no function replaces the name of a command. */
  readonly isCertain: boolean
}

/** Which programs a command line names, for whoever has to find them or the files behind them. It permits nothing. */
export function plainCommands(command: string): PlainLine {
  const { commands, opaque, features } = analyseShell(command)
  return {
    commands: commands.map(({ words }) => ({
      words: words.map(textOf),
      inner: (formsOf(words).at(-1) ?? words).map(textOf),
    })),
    isCertain: opaque.length === 0 && !features.has('function'),
  }
}

function textOf({ kind, value }: { readonly kind: string; readonly value: string }): string | undefined {
  return kind === 'literal' ? value : undefined
}
