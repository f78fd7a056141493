import { analyseShell, type SimpleCommand } from './analysis.ts'
import type { Effect } from './effects.ts'
import { effectsOfCommand, isReadOnlyAnalysis } from './read-only.ts'
import { formsOf } from './wrappers.ts'
import type { ShellWord } from './words.ts'
import { definesWhatItRuns } from './shell-texts.ts'

/** A word of a command line. */
export interface OutlineWord {
  /** The value of the word; for a pattern, the pattern; for a word that only the shell knows, its source. */
  readonly text: string
  /** Whether the value is known, is a pattern, or is known only to the shell. */
  readonly kind: 'literal' | 'pattern' | 'unknown'
}

/** One command of a line, without wrappers such as `timeout`. */
export interface OutlinedCommand {
  /** The words, the name first. Empty for assignments and redirects alone. */
  readonly words: readonly OutlineWord[]
  /** Whether it reads from a pipe, a file or a text. */
  readonly hasInput: boolean
  /** Folders whose files it shows completely. */
  readonly readsTrees: readonly OutlineWord[]
  /** Whether it shows content of files in a git repository. */
  readonly showsHistory: boolean
}

/** The content of a command line, to determine what its output may show. It does not decide what may run. */
export interface CommandOutline {
  /** Every command in it, at any depth. */
  readonly commands: readonly OutlinedCommand[]
  /** Files that it reads by a redirect. */
  readonly readsFrom: readonly OutlineWord[]
  /** Files that it is known to write. */
  readonly writes: readonly OutlineWord[]
  /** Why the line is not fully understood; undefined if it is. */
  readonly unclear: string | undefined
  /** Whether the whole line is known to be read-only. */
  readonly isReadOnly: boolean
}

/** Reads a command line without running it. Accesses no file. */
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
  /** The words in order; undefined for one that only the shell knows, such as a variable. Empty for an assignment or a redirect. */
  readonly words: readonly (string | undefined)[]
  /** The command without wrappers such as `timeout 60` and `nice`; equal to `words` without any. */
  readonly inner: readonly (string | undefined)[]
}

/** The commands of a line, in the order of the text. */
export interface PlainLine {
  /** The commands, each with its words. */
  readonly commands: readonly PlainWords[]
  /** Whether every command that bash would run is included, and no function replaces the name of a command. */
  readonly isCertain: boolean
}

/** The programs that a command line names, to find them or the files that they use. It does not permit anything. */
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
