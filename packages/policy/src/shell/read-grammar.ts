import { type Effect, type Given, type GivenOption, type Grammar, unknown, unseen, type ValueKind } from './effects.ts'
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

/** Every option that the grammar knows, by its name with dashes. */
export function optionsOf(grammar: Grammar): ReadonlyMap<string, Option> {
  const known = tables.get(grammar)
  if (known !== undefined) return known
  const table = new Map<string, Option>()
  for (const token of grammar.options.split(/\s+/).filter(Boolean)) {
    const [, name = '', mark, kind] = /^(--?[^:?]+)(?:([:?])(.+))?$/.exec(token) ?? []
    // The texts are ours: what stands there is one of the kinds.
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
  | { readonly kind: 'read'; readonly given: Given }
  /** `unseen`: only the shell knows a word, which may be anything; `unknown`: a word is known and not described. */
  | { readonly kind: 'unseen' | 'unknown'; readonly why: string }

/** Tells options, their values and operands apart, as getopt does but without abbreviations. */
export function readWords(grammar: Grammar, given: readonly ShellWord[]): ReadWords {
  // To a program a pipe is what its standard input is: something to read that nobody else has.
  const args = given.map((word) => (word.isPipe === true ? literalWord('-') : word))
  const table = optionsOf(grammar)
  const options: GivenOption[] = []
  const operands: ShellWord[] = []
  let beforeDashes: number | undefined
  let firstOperandAt: number | undefined
  let hasLateOption = false
  const not = (why: string): ReadWords => ({ kind: 'unknown', why })
  // What only the shell knows is noted, and what stands behind it is read on: it may be known to do harm.
  let firstUnseen: string | undefined
  const noteUnseen = (why: string): void => void (firstUnseen ??= why)
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined) break
    const { value } = word
    if (word.couldBePattern === true) {
      noteUnseen(wordMayBecomeFiles)
      continue
    }
    if (operands.length > 0) firstOperandAt ??= at - 1
    const isLate = firstOperandAt !== undefined
    const isOver =
      grammar.noOptions === true || beforeDashes !== undefined || (grammar.optionsFirst === true && operands.length > 0)
    if (isOver) {
      operands.push(word)
      continue
    }
    const given = word.kind === 'dynamic' ? optionWithUnknown(word, table) : undefined
    if (given !== undefined) {
      options.push({ ...given, isLate })
      hasLateOption ||= isLate
      continue
    }
    if (word.kind === 'dynamic' && grammar.anything !== true && word.isRevision !== true) {
      noteUnseen(unknownWordMayBeOption)
      continue
    }
    if (word.kind !== 'literal' || !value.startsWith('-') || value === '-') {
      if (word.kind === 'glob' && value.startsWith('-')) {
        const option = optionWithPattern(word, table)
        if (option === undefined) noteUnseen(optionIsPattern)
        else options.push({ ...option, isLate })
        hasLateOption ||= isLate
      } else if (word.kind === 'glob' && couldStartWithDash(value)) operands.push({ ...word, couldBeOption: true })
      else operands.push(word)
      continue
    }
    hasLateOption ||= isLate
    if (value === '--') {
      beforeDashes = operands.length
      continue
    }
    if (grammar.numbers === true && /^-\d+$/.test(value)) continue
    const found = value.startsWith('--')
      ? longOption(value, table)
      : shortOptions(value, table, grammar.valuesApart === true)
    if (found === undefined) return not(optionNotHarmless(value.split('=', 1)[0] ?? ''))
    const last = found.at(-1)
    if (last?.needs === true) {
      at += 1
      const next = args[at]
      if (next === undefined) return not(optionWithoutValue)
      if (next.kind === 'dynamic' && !next.isOne) noteUnseen(unknownWordMayBeSeveral)
      if (next.kind === 'glob') noteUnseen(optionValueIsPattern)
      options.push(...found.slice(0, -1).map((option) => ({ ...option, isLate })))
      options.push({ name: last.name, value: next, isLate })
    } else options.push(...found.map((option) => ({ ...option, isLate })))
  }
  const notNumber = options.find(({ name, value }) => table.get(name)?.kind === 'number' && !isNumber(value))
  if (notNumber !== undefined) return not(takesNumber(notNumber.name))
  if (firstUnseen !== undefined) return { kind: writesOperands(grammar) ? 'unknown' : 'unseen', why: firstUnseen }
  const ordered = hasLateOption ? args.slice(firstOperandAt) : undefined
  return { kind: 'read', given: { options, operands, ordered, beforeDashes } }
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

/** `--include=*.ts`: whatever names fit it, it stays this option with another text. */
function optionWithPattern(word: ShellWord, table: ReadonlyMap<string, Option>): FoundOption | undefined {
  const [name = ''] = word.value.split('=', 1)
  const option = table.get(name)
  const isText = option?.takes !== 'nothing' && option?.kind === 'text'
  if (!name.startsWith('--') || !word.value.includes('=') || !isText) return undefined
  return { name, value: { ...word, value: word.value.slice(name.length + 1) } }
}

/** `--author="$(…)"`: whatever stands in the quotes, it stays this option with a text. */
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

/** Whether a name that the pattern fits may begin with a dash. */
export function couldStartWithDash(pattern: string): boolean {
  return /^[-*?[+@!]/.test(pattern)
}

/** What the words come to by the grammar: effects of options, operands and of the program's own check. */
export function effectsByGrammar(grammar: Grammar, args: readonly ShellWord[]): readonly Effect[] {
  const read = readWords(grammar, args)
  if (read.kind !== 'read') return [{ kind: read.kind, why: read.why }]
  const { given } = read
  const names = new Set(given.options.map(({ name }) => name))
  const has = (wanted: readonly string[] | undefined): boolean => wanted?.some((name) => names.has(name)) === true
  const isTree = grammar.tree?.length === 0 || has(grammar.tree)
  if (isTree && has(grammar.follows)) return unknown(followsLinksInFolder)
  const table = optionsOf(grammar)
  const effects: Effect[] = []
  for (const { name, value } of given.options) {
    const kind = table.get(name)?.kind ?? 'text'
    if (value !== undefined && kind !== 'text' && kind !== 'number') effects.push(...effectOf(kind, value, false))
  }
  if (given.operands.length > 0 && grammar.operands.length === 0) return unknown(operandsUnknown)
  const kinds = kindsOfOperands(grammar, given.options)
  effects.push(...operandEffects(grammar, given.operands, kinds, isTree))
  if (grammar.defaultsToFolder === true && given.operands.length < kinds.length)
    effects.push(...effectOf(kinds.at(-1) ?? 'list', literalWord('.'), isTree))
  if (given.ordered !== undefined && grammar.optionsAnywhere !== true) {
    const early = given.options.filter(({ isLate }) => !isLate)
    effects.push(...operandEffects(grammar, given.ordered, kindsOfOperands(grammar, early), isTree))
  }
  return [...effects, ...(grammar.check?.(given) ?? [])]
}

function kindsOfOperands({ operands, replacesFirst }: Grammar, options: readonly GivenOption[]): readonly ValueKind[] {
  return options.some(({ name }) => replacesFirst?.includes(name) === true) ? operands.slice(1) : operands
}

function operandEffects(
  grammar: Grammar,
  words: readonly ShellWord[],
  kinds: readonly ValueKind[],
  isTree: boolean,
): readonly Effect[] {
  // A pattern may become several words, and so move those after it.
  const moves = words.findIndex((word) => word.kind === 'glob' || (word.kind === 'dynamic' && word.isOne !== true))
  if (moves !== -1 && grammar.anything !== true && moves < kinds.length - 1)
    return (writesOperands(grammar) ? unknown : unseen)(patternMayBeSeveral)
  return words.flatMap((word, index) => effectOf(kinds[Math.min(index, kinds.length - 1)] ?? 'text', word, isTree))
}

function effectOf(kind: ValueKind, word: ShellWord, isTree: boolean): readonly Effect[] {
  const checked: readonly Effect[] = word.couldBeOption === true ? [{ kind: 'list', word }] : []
  // The names that a pattern fits are shown.
  if (kind === 'text' || kind === 'number') return word.kind === 'glob' ? [{ kind: 'list', word }] : checked
  // Standard input. To `mkdir` and `touch` it is a name like others.
  if (word.value === '-' && (kind === 'read' || kind === 'read through links')) return []
  if (kind === 'read') return [...checked, { kind: isTree ? 'read tree' : 'read', word }]
  return [...checked, { kind, word }]
}
