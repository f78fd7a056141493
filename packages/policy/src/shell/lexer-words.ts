import { ansiValue } from './ansi-quotes.ts'
import { type SourceReader, Unreadable } from './source-reader.ts'
import {
  arithmeticOrCommand,
  arithmeticRuns,
  backticksUnclear,
  bracketArithmeticRuns,
  dollarExpandsNothing,
  expansionQuotesMayBeText,
  expansionWithOperator,
  expansionWithoutVariable,
  listWithComment,
  listWithOperator,
  nestedQuotesMayNotProtect,
  subscriptRuns,
  translatedText,
} from './shell-texts.ts'

/** A word as written; `value` is the word without quotes, undefined if a variable or a command contributes to it. */
export interface LexedWord {
  readonly pos: number
  readonly text: string
  readonly value: string | undefined
}

/** What the lexer found in a text, with positions. */
export interface Findings {
  /** The text without line continuations; all positions refer to it. */
  readonly text: string
  /** The kinds and positions of words, quotes, expansions, substitutions, redirects, here-documents and names of commands. */
  readonly facts: ReadonlySet<string>
  /** Values of words without quotes, by position; only of words that do not depend on variables or commands. */
  readonly values: ReadonlyMap<number, string>
  /** How often each of `&`, `|`, `|&`, `&&` and `||` joins commands: the parser's tree has no positions for them. */
  readonly joiners: ReadonlyMap<string, number>
}

/** The context of a piece of text: inside quotes fewer characters are special. */
type Place = 'plain' | 'double quotes' | 'here-document'

