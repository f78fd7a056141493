import { type HereDocument, readDelimiter, readHereDocument, skipDelimiterLine } from './here-documents.ts'
import { type Findings, type LexedWord, WordLexer } from './lexer-words.ts'
import { SourceReader, TooMuch, Unreadable } from './source-reader.ts'
import {
  ambiguousCoproc,
  backticksWithComment,
  caseNotBegun,
  caseWithoutEnd,
  caseWithoutPatterns,
  descriptorTooLarge,
  hereDocumentFollowed,
  hereDocumentInWord,
  hereDocumentWithoutBody,
  lineEndsInside,
  loopWithoutWords,
  operatorMisplaced,
  operatorsInARow,
  parenthesisMisplaced,
  parenthesisNotClosed,
  parenthesisNotOpened,
  redirectWithoutTarget,
  subscriptRuns,
  substitutionCommentQuotes,
  testWithComment,
  tooManyWords,
  wordAfterCompound,
} from './shell-texts.ts'

/** What was read from a shell text, independently of the parser. */
export type Lexed =
  | ({ readonly kind: 'read' } & Findings)
  | { readonly kind: 'unreadable' | 'too much'; readonly why: string }

export function lexShell(command: string): Lexed {
  try {
    return { kind: 'read', ...new CommandLexer(command).read() }
  } catch (thrown) {
    if (!(thrown instanceof Unreadable)) throw thrown
    return { kind: thrown instanceof TooMuch ? 'too much' : 'unreadable', why: thrown.message }
  }
}

/** What a list of commands expects next; `name` is a command without keywords, after an assignment or a redirect. */
type Next =
  | 'command'
  | 'name'
  | 'argument'
  /** After a compound command: redirects, and keywords that continue the surrounding command. */
  | 'rest'
  | 'time option'
  | 'loop variable'
  | 'loop words'
  | 'case subject'
  | 'case in'
  | 'pattern'
  | 'rest of pattern'
  | 'function name'

/** State of reading a list of commands, between two parentheses or in the whole text. */
interface Frame {
  readonly close: ')' | '`' | ''
  /** A here-document of the surrounding command begins at the next line end. */
  readonly isBeforeHereDocument: boolean
  next: Next
  /** Number of open `case` commands. */
  cases: number
  hereDocuments: HereDocument[]
}

/**
 * Bash parses a substitution, prints it and parses the printed text. After a here-document it prints no separator, so that `$(cat <<E … E⏎ls ;
 * find)` runs `ls find`. Therefore a here-document must be alone in a substitution.
 */
interface Substitution {
  hasSeparator: boolean
  hereDocument: 'none' | 'begun' | 'read'
}

const misprinted = hereDocumentFollowed

function beginHereDocument(substitution: Substitution): void {
  if (substitution.hasSeparator) throw new Unreadable(misprinted)
  substitution.hereDocument = 'begun'
}

