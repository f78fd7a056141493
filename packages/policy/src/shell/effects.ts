import type { ShellWord } from './words.ts'

/** Which settings git prints: those of one name, where it fetches from and pushes to, or all. */
export type ShownSettings = { readonly name: string } | 'addresses' | 'all'

/** What a command does, as far as that is known before it runs. Paths are words: where they lead is judged elsewhere. */
export type Effect =
  /** The file's content is shown; `tree` is all that lies below it too, `through links` what links below it lead to as well. */
  | { readonly kind: 'read' | 'read tree' | 'read through links'; readonly word: ShellWord }
  /** Names and attributes, no content. */
  | { readonly kind: 'list'; readonly word: ShellWord }
  | { readonly kind: 'write' | 'write tree'; readonly word: ShellWord }
  /** It comes to another place as it is: links in it that count from where they lie then lead elsewhere. */
  | { readonly kind: 'relocate'; readonly word: ShellWord }
  /** A git repository is used from a folder; `history` when content of tracked files is shown. */
  | {
      readonly kind: 'git'
      readonly folder: ShellWord
      readonly history: boolean
      readonly entersSubmodules: boolean
      /** Files of the work tree are opened by the paths of the index. */
      readonly readsIndex: boolean
      /** Which settings of git it prints. */
      readonly shows?: ShownSettings
    }
  /** Files of these names, here or in a folder above, may choose which program runs: `by` when they do not name plain versions, `neverBy` whatever they hold. */
  | {
      readonly kind: 'chosen'
      readonly by: readonly string[]
      readonly neverBy: readonly string[]
      readonly outside?: Outside
    }
  /** Harmless in the environment that a line gets of which no part needs a rule, and in no other. */
  | { readonly kind: 'hardened'; readonly why: string }
  /**
   * A program that only reads, with words that only the shell knows: they may be options that make it write or run. Harmless
   * where the kernel confines it to reading.
   */
  | { readonly kind: 'unseen'; readonly why: string }
  /** A program that no grammar describes, or words that the grammar does not. */
  | { readonly kind: 'unknown'; readonly why: string }

/** What a program loads code and settings from: all of it lies outside of the session's folders, where nobody can have written it for the session. */
export interface Outside {
  /** Found by PATH. */
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
 * What a value of an option or an operand is. What is `list`ed shows its name and attributes, not its content. A
 * `number` is checked: in another implementation the option takes no value, and the word is an operand or a script.
 */
export type ValueKind = 'text' | 'number' | 'read' | 'read through links' | 'list' | 'write' | 'write tree'

/**
 * What is known of one command. Options stand in one text, separated by spaces: `-abc` are letters without a value,
 * `-n:text` is a letter with one, `--all` takes none, `--lines:text` one, `--color?text` one after `=` or none.
 * An option that does not stand there asks, abbreviations too.
 */
export interface Grammar {
  readonly options: string
  /** Options that the program has and that are asked about: they write, run, or read what nobody sees. */
  readonly refused?: string
  /** What operands are, in order; the last one stands for all that follow. None are taken when it is empty. */
  readonly operands: readonly ValueKind[]
  /** Without operands it works on the folder it is run in. */
  readonly defaultsToFolder?: true
  /** Options that make it read or list whole trees. */
  readonly tree?: readonly string[]
  /** Options with which it follows links that lie in a tree. */
  readonly follows?: readonly string[]
  /** `-5` is a number. */
  readonly numbers?: true
  /** Options stand before the first operand only. */
  readonly optionsFirst?: true
  /** Every implementation reads options behind operands too, whatever POSIXLY_CORRECT says. */
  readonly optionsAnywhere?: true
  /** A letter takes its value from the next word, and what follows it in its own word are further letters. */
  readonly valuesApart?: true
  /** Options and operands are harmless whatever they are: what only the shell knows may stand there. */
  readonly anything?: true
  /** Every word is an operand, also one with a dash. */
  readonly noOptions?: true
  /** Options that say that the first operand, a text, is given in their place. */
  readonly replacesFirst?: readonly string[]
  /** Looks further than options and operands do: effects of its own, or why it is not known. */
  readonly check?: (given: ParsedArguments) => readonly Effect[]
}

/** Options and operands of one command, told apart. */
export interface ParsedArguments {
  readonly options: readonly ParsedOption[]
  readonly operands: readonly ShellWord[]
  /**
   * All words from the first operand on, where an option is among them. BSD programs, and others under POSIXLY_CORRECT,
   * take each of these words for an operand.
   */
  readonly ordered: readonly ShellWord[] | undefined
  /** How many operands stand before `--`; undefined without one. */
  readonly beforeDashes: number | undefined
}

export interface ParsedOption {
  readonly name: string
  readonly value: ShellWord | undefined
  /** An operand stands before it. */
  readonly isLate: boolean
}
