import { matchesPath, globPattern } from '../../files/glob-pattern.ts'
import type { ShellWord } from '../words.ts'
import { type ProgramSyntax, valuesTaken } from './program-syntax.ts'

/** How certain something is: 0 no, 1 only known at run time, 2 yes. */
export type Sureness = 0 | 1 | 2

/** Indexes of words at which something may begin, with the certainty of each. */
export type Places = ReadonlyMap<number, Sureness>

export interface Reached {
  /** Words that may be the next operand. */
  readonly operands: Places
  /** Whether there may be no further operand. */
  readonly end: Sureness
}

/** The words that may be the next operand after one of these positions: options are skipped, each with the words that it takes or may take. */
export function nextOperands(
  words: readonly ShellWord[],
  from: Places,
  syntax: ProgramSyntax,
  isList: boolean = false,
): Reached {
  const open = new Map(from)
  const operands = new Map<number, Sureness>()
  let end: Sureness = 0
  let last = Math.max(...from.keys())
  const reach = (at: number, sureness: Sureness): void => {
    raise(open, at, sureness)
    last = Math.max(last, at)
  }
  for (let at = Math.min(...from.keys()); at <= last; at += 1) {
    const sure = open.get(at) ?? 0
    if (sure === 0) continue
    const word = words[at]
    if (word === undefined) {
      end = higher(end, sure)
      continue
    }
    if (word.kind === 'dynamic' && word.isPipe !== true) {
      raise(operands, at, 1)
      // The word may be an option, with or without a value, or nothing at all.
      reach(at + 1, 1)
      reach(at + 2, 1)
    } else if (isOption(word, syntax)) {
      for (const { taken, isSure } of valuesOf(words, at, syntax)) {
        reach(at + 1 + taken, isSure ? sure : 1)
        // A value that is only known at run time may expand to several words, the second of which is then the operand.
        if (taken > 0 && words[at + 1]?.kind === 'dynamic' && words[at + 1]?.isOne !== true) raise(operands, at + 1, 1)
      }
    } else {
      raise(operands, at, sure)
      if (isList || syntax.prefixes?.includes(word.value) === true) reach(at + 1, sure)
    }
  }
  return { operands, end }
}

function raise(places: Map<number, Sureness>, at: number, sureness: Sureness): void {
  places.set(at, higher(places.get(at) ?? 0, sureness))
}

export function higher(one: Sureness, other: Sureness): Sureness {
  return one > other ? one : other
}

export function lower(one: Sureness, other: Sureness): Sureness {
  return one < other ? one : other
}

function isOption({ value, kind }: ShellWord, syntax: ProgramSyntax): boolean {
  if (value.startsWith('-') && value.length > 1) return true
  if (kind === 'glob') return false
  return /^\+[\w.-]+$/.test(value) || (syntax.assigns === true && /^[A-Za-z_]\w*=/.test(value))
}

interface Taken {
  readonly taken: number
  readonly isSure: boolean
}

/** The number of words that an option may take as its value. */
function valuesOf(words: readonly ShellWord[], at: number, syntax: ProgramSyntax): readonly Taken[] {
  const { value = '', kind } = words[at] ?? {}
  const next = words[at + 1]
  const isSure = kind === 'literal'
  if (value === '--' || !value.startsWith('-') || value.includes('=')) return [{ taken: 0, isSure }]
  const known = valuesTaken(syntax, value) ?? takenByLetters(value, syntax)
  // Programs for which the word is a switch may take a following `true` as its value.
  const isSwitched = /^(?:true|false|null|undefined)$/.test(next?.value ?? '')
  if (known !== undefined && !(known === 0 && isSwitched)) return [{ taken: known, isSure }]
  const isNextOption = next?.kind === 'literal' && next.value.startsWith('-') && next.value.length > 1
  return isNextOption || next === undefined
    ? [{ taken: 0, isSure }]
    : [
        { taken: 0, isSure },
        { taken: 1, isSure },
      ]
}

/** Combined letters: the value of one is attached, or is the next word. */
function takenByLetters(value: string, syntax: ProgramSyntax): number | undefined {
  if (syntax.singleDash === true || value.startsWith('--') || value.length < 3) return undefined
  for (let at = 1; at < value.length; at += 1) {
    const taken = valuesTaken(syntax, `-${value.charAt(at)}`)
    if (taken === undefined) return undefined
    if (taken > 0) return at === value.length - 1 ? taken : 0
  }
  return 0
}

/** The certain beginning of a word that is only known at run time. */
function knownStart({ value }: ShellWord): string {
  return /^([\w./:=@%+,-]*)[$`]/.exec(value)?.[1] ?? ''
}

/** Whether a word is certainly or possibly equal to this text. */
export function isWord(word: ShellWord, text: string, isSame: (word: string) => boolean): Sureness {
  if (word.kind === 'literal') return isSame(word.value) ? 2 : 0
  if (word.kind === 'glob') return isSame(word.value) || matchesPath(globPattern(word.value), [text]) ? 1 : 0
  if (word.isPipe === true) return 0
  return word.isOne === true && !text.startsWith(knownStart(word)) ? 0 : 1
}

/** Whether a word that is only known at run time may be or contain one of these options. */
export function mayBeOption(word: ShellWord, names: readonly string[]): boolean {
  if (word.kind === 'literal' || word.isPipe === true || word.value === '{}') return false
  if (word.kind === 'glob')
    return /^[-[?]/.test(word.value) && names.some((name) => matchesPath(globPattern(word.value), [name]))
  const start = knownStart(word)
  if (word.isOne !== true || start === '') return true
  // `-a$X` may be several letters.
  const isLetters = /^-[A-Za-z]*$/.test(start) && names.some((name) => /^-[A-Za-z]{1,4}$/.test(name))
  return isLetters || names.some((name) => name.startsWith(start) || (start.startsWith('-') && start.startsWith(name)))
}
