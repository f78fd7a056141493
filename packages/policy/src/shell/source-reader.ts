import {
  hereDocumentInWord,
  hereDocumentJoinsQuotes,
  lastLineContinued,
  notClosed,
  parenthesesTooDeep,
} from './shell-texts.ts'
/** Thrown if it cannot be predicted how bash reads a text; the message says why. */
export class Unreadable extends Error {}

/** Thrown for a text that would take a parser too long, or too much of the stack. */
export class TooMuch extends Unreadable {}

const maxNested = 100

/**
 * Reads a shell text one character at a time and removes line continuations (a backslash before a line end) as bash does, before anything else is
 * read. Methods with `Raw` or `Literal` are for places where bash removes none: single quotes, comments and quoted here-documents.
 *
 * S1: `position` counts characters of the joined text.
 * S2: each character is consumed once, so reading takes linear time.
 */
export class SourceReader {
  readonly #raw: string
  /** The consumed text if lines are joined. Otherwise the consumed text is the beginning of the raw text. */
  readonly #joined: string[] | undefined
  #at = 0
  #end: number
  #nested = 0
  /** Inside an unquoted here-document bash joins lines before it reads quotes, so in single quotes too. */
  joinsInQuotes = false
  /** A here-document begins at the next line end, which only a list of commands may consume. */
  isHereDocumentNext = false

  constructor(raw: string) {
    // Bash keeps the backslash if no line follows.
    if (raw.endsWith('\\\n')) throw new Unreadable(lastLineContinued)
    this.#raw = raw
    this.#joined = raw.includes('\\\n') ? [] : undefined
    this.#end = raw.length
  }

  get position(): number {
    return this.#joined?.length ?? this.#at
  }

  /** The joined text from a position to the present one. */
  textFrom(position: number): string {
    return this.#joined?.slice(position).join('') ?? this.#raw.slice(position, this.#at)
  }

  /** The next character; empty at the end. */
  peek(): string {
    if (this.#joined !== undefined) this.#skipJoins()
    return this.peekRaw()
  }

  peekRaw(): string {
    return this.#at < this.#end ? this.#raw.charAt(this.#at) : ''
  }

  /** The character after the next one, in a place where lines are joined. */
  peekSecond(): string {
    this.#skipJoins()
    let at = this.#at + 1
    while (this.#isJoin(at)) at += 2
    return at < this.#end ? this.#raw.charAt(at) : ''
  }

  take(): string {
    if (this.#joined !== undefined) this.#skipJoins()
    return this.takeRaw()
  }

  takeRaw(): string {
    if (this.#at >= this.#end) throw new Unreadable(notClosed)
    const character = this.#raw.charAt(this.#at)
    if (character === '\n' && this.isHereDocumentNext) throw new Unreadable(hereDocumentInWord)
    this.#at += 1
    this.#joined?.push(character)
    return character
  }

  /** Consumes a character in a place where bash joins no lines. */
  takeLiteral(): string {
    if (this.joinsInQuotes && this.#isJoin(this.#at)) throw new Unreadable(hereDocumentJoinsQuotes)
    return this.takeRaw()
  }

  /** Consumes characters as long as they match. */
  takeWhile(fits: RegExp): string {
    let taken = ''
    for (let next = this.peek(); next !== '' && fits.test(next); next = this.peek()) taken += this.take()
    return taken
  }

  /** Reads exactly up to `end`: nothing that begins before it may end after it. */
  within(end: number, read: () => void): void {
    const outer = this.#end
    this.#end = end
    read()
    if (this.#at !== end) throw new Unreadable(notClosed)
    this.#end = outer
  }

  get isNested(): boolean {
    return this.#nested > 0
  }

  /** Reads the content of parentheses or braces. */
  nest(read: () => void): void {
    this.#nested += 1
    if (this.#nested > maxNested) throw new TooMuch(parenthesesTooDeep)
    read()
    this.#nested -= 1
  }

  /** The raw index of the next such character if the text before it matches; otherwise -1. */
  findRaw(character: string, before: RegExp): number {
    const found = this.#raw.indexOf(character, this.#at)
    const isFound = found !== -1 && found < this.#end && before.test(this.#raw.slice(this.#at, found))
    return isFound ? found : -1
  }

  /** The remaining lines, as bash compares them with the delimiter of a here-document; `start` is a raw index. */
  *lines(joins: boolean): Generator<{ readonly start: number; readonly text: string }> {
    let at = this.#at
    while (at < this.#end) {
      const start = at
      let text = ''
      while (at < this.#end && this.#raw.charAt(at) !== '\n') {
        if (joins && this.#isJoin(at)) at += 2
        else {
          const length = joins && this.#raw.charAt(at) === '\\' ? 2 : 1
          text += this.#raw.slice(at, at + length)
          at += length
        }
      }
      at += 1
      yield { start, text }
    }
  }

  #skipJoins(): void {
    while (this.#isJoin(this.#at)) this.#at += 2
  }

  #isJoin(at: number): boolean {
    return at + 1 < this.#end && this.#raw.charAt(at) === '\\' && this.#raw.charAt(at + 1) === '\n'
  }
}