const nameBefore = /^[A-Za-z_]\w*$/
const assignmentBefore = /^[A-Za-z_]\w*(?:\[[\w@*]*\])?\+?=$/
const endOfWord = /^[ \t\n;&|()<>]?$/
const specialParameter = /[\d@*#?$!-]/
const operator = /[;&|()<>]/

/**
 * Reads words with their quotes, expansions and substitutions. Rejects every form that bash reads in different ways depending
 * on its version, options or context. Each finding becomes a fact with its position, to be compared with the parser's tree.
 */
export class WordLexer {
  readonly #reader: SourceReader
  readonly #facts: Set<string>
  readonly #values: Map<number, string>
  readonly #readCommands: (close: ')' | '`') => void
  #value: string | undefined = ''

  /** `readCommands` reads the commands of a substitution up to the character that closes it. */
  constructor(
    reader: SourceReader,
    found: { readonly facts: Set<string>; readonly values: Map<number, string> },
    readCommands: (close: ')' | '`') => void,
  ) {
    this.#reader = reader
    this.#facts = found.facts
    this.#values = found.values
    this.#readCommands = readCommands
  }

  /** Undefined if no word begins here. `isPattern`: the word is the right side of `=~`, which may end in a dollar sign. */
  word(isPattern = false): LexedWord | undefined {
    const reader = this.#reader
    const pos = reader.position
    const outer = this.#value
    this.#value = ''
    let hasBracket = false
    for (;;) {
      const next = reader.peek()
      const isSubstitution = (next === '<' || next === '>') && reader.peekSecond() === '('
      if (next === '(' && assignmentBefore.test(reader.textFrom(pos))) this.#array()
      else if (isSubstitution) this.#substitution(`${reader.take()}(`, reader.position - 1)
      else if (endOfWord.test(next)) break
      else if (next === '[' && !hasBracket) {
        hasBracket = true
        this.#bracket(reader.textFrom(pos))
      } else this.#piece(next, isPattern)
    }
    const value = this.#value
    this.#value = outer
    return reader.position === pos ? undefined : { pos, text: reader.textFrom(pos), value }
  }

  /** The body of an unquoted here-document, or the text between double quotes. */
  quotedText(place: Exclude<Place, 'plain'>): void {
    const reader = this.#reader
    for (let next = reader.peek(); next !== ''; next = reader.peek()) {
      if (next === '"' && place === 'double quotes') return
      if (next === '\\') this.#escape(place)
      else if (next === '`') this.#backticks(place)
      else if (next === '$') this.#dollar(place)
      else this.#text(reader.take())
    }
  }

  /** `((…))` or `$((…))` of numbers, names and operators, from its second parenthesis on. */
  arithmetic(isLoop: boolean): void {
    const reader = this.#reader
    reader.take()
    for (let depth = 0; depth >= 0;) {
      reader.takeWhile(isLoop ? /[\w \t\n+*/%<>=!&|?:^~,;-]/ : /[\w \t\n+*/%<>=!&|?:^~,-]/)
      const next = reader.peek()
      if (next === '(') depth += 1
      else if (next === ')') depth -= 1
      else if (next !== '$') throw new Unreadable(arithmeticRuns)
      reader.take()
      if (next === '$') this.#plainVariable()
    }
    if (reader.peek() !== ')') throw new Unreadable(arithmeticOrCommand)
    reader.take()
  }

  #plainVariable(): void {
    const reader = this.#reader
    if (reader.peek() !== '{') {
      if (!/[A-Za-z_\d]/.test(reader.peek())) throw new Unreadable(arithmeticRuns)
      return
    }
    reader.take()
    reader.takeWhile(/\w/)
    if (reader.take() !== '}') throw new Unreadable(arithmeticRuns)
  }

  #piece(next: string, isPattern: boolean): void {
    const reader = this.#reader
    if (next === '\\') this.#escape('plain')
    else if (next === "'") this.#singleQuotes()
    else if (next === '"') this.#doubleQuotes()
    else if (next === '`') this.#backticks('plain')
    else if (next !== '$') this.#text(reader.take())
    else if (this.#dollar('plain') && !(isPattern && endOfWord.test(reader.peek())))
      throw new Unreadable(dollarExpandsNothing)
  }

  #text(text: string): void {
    if (this.#value !== undefined) this.#value += text
  }

  #escape(place: Place): void {
    const reader = this.#reader
    reader.take()
    const escaped = reader.takeRaw()
    const isTakenOff = place === 'plain' || /[$`\\]/.test(escaped) || (escaped === '"' && place === 'double quotes')
    this.#text(isTakenOff ? escaped : `\\${escaped}`)
  }

  #singleQuotes(): void {
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    for (let next = reader.takeLiteral(); next !== "'"; next = reader.takeLiteral()) this.#text(next)
    this.#facts.add(`' ${pos} ${reader.position}`)
  }

  #doubleQuotes(): void {
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    this.quotedText('double quotes')
    reader.take()
    this.#facts.add(`" ${pos} ${reader.position}`)
  }

  /** `$'…'`, after its dollar sign. */
  #ansiQuotes(pos: number): void {
    const reader = this.#reader
    reader.take()
    for (let next = reader.takeLiteral(); next !== "'"; next = reader.takeLiteral())
      if (next === '\\') reader.takeLiteral()
    this.#facts.add(`$' ${pos} ${reader.position}`)
    const value = ansiValue(reader.textFrom(pos))
    if (value === undefined) this.#value = undefined
    else this.#text(value)
  }

  /**
   * Text between backticks. Bash removes backslashes in it before it reads the commands, so no backslash is accepted. In
   * double quotes it expands braces as if a quote between the backticks closed the outer quote.
   */
  #backticks(place: Place): void {
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    const end = reader.findRaw('`', place === 'plain' ? /^[^\\]*$/ : /^[^\\"]*$/)
    if (end === -1) throw new Unreadable(backticksUnclear)
    reader.within(end, () => this.#readCommands('`'))
    reader.take()
    this.#facts.add(`\` ${pos} ${reader.position}`)
    this.#value = undefined
  }

  /** `$(`, `<(` or `>(`, after its first character. */
  #substitution(kind: string, pos: number): void {
    const reader = this.#reader
    reader.take()
    this.#readCommands(')')
    reader.take()
    this.#facts.add(`${kind} ${pos} ${reader.position}`)
    this.#value = undefined
  }

  /** True if the dollar sign expands nothing. */
  #dollar(place: Place): boolean {
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    const next = reader.peek()
    if (next === '(' && reader.peekSecond() === '(') {
      reader.take()
      this.arithmetic(false)
      this.#facts.add(`$(( ${pos} ${reader.position}`)
    } else if (next === '(') this.#substitution('$(', pos)
    else if (next === '{') this.#parameter(place, pos)
    else if (next === '[') throw new Unreadable(bracketArithmeticRuns)
    else if (place === 'plain' && next === '"') throw new Unreadable(translatedText)
    else if (place === 'plain' && next === "'") {
      this.#ansiQuotes(pos)
      return false
    } else if (!this.#variable(next, pos)) {
      this.#text('$')
      return true
    }
    this.#value = undefined
    return false
  }

  #variable(next: string, pos: number): boolean {
    const reader = this.#reader
    if (/[A-Za-z_]/.test(next)) reader.takeWhile(/\w/)
    else if (specialParameter.test(next)) reader.take()
    else return false
    this.#facts.add(`$ ${pos} ${reader.position}`)
    return true
  }

  /** `${…}`, after its dollar sign. */
  #parameter(place: Place, pos: number): void {
    const reader = this.#reader
    reader.take()
    if (!/[\w@*#?$!-]/.test(reader.peek())) throw new Unreadable(expansionWithoutVariable)
    // The first character belongs to the name, or is a `#` or `!` before it.
    const first = reader.take()
    if (/[#!]/.test(first) && specialParameter.test(reader.peek())) reader.take()
    reader.nest(() => this.#insideBraces(place))
    reader.take()
    this.#facts.add(`\${ ${pos} ${reader.position}`)
  }

  #insideBraces(place: Place): void {
    const reader = this.#reader
    for (let next = reader.peek(); next !== '}'; next = reader.peek()) {
      if (next === '\\') this.#escape(place)
      else if (next === "'" && place === 'plain') this.#singleQuotes()
      else if (next === '"' && place !== 'here-document') this.#quotesInBraces(place)
      else if (next === '`') this.#backticks(place)
      else if (next === '$') this.#dollarInBraces(place)
      else if (next === "'" || next === '"' || next === '{') throw new Unreadable(expansionQuotesMayBeText)
      else if (operator.test(next) && (place === 'plain' || reader.peekSecond() === '('))
        throw new Unreadable(expansionWithOperator)
      else reader.take()
    }
  }

  #dollarInBraces(place: Place): void {
    if (this.#reader.peekSecond() === "'" || this.#dollar(place)) throw new Unreadable(dollarExpandsNothing)
  }

  /** Quotes inside `${…}`. Bash removes these quotes and then reads their content together with the surrounding text. */
  #quotesInBraces(place: Exclude<Place, 'here-document'>): void {
    if (place === 'plain') return this.#doubleQuotes()
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    reader.takeWhile(/[\w ./:,=@%+-]/)
    if (reader.take() !== '"') throw new Unreadable(nestedQuotesMayNotProtect)
    this.#facts.add(`" ${pos} ${reader.position}`)
  }

  /** `a[1]=`: bash reads spaces and operators between the brackets as part of the word. */
  #bracket(before: string): void {
    const reader = this.#reader
    this.#text(reader.take())
    if (!nameBefore.test(before)) return
    this.#text(reader.takeWhile(/[^\] \t\n;&|()<>'"`$\\]/))
    const next = reader.peek()
    if (next !== ']' && next !== '') throw new Unreadable(subscriptRuns)
  }

  /** The list of values of an array assignment. */
  #array(): void {
    const reader = this.#reader
    const pos = reader.position
    reader.take()
    reader.nest(() => this.#elements())
    reader.take()
    this.#facts.add(`=( ${pos} ${reader.position}`)
    this.#value = undefined
  }

  #elements(): void {
    const reader = this.#reader
    for (;;) {
      reader.takeWhile(/[ \t\n]/)
      const next = reader.peek()
      if (next === ')') return
      if (next === '#') throw new Unreadable(listWithComment)
      const element = this.word()
      if (element === undefined) throw new Unreadable(listWithOperator)
      if (element.text.startsWith('[')) throw new Unreadable(subscriptRuns)
      this.addWord(element)
    }
  }

  addWord({ pos, text, value }: LexedWord): void {
    this.#facts.add(`word ${pos} ${pos + text.length}`)
    if (value !== undefined) this.#values.set(pos, value)
  }
}
