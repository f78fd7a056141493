import { analyseShell, type SimpleCommand } from './analysis.ts'
import type { Effect } from './effects.ts'
import { effectsOfCommand, isReadOnlyAnalysis } from './read-only.ts'
import { formsOf } from './wrappers.ts'
import type { ShellWord } from './words.ts'
import { definesWhatItRuns } from './shell-texts.ts'

/** A word of a command line. */
export interface OutlineWord {
  /** Its value; of a pattern the pattern, of what only the shell knows its source. */
  readonly text: string
  /** Whether its value is known, is a pattern, or is known only to the shell. */
  readonly kind: 'literal' | 'pattern' | 'unknown'
}

/** One command of a line, with programs that only run it, such as `timeout`, taken off. */
export interface OutlinedCommand {
  /** The name first. Empty for assignments and redirects alone. */
  readonly words: readonly OutlineWord[]
  /** Something is given to it to read: a pipe, a file or a text. */
  readonly hasInput: boolean
  /** Folders of which it shows the content of all files. */
  readonly readsTrees: readonly OutlineWord[]
  /** It shows the content of files of a git repository. */
  readonly showsHistory: boolean
}

/** What stands in a command line: for those who ask what its output may show. Nothing is decided by it about what may run. */
export interface CommandOutline {
  /** Every command in it, however deep. */
  readonly commands: readonly OutlinedCommand[]
  /** Files that it reads by a redirect. */
  readonly readsFrom: readonly OutlineWord[]
  /** Files that it is known to write. */
  readonly writes: readonly OutlineWord[]
  /** Why it is not understood in full; undefined where it is. */
  readonly unclear: string | undefined
  /** Whether all of it is known only to read. */
  readonly isReadOnly: boolean
}

/** Reads a command line without running it. Touches no file. */
export function outlineOf(command: string): CommandOutline {
  const analysis = analyseShell(command)
  const { commands, redirects, opaque, features } = analysis
  const writes: ShellWord[] = redirects.flatMap(({ direction, target }) => (direction === 'out' ? [target] : []))
  const outlined: OutlinedCommand[] = []
  for (const each of commands) {
    const effects = effectsOfCommand(each)
    writes.push(...wordsOf(effects, ['write', 'write tree', 'relocate']))
    outlined.push(outlinedCommand(each, effects))
  }
  const [why] = opaque
  return {
    commands: outlined,
    readsFrom: redirects.flatMap(({ direction, target }) => (direction === 'in' ? [outlineWord(target)] : [])),
    writes: writes.map(outlineWord),
    unclear: why ?? (features.has('function') || features.has('coproc') ? definesWhatItRuns : undefined),
    isReadOnly: isReadOnlyAnalysis(analysis),
  }
}

function outlinedCommand({ words, hasInput }: SimpleCommand, effects: readonly Effect[]): OutlinedCommand {
  return {
    words: (formsOf(words).at(-1) ?? words).map(outlineWord),
    hasInput,
    readsTrees: wordsOf(effects, ['read tree', 'read through links']).map(outlineWord),
    showsHistory: effects.some((effect) => effect.kind === 'git' && effect.history),
  }
}

function wordsOf(effects: readonly Effect[], kinds: readonly Effect['kind'][]): readonly ShellWord[] {
  return effects.flatMap((effect) => ('word' in effect && kinds.includes(effect.kind) ? [effect.word] : []))
}

function outlineWord({ kind, value, source }: ShellWord): OutlineWord {
  if (kind === 'literal') return { text: value, kind }
  return kind === 'glob' ? { text: value, kind: 'pattern' } : { text: source, kind: 'unknown' }
}

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
