import type { ShellWord } from './words.ts'

/** Which settings git prints: those of one name, the URLs of remotes, or all. */
export type ShownSettings = { readonly name: string } | 'addresses' | 'all'

/** What a command does, as far as that is known before it runs. Paths are words, which are resolved elsewhere. */
export type Effect =
  /** Content of the file is shown; `tree` includes everything below it, `through links` also the targets of links below it. */
  | { readonly kind: 'read' | 'read tree' | 'read through links'; readonly word: ShellWord }
  /** Names and attributes are shown, but no content. */
  | { readonly kind: 'list'; readonly word: ShellWord }
  | { readonly kind: 'write' | 'write tree'; readonly word: ShellWord }
  /** The file is moved unchanged, so relative links in it change their target. */
  | { readonly kind: 'relocate'; readonly word: ShellWord }
  /** A git repository is used from a folder; `history`: content of tracked files is shown. */
  | {
      readonly kind: 'git'
      readonly folder: ShellWord
      readonly history: boolean
      readonly entersSubmodules: boolean
      /** Whether it opens files of the work tree by the paths of the index. */
      readonly readsIndex: boolean
      /** Which settings of git it prints. */
      readonly shows?: ShownSettings
    }
  /**
   * Files of these names, here or in a folder above, may select which program runs: files of `by` unless they contain
   * plain versions only, files of `neverBy` in any case.
   */
  | {
      readonly kind: 'chosen'
      readonly by: readonly string[]
      readonly neverBy: readonly string[]
      readonly outside?: Outside
    }
  /** Harmless only in the environment of a line of which no part needs a rule. */
  | { readonly kind: 'hardened'; readonly why: string }
  /**
   * A program that only reads, with words that only the shell knows: they may be options that make it write or run. Harmless if the kernel confines
   * it to reading.
   */
  | { readonly kind: 'unseen'; readonly why: string }
  /** A program that no grammar describes, or arguments that its grammar does not describe. */
  | { readonly kind: 'unknown'; readonly why: string }

/**
 * Where a program loads code and settings from. All of these locations must be outside the session's folders, so that
 * nothing in the session can have written them.
 */
export interface Outside {
  /** Programs found through PATH. */
  readonly programs: readonly string[]
  /** Variables that name files and folders. */
  readonly variables: readonly string[]
}

export function unseenEffect(why: string): readonly Effect[] {
  return [{ kind: 'unseen', why }]
}

export function unknownEffect(why: string): readonly Effect[] {
  return [{ kind: 'unknown', why }]
}

/**
 * What the value of an option or an operand is. For `list`, names and attributes are shown, but no content. A `number` is checked: in another
 * implementation the option may take no value, and the word would be an operand or a script.
 */
export type ValueKind = 'text' | 'number' | 'read' | 'read through links' | 'list' | 'write' | 'write tree'

/**
 * The grammar of one command. Options are a text, separated by spaces: `-abc` are letters without a value, `-n:text` is
 * a letter with one, `--all` takes none, `--lines:text` one, `--color?text` one after `=` or none. Any option that is
 * not listed needs approval, including abbreviations.
 */
export interface Grammar {
  readonly options: string
  /** Options that the program has and that need approval, because they write, run a program, or read unknown files. */
  readonly refused?: string
  /** The operands in order; the last kind applies to all further ones. Empty: no operands are accepted. */
  readonly operands: readonly ValueKind[]
  /** Whether the command works on the current folder if it has no operands. */
  readonly defaultsToFolder?: true
  /** Options that make the command read or list whole trees. */
  readonly tree?: readonly string[]
  /** Options that make the command follow links inside a tree. */
  readonly follows?: readonly string[]
  /** Whether `-5` is a number. */
  readonly numbers?: true
  /** Whether options are recognized before the first operand only. */
  readonly optionsFirst?: true
  /** Every implementation accepts options after operands, independent of POSIXLY_CORRECT. */
  readonly optionsAnywhere?: true
  /** Whether the value of a letter is always the next word; characters after the letter are further letters. */
  readonly valuesApart?: true
  /** Whether any options and operands are harmless, so that words that only the shell knows are accepted too. */
  readonly anything?: true
  /** Whether every word is an operand, even with a leading dash. */
  readonly noOptions?: true
  /** Options that replace the first operand, a text. */
  readonly replacesFirst?: readonly string[]
  /** A further check of options and operands: additional effects, or why the command is unknown. */
  readonly check?: (given: ParsedArguments) => readonly Effect[]
}

/** The options and operands of one command. */
export interface ParsedArguments {
  readonly options: readonly ParsedOption[]
  readonly operands: readonly ShellWord[]
  /**
   * All words from the first operand on, if one of them is an option. BSD programs, and others with POSIXLY_CORRECT, read each of these words as an
   * operand.
   */
  readonly ordered: readonly ShellWord[] | undefined
  /** Number of operands before `--`; undefined without one. */
  readonly beforeDashes: number | undefined
}

export interface ParsedOption {
  readonly name: string
  readonly value: ShellWord | undefined
  /** Whether an operand precedes the option. */
  readonly isLate: boolean
}
