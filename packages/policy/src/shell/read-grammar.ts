import {
  type Effect,
  type ParsedArguments,
  type ParsedOption,
  type Grammar,
  unknownEffect,
  unseenEffect,
  type ValueKind,
} from './effects.ts'
import type { ShellWord } from './words.ts'
import {
  followsLinksInFolder,
  operandsUnknown,
  optionIsPattern,
  optionNotHarmless,
  optionValueIsPattern,
  optionWithoutValue,
  patternMayBeSeveral,
  takesNumber,
  unknownWordMayBeOption,
  unknownWordMayBeSeveral,
  wordMayBecomeFiles,
} from './shell-texts.ts'

interface Option {
  readonly takes: 'nothing' | 'value' | 'maybe'
  readonly kind: ValueKind
}

const tables = new WeakMap<Grammar, ReadonlyMap<string, Option>>()

/** Every option of the grammar, by its name with dashes. */
export function optionsOf(grammar: Grammar): ReadonlyMap<string, Option> {
  const known = tables.get(grammar)
  if (known !== undefined) return known
  const table = new Map<string, Option>()
  for (const token of grammar.options.split(/\s+/).filter(Boolean)) {
    const [, name = '', mark, kind] = /^(--?[^:?]+)(?:([:?])(.+))?$/.exec(token) ?? []
    // This cast is safe: the text of a grammar contains only these kinds.
    const option: Option = {
      takes: mark === undefined ? 'nothing' : mark === ':' ? 'value' : 'maybe',
      kind: (kind ?? 'text') as ValueKind,
    }
    if (name.startsWith('--') || mark !== undefined) table.set(name, option)
    else for (const letter of name.slice(1)) table.set(`-${letter}`, option)
  }
  tables.set(grammar, table)
  return table
}

type ReadWords =
  | { readonly kind: 'read'; readonly parsed: ParsedArguments }
  /** `unseen`: only the shell knows a word, which may be anything; `unknown`: a word is known but not described. */
  | { readonly kind: 'unseen' | 'unknown'; readonly why: string }

/** Separates options, their values and operands, as getopt does but without abbreviations. */
export function readWords(grammar: Grammar, words: readonly ShellWord[]): ReadWords {
  // For a program, a pipe is like its standard input: no other process can read it.
  return new WordReader(
    grammar,
    words.map((word) => (word.isPipe === true ? literalWord('-') : word)),
  ).read()
}

class WordReader {
  readonly #grammar: Grammar
  readonly #words: readonly ShellWord[]
  readonly #table: ReadonlyMap<string, Option>
  readonly #options: ParsedOption[] = []
  readonly #operands: ShellWord[] = []
  #at = 0
  /** The number of operands before `--`. */
  #beforeDashes: number | undefined
  #firstOperandAt: number | undefined
  #hasLateOption = false
  /** Why a word is known only to the shell. Reading continues, as a later word may be known to do harm. */
  #firstUnseen: string | undefined

  constructor(grammar: Grammar, words: readonly ShellWord[]) {
    this.#grammar = grammar
    this.#words = words
    this.#table = optionsOf(grammar)
  }