const maxFacts = 5000
const openers: ReadonlySet<string> = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!', '{'])
const closers: ReadonlySet<string> = new Set(['fi', 'done', 'esac', '}'])
const afterCompound: ReadonlySet<string> = new Set(['then', 'elif', 'else', 'do'])
const isAssignment = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/s

/** Reads lists of commands: decides which word is a keyword, the name of a command, or the target of a redirect. */
class CommandLexer {
  readonly #reader: SourceReader
  readonly #facts = new Set<string>()
  readonly #values = new Map<number, string>()
  readonly #joiners = new Map<string, number>()
  readonly #words: WordLexer
  #isInBackticks = false
  #substitution: Substitution | undefined

  constructor(command: string) {
    this.#reader = new SourceReader(command)
    this.#words = new WordLexer(this.#reader, { facts: this.#facts, values: this.#values }, (close) =>
      this.#readSubstitution(close),
    )
  }

  read(): Findings {
    this.#list('')
    return { text: this.#reader.textFrom(0), facts: this.#facts, values: this.#values, joiners: this.#joiners }
  }

  #readSubstitution(close: ')' | '`'): void {
    const outer = this.#substitution
    const inner: Substitution = { hasSeparator: false, hereDocument: 'none' }
    this.#substitution = inner
    this.#nestedList(close)
    if (outer !== undefined && inner.hereDocument !== 'none') beginHereDocument(outer)
    this.#substitution = outer
  }

  #nestedList(close: ')' | '`'): void {
    const [wasInBackticks, wasNext] = [this.#isInBackticks, this.#reader.isHereDocumentNext]
    if (close === '`') this.#isInBackticks = true
    this.#reader.nest(() => this.#list(close))
    this.#isInBackticks = wasInBackticks
    this.#reader.isHereDocumentNext = wasNext
  }

  #list(close: Frame['close']): void {
    const isBeforeHereDocument = this.#reader.isHereDocumentNext
    const frame: Frame = { close, isBeforeHereDocument, next: 'command', cases: 0, hereDocuments: [] }
    while (this.#token(frame));
    if (frame.hereDocuments.length > 0) throw new Unreadable(hereDocumentWithoutBody)
    if (frame.cases > 0) throw new Unreadable(caseWithoutEnd)
  }

  /** Reads one token of a list of commands. False at the end of the list. */
  #token(frame: Frame): boolean {
    const reader = this.#reader
    if (this.#facts.size > maxFacts) throw new TooMuch(tooManyWords)
    reader.takeWhile(/[ \t]/)
    const next = reader.peek()
    if (next === '') {
      if (frame.close === ')') throw new Unreadable(parenthesisNotClosed)
      return false
    }
    if (next === '#') this.#comment()
    else if (next === '\n') this.#newline(frame)
    else if (next === ')') return this.#closing(frame)
    else if (this.#substitution?.hereDocument === 'read') throw new Unreadable(misprinted)
    else if (next === '(') this.#opening(frame)
    else if (/[;&|]/.test(next) && !(next === '&' && reader.peekSecond() === '>')) this.#separator(frame)
    else if (/[<>&]/.test(next) && reader.peekSecond() !== '(') this.#redirect(frame)
    else this.#word(frame)
    return true
  }

  #comment(): void {
    const reader = this.#reader
    if (this.#isInBackticks) throw new Unreadable(backticksWithComment)
    let text = ''
    while (!/^\n?$/.test(reader.peekRaw())) text += reader.takeLiteral()
    // Older versions of bash also search comments for the end of a substitution.
    if (reader.isNested && /['"`()\\]/.test(text)) throw new Unreadable(substitutionCommentQuotes)
  }

  #newline(frame: Frame): void {
    const reader = this.#reader
    const { next } = frame
    if (frame.isBeforeHereDocument) throw new Unreadable(hereDocumentInWord)
    if (/^(?:loop variable|case subject|rest of pattern|function name)$/.test(next))
      throw new Unreadable(lineEndsInside)
    if (frame.hereDocuments.length === 0) {
      if (next !== 'command') this.#separate()
      reader.take()
    } else {
      reader.isHereDocumentNext = false
      reader.take()
      for (const document of frame.hereDocuments) this.#hereDocument(document)
      frame.hereDocuments = []
      if (this.#substitution !== undefined) this.#substitution.hereDocument = 'read'
    }
    if (!/^(?:loop words|case in|pattern)$/.test(next)) frame.next = 'command'
  }

  #separate(): void {
    const substitution = this.#substitution
    if (substitution === undefined) return
    if (substitution.hereDocument !== 'none') throw new Unreadable(misprinted)
    substitution.hasSeparator = true
  }

  #separator(frame: Frame): void {
    this.#separate()
    const text = this.#reader.takeWhile(/[;&|]/)
    if (!/^(?:;|;;|;&|;;&|&|&&|\||\|\||\|&)$/.test(text)) throw new Unreadable(operatorsInARow)
    if (/^(?:pattern|case in|case subject|loop variable|function name)$/.test(frame.next))
      throw new Unreadable(operatorMisplaced)
    if (frame.next === 'rest of pattern') {
      if (text !== '|') throw new Unreadable(operatorMisplaced)
      return
    }
    if (/^;[;&]/.test(text)) {
      if (frame.cases === 0) throw new Unreadable(caseNotBegun)
      frame.next = 'pattern'
    } else {
      if (text !== ';') this.#joiners.set(text, (this.#joiners.get(text) ?? 0) + 1)
      frame.next = 'command'
    }
  }

  #closing(frame: Frame): boolean {
    if (frame.next === 'rest of pattern') {
      this.#reader.take()
      frame.next = 'command'
      return true
    }
    if (frame.close !== ')') throw new Unreadable(parenthesisNotOpened)
    return false
  }

  #opening(frame: Frame): void {
    const reader = this.#reader
    const pos = reader.position
    const isArithmetic = reader.peekSecond() === '('
    if (frame.next === 'pattern') {
      reader.take()
      frame.next = 'rest of pattern'
    } else if (isArithmetic && frame.next === 'loop variable') {
      reader.take()
      this.#words.arithmetic(true)
      frame.next = 'loop words'
    } else if (frame.next !== 'command' && frame.next !== 'time option') throw new Unreadable(parenthesisMisplaced)
    else {
      reader.take()
      if (isArithmetic) {
        this.#words.arithmetic(false)
        this.#facts.add(`(( ${pos} ${reader.position}`)
      } else {
        this.#nestedList(')')
        reader.take()
      }
      frame.next = 'rest'
    }
  }

  #redirect(frame: Frame): void {
    if (!/^(?:command|name|argument|rest|time option)$/.test(frame.next)) throw new Unreadable(operatorMisplaced)
    const operator = this.#redirectOperator()
    if (frame.next === 'command' || frame.next === 'time option') frame.next = 'name'
    const reader = this.#reader
    reader.takeWhile(/[ \t]/)
    this.#facts.add(`${operator} ${reader.position}`)
    if (/^[<>]&$/.test(operator) && reader.peek() === '-') {
      reader.take()
      return this.#words.addWord({ pos: reader.position - 1, text: '-', value: '-' })
    }
    if (reader.peek() === '#') throw new Unreadable(redirectWithoutTarget)
    if (operator === '<<' || operator === '<<-') {
      frame.hereDocuments.push({ ...readDelimiter(reader), stripsTabs: operator === '<<-' })
      reader.isHereDocumentNext = true
      if (this.#substitution !== undefined) beginHereDocument(this.#substitution)
      return
    }
    const word = this.#words.word()
    if (word === undefined) throw new Unreadable(redirectWithoutTarget)
    this.#words.addWord(word)
  }

  #redirectOperator(): string {
    const reader = this.#reader
    let operator = reader.take()
    const longer = /^(?:<<|<>|<&|>>|>&|>\||&>|<<<|<<-|&>>)$/
    while (reader.peek() !== '' && longer.test(operator + reader.peek())) operator += reader.take()
    return operator
  }

  #hereDocument(document: HereDocument): void {
    const reader = this.#reader
    const pos = reader.position
    readHereDocument(document, reader, () => this.#words.quotedText('here-document'))
    this.#facts.add(`${document.isQuoted ? "<<'E'" : '<<E'} ${pos} ${reader.position}`)
    skipDelimiterLine(document, reader)
  }

  #word(frame: Frame): void {
    const word = this.#words.word()
    if (word === undefined) throw new Unreadable(operatorMisplaced)
    if (this.#isDescriptor(word)) return
    const { text } = word
    switch (frame.next) {
      case 'time option':
        if (text === '-p' || text === '--') return
        return this.#commandWord(frame, word)
      case 'command':
        return this.#commandWord(frame, word)
      case 'rest':
        if (!afterCompound.has(text) && !closers.has(text)) throw new Unreadable(wordAfterCompound)
        return this.#keyword(frame, text)
      case 'name':
        return this.#simpleWord(frame, word)
      case 'argument':
        return this.#words.addWord(word)
      case 'loop variable':
        this.#words.addWord(word)
        frame.next = 'loop words'
        return
      case 'loop words':
        return this.#loopWord(frame, text)
      case 'case subject':
        this.#words.addWord(word)
        frame.next = 'case in'
        return
      case 'case in':
        if (text !== 'in') throw new Unreadable(caseWithoutPatterns)
        frame.next = 'pattern'
        return
      case 'pattern':
        if (text === 'esac') return this.#keyword(frame, text)
        this.#words.addWord(word)
        frame.next = 'rest of pattern'
        return
      case 'rest of pattern':
        return this.#words.addWord(word)
      case 'function name':
        this.#words.addWord(word)
        this.#emptyParentheses()
        frame.next = 'command'
    }
  }

  /** Whether a word is the `2` of `2>` or the `{fd}` of `{fd}>`. */
  #isDescriptor({ text, pos }: LexedWord): boolean {
    if (!/[<>]/.test(this.#reader.peek())) return false
    if (/^\{.*\}$/s.test(text) && !/^\{[A-Za-z_]\w*\}$/.test(text)) throw new Unreadable(subscriptRuns)
    if (!/^(?:\d+|\{.*\})$/s.test(text)) return false
    if (text.length > 4 && !text.startsWith('{')) throw new Unreadable(descriptorTooLarge)
    this.#facts.add(`fd ${pos} ${pos + text.length}`)
    return true
  }

  #commandWord(frame: Frame, word: LexedWord): void {
    const { text } = word
    if (openers.has(text) || closers.has(text)) return this.#keyword(frame, text)
    if (text === 'time') frame.next = 'time option'
    else if (text === 'for' || text === 'select') frame.next = 'loop variable'
    else if (text === 'case') frame.next = 'case subject'
    else if (text === 'function') frame.next = 'function name'
    else if (text === 'coproc') throw new Unreadable(ambiguousCoproc)
    else if (text === '[[') {
      this.#test()
      frame.next = 'rest'
    } else if (!isAssignment.test(text) && this.#emptyParentheses()) {
      this.#words.addWord(word)
      frame.next = 'command'
    } else this.#simpleWord(frame, word)
    if (frame.next === 'case subject') frame.cases += 1
  }

  #keyword(frame: Frame, text: string): void {
    frame.next = closers.has(text) ? 'rest' : 'command'
    if (text !== 'esac') return
    if (frame.cases === 0) throw new Unreadable(caseNotBegun)
    frame.cases -= 1
  }

  #simpleWord(frame: Frame, word: LexedWord): void {
    this.#words.addWord(word)
    if (isAssignment.test(word.text)) frame.next = 'name'
    else {
      this.#facts.add(`command ${word.pos}`)
      frame.next = 'argument'
    }
  }

  #loopWord(frame: Frame, text: string): void {
    if (text !== 'in' && text !== 'do' && text !== '{') throw new Unreadable(loopWithoutWords)
    frame.next = text === 'in' ? 'argument' : 'command'
  }

  /** The `()` after the name of a function. */
  #emptyParentheses(): boolean {
    const reader = this.#reader
    reader.takeWhile(/[ \t]/)
    if (reader.peek() !== '(') return false
    reader.take()
    reader.takeWhile(/[ \t]/)
    if (reader.take() !== ')') throw new Unreadable(parenthesisMisplaced)
    return true
  }

  /** The expression between `[[` and `]]`. */
  #test(): void {
    const reader = this.#reader
    let depth = 0
    let before = ''
    for (;;) {
      reader.takeWhile(/[ \t\n]/)
      const next = reader.peek()
      const pos = reader.position
      if (next === '(' || next === ')') {
        depth += next === '(' ? 1 : -1
        if (reader.peekSecond() === '(' || depth < 0) throw new Unreadable(parenthesisMisplaced)
        before = reader.take()
      } else if ((next === '&' || next === '|') && reader.peekSecond() === next) before = reader.take() + reader.take()
      else if ((next === '<' || next === '>') && reader.peekSecond() !== '(') {
        before = reader.take()
        this.#words.addWord({ pos, text: before, value: before })
      } else {
        if (next === '#') throw new Unreadable(testWithComment)
        const word = this.#words.word(before === '=~')
        if (word === undefined) throw new Unreadable(operatorMisplaced)
        if (word.text === ']]' && depth === 0) return
        this.#words.addWord(word)
        before = word.text
      }
    }
  }
}