  read(): ReadWords {
    for (; this.#at < this.#words.length; this.#at += 1) {
      const word = this.#words[this.#at]
      const problem = word === undefined ? undefined : this.#readWord(word)
      if (problem !== undefined) return { kind: 'unknown', why: problem }
    }
    const notNumber = this.#options.find(
      ({ name, value }) => this.#table.get(name)?.kind === 'number' && !isNumber(value),
    )
    if (notNumber !== undefined) return { kind: 'unknown', why: takesNumber(notNumber.name) }
    if (this.#firstUnseen !== undefined)
      return { kind: writesOperands(this.#grammar) ? 'unknown' : 'unseen', why: this.#firstUnseen }
    const ordered = this.#hasLateOption ? this.#words.slice(this.#firstOperandAt) : undefined
    const parsed = { options: this.#options, operands: this.#operands, ordered, beforeDashes: this.#beforeDashes }
    return { kind: 'read', parsed }
  }

  /** Reads one word, and its value where that is the next one. Returns why the command is unknown, if it is. */
  #readWord(word: ShellWord): string | undefined {
    const { kind, value } = word
    if (word.couldBePattern === true) return this.#noteUnseen(wordMayBecomeFiles)
    if (this.#operands.length > 0) this.#firstOperandAt ??= this.#at - 1
    if (this.#areOptionsOver()) return this.#addOperand(word)
    if (kind === 'dynamic') {
      const option = optionWithUnknown(word, this.#table)
      if (option !== undefined) return this.#addOptions([option])
      if (this.#grammar.anything !== true && word.isRevision !== true) return this.#noteUnseen(unknownWordMayBeOption)
    }
    if (kind === 'glob' && value.startsWith('-')) return this.#readPattern(word)
    if (kind === 'glob' && couldStartWithDash(value)) return this.#addOperand({ ...word, couldBeOption: true })
    if (kind !== 'literal' || !value.startsWith('-') || value === '-') return this.#addOperand(word)
    return this.#readOption(value)
  }

  #areOptionsOver(): boolean {
    const { noOptions, optionsFirst } = this.#grammar
    return (
      noOptions === true || this.#beforeDashes !== undefined || (optionsFirst === true && this.#operands.length > 0)
    )
  }

  /** Reads a pattern that begins with a dash. */
  #readPattern(word: ShellWord): undefined {
    const option = optionWithPattern(word, this.#table)
    if (option === undefined) this.#noteUnseen(optionIsPattern)
    return this.#addOptions(option === undefined ? [] : [option])
  }

  #readOption(text: string): string | undefined {
    this.#hasLateOption ||= this.#isLate()
    if (text === '--') {
      this.#beforeDashes = this.#operands.length
      return undefined
    }
    if (this.#grammar.numbers === true && /^-\d+$/.test(text)) return undefined
    const found = text.startsWith('--')
      ? longOption(text, this.#table)
      : shortOptions(text, this.#table, this.#grammar.valuesApart === true)
    if (found === undefined) return optionNotHarmless(text.split('=', 1)[0] ?? '')
    const last = found.at(-1)
    if (last?.needs !== true) return this.#addOptions(found)
    this.#at += 1
    const value = this.#words[this.#at]
    if (value === undefined) return optionWithoutValue
    if (value.kind === 'dynamic' && value.isOne !== true) this.#noteUnseen(unknownWordMayBeSeveral)
    if (value.kind === 'glob') this.#noteUnseen(optionValueIsPattern)
    return this.#addOptions([...found.slice(0, -1), { name: last.name, value }])
  }

  #isLate(): boolean {
    return this.#firstOperandAt !== undefined
  }

  #addOptions(found: readonly FoundOption[]): undefined {
    const isLate = this.#isLate()
    this.#hasLateOption ||= isLate
    this.#options.push(...found.map((option) => ({ ...option, isLate })))
    return undefined
  }

  #addOperand(word: ShellWord): undefined {
    this.#operands.push(word)
    return undefined
  }

  #noteUnseen(why: string): undefined {
    this.#firstUnseen ??= why
    return undefined
  }
}

function isNumber(value: ShellWord | undefined): boolean {
  return value === undefined || (value.kind === 'literal' && /^[+-]?\d+$/.test(value.value))
}

export function writesOperands({ operands }: Grammar): boolean {
  return operands.some((kind) => kind === 'write' || kind === 'write tree')
}

interface FoundOption {
  readonly name: string
  readonly value: ShellWord | undefined
  readonly needs?: boolean
}

function longOption(value: string, table: ReadonlyMap<string, Option>): readonly FoundOption[] | undefined {
  const equals = value.indexOf('=')
  const name = equals === -1 ? value : value.slice(0, equals)
  const option = table.get(name)
  if (option === undefined || (option.takes === 'nothing' && equals !== -1)) return undefined
  if (equals === -1) return [{ name, value: undefined, needs: option.takes === 'value' }]
  return [{ name, value: literalWord(value.slice(equals + 1)) }]
}

/** `--include=*.ts`: whatever names match, it remains this option with another text. */
function optionWithPattern(word: ShellWord, table: ReadonlyMap<string, Option>): FoundOption | undefined {
  const [name = ''] = word.value.split('=', 1)
  const option = table.get(name)
  const isText = option?.takes !== 'nothing' && option?.kind === 'text'
  if (!name.startsWith('--') || !word.value.includes('=') || !isText) return undefined
  return { name, value: { ...word, value: word.value.slice(name.length + 1) } }
}

/** `--author="$(…)"`: whatever the quotes contain, it remains this option with a text. */
function optionWithUnknown(word: ShellWord, table: ReadonlyMap<string, Option>): FoundOption | undefined {
  const [, name = ''] = /^(--[a-z][a-z-]*)=/.exec(word.source) ?? []
  const option = table.get(name)
  if (word.isOne !== true || option === undefined || option.takes === 'nothing' || option.kind !== 'text')
    return undefined
  return { name, value: { ...word, value: word.value.slice(name.length + 1) } }
}

function shortOptions(
  value: string,
  table: ReadonlyMap<string, Option>,
  valuesApart: boolean,
): readonly FoundOption[] | undefined {
  const found: FoundOption[] = []
  for (let at = 1; at < value.length; at += 1) {
    const name = `-${value.charAt(at)}`
    const option = table.get(name)
    if (option === undefined) return undefined
    const rest = value.slice(at + 1)
    if (valuesApart && option.takes === 'value' && /\D/.test(rest)) return undefined
    if (option.takes !== 'nothing' && rest !== '') return [...found, { name, value: literalWord(rest) }]
    found.push({ name, value: undefined, needs: option.takes === 'value' })
  }
  return found
}

export function literalWord(value: string): ShellWord {
  return { source: value, value, kind: 'literal' }
}

/** Whether a name that the pattern matches may begin with a dash. */
export function couldStartWithDash(pattern: string): boolean {
  return /^[-*?[+@!]/.test(pattern)
}

/** The effects of a command by its grammar: of options, operands and its additional check. */
export function effectsByGrammar(grammar: Grammar, args: readonly ShellWord[]): readonly Effect[] {
  const read = readWords(grammar, args)
  if (read.kind !== 'read') return [{ kind: read.kind, why: read.why }]
  const { parsed } = read
  const names = new Set(parsed.options.map(({ name }) => name))
  const has = (wanted: readonly string[] | undefined): boolean => wanted?.some((name) => names.has(name)) === true
  const isTree = grammar.tree?.length === 0 || has(grammar.tree)
  if (isTree && has(grammar.follows)) return unknownEffect(followsLinksInFolder)
  const table = optionsOf(grammar)
  const effects: Effect[] = []
  for (const { name, value } of parsed.options) {
    const kind = table.get(name)?.kind ?? 'text'
    if (value !== undefined && kind !== 'text' && kind !== 'number') effects.push(...effectOf(kind, value, false))
  }
  if (parsed.operands.length > 0 && grammar.operands.length === 0) return unknownEffect(operandsUnknown)
  const kinds = kindsOfOperands(grammar, parsed.options)
  effects.push(...operandEffects(grammar, parsed.operands, kinds, isTree))
  if (grammar.defaultsToFolder === true && parsed.operands.length < kinds.length)
    effects.push(...effectOf(kinds.at(-1) ?? 'list', literalWord('.'), isTree))
  if (parsed.ordered !== undefined && grammar.optionsAnywhere !== true) {
    const early = parsed.options.filter(({ isLate }) => !isLate)
    effects.push(...operandEffects(grammar, parsed.ordered, kindsOfOperands(grammar, early), isTree))
  }
  return [...effects, ...(grammar.check?.(parsed) ?? [])]
}

function kindsOfOperands({ operands, replacesFirst }: Grammar, options: readonly ParsedOption[]): readonly ValueKind[] {
  return options.some(({ name }) => replacesFirst?.includes(name) === true) ? operands.slice(1) : operands
}

function operandEffects(
  grammar: Grammar,
  words: readonly ShellWord[],
  kinds: readonly ValueKind[],
  isTree: boolean,
): readonly Effect[] {
  // A pattern may expand to several words, and shift the words after it.
  const moves = words.findIndex((word) => word.kind === 'glob' || (word.kind === 'dynamic' && word.isOne !== true))
  if (moves !== -1 && grammar.anything !== true && moves < kinds.length - 1)
    return (writesOperands(grammar) ? unknownEffect : unseenEffect)(patternMayBeSeveral)
  return words.flatMap((word, index) => effectOf(kinds[Math.min(index, kinds.length - 1)] ?? 'text', word, isTree))
}

function effectOf(kind: ValueKind, word: ShellWord, isTree: boolean): readonly Effect[] {
  const checked: readonly Effect[] = word.couldBeOption === true ? [{ kind: 'list', word }] : []
  // The matching names are shown.
  if (kind === 'text' || kind === 'number') return word.kind === 'glob' ? [{ kind: 'list', word }] : checked
  // `-` is the standard input. For `mkdir` and `touch` it is an ordinary name.
  if (word.value === '-' && (kind === 'read' || kind === 'read through links')) return []
  if (kind === 'read') return [...checked, { kind: isTree ? 'read tree' : 'read', word }]
  return [...checked, { kind, word }]
}
