import type { CommandArgument, DoubleQuotedChild, SyntaxNode, Word, WordPart } from 'unbash'
import { forEachChild } from 'unbash'
import { ansiValue } from './ansi-quotes.ts'
import { bracesOf } from './braces.ts'

/** One word of a command, and how much of it is known before the command runs. */
export interface ShellWord {
  /** The source text of the word. */
  readonly source: string
  /** The word without quotes and with known variables inserted; for a glob, a pattern in which quoted characters are escaped. */
  readonly value: string
  /**
   * `literal`: it is its value. `glob`: it expands to file names. `dynamic`: it contains something that only the shell knows (a variable, the output
   * of a command), or becomes several words.
   */
  readonly kind: 'literal' | 'glob' | 'dynamic'
  /** For a dynamic word: it remains one word, as all unknown parts are quoted. */
  readonly isOne?: boolean
  /** For a dynamic word: its unquoted parts may become a pattern, which expands to file names. */
  readonly couldBePattern?: boolean
  /** `<(…)` and nothing else: the path of a pipe with the output of its commands, which are judged themselves. */
  readonly isPipe?: boolean
  /** For a dynamic word: git object ids, with text that makes them neither an option, nor a pattern, nor a path. */
  readonly isRevision?: boolean
  /** A path that find inserts for `{}`: its name is only known at run time, but it has no leading dash. */
  readonly isFound?: boolean
  /** For a glob operand: a matching name may begin with a dash. */
  readonly couldBeOption?: boolean
}

/** The values of variables at a word; variables that are not included are unknown. */
export type Scope = ReadonlyMap<string, ShellWord>

const nothingKnown: Scope = new Map()

/** The words to which one word expands: braces produce several. */
export function shellWords(node: CommandArgument, scope: Scope = nothingKnown): readonly ShellWord[] {
  if (node.type === 'Assignment') return [assignmentWord(node, scope)]
  if (!couldHaveBraces(node)) return [shellWord(node, scope)]
  const texts = bracesOf(node.text)
  if (texts === undefined)
    return [{ source: node.text, value: node.value, kind: 'dynamic', couldBePattern: /[*?[$`]/.test(node.text) }]
  // An empty word without quotes disappears.
  return texts.filter(Boolean).map((text) => ({
    source: node.text,
    value: text,
    kind: text.startsWith('~') && !isHome(text, scope) ? 'dynamic' : /[*?]/.test(text) ? 'glob' : 'literal',
  }))
}

/** Whether a word begins with the home directory, and that directory is known: it is unknown after a command that may set HOME. */
function isHome(text: string, scope: Scope): boolean {
  return /^~(?:\/|$)/.test(text) && !scope.has('')
}

/** Whether the shell may expand braces that the parser reads as text: `{a},b}`. */
function couldHaveBraces({ text, parts }: Word): boolean {
  const bare =
    parts?.map((part) => (isBare(part) ? part.text : part.type === 'BraceExpansion' ? '{,}' : 'x')).join('') ?? text
  return /\{.*(?:,|\.\.).*\}/s.test(bare.replaceAll(/\\./gs, 'x'))
}

function isBare({ type }: WordPart): boolean {
  return type === 'Literal' || type === 'Glob' || type === 'ExtendedGlob'
}

/** The shell also expands a tilde in words that look like an assignment, after `=` and after each `:`. */
const tildeLater = /^[A-Za-z_]\w*(?:\[.*\])?\+?=(?:.*:)?~/s

export function shellWord(node: CommandArgument, scope: Scope = nothingKnown): ShellWord {
  if (node.type === 'Assignment') return assignmentWord(node, scope)
  const { text } = node
  if (isPipe(node)) return { source: text, value: node.value, kind: 'dynamic', isOne: true, isPipe: true }
  // A quoted tilde is a character; ~ and ~/ are the home directory, every other form depends on the shell.
  const isOddTilde = (text.startsWith('~') && !isHome(text, scope)) || tildeLater.test(text)
  if (!isOddTilde && partsOf(node).every(isPlainPart)) return { source: text, value: valueOf(node), kind: 'literal' }
  const read = isOddTilde ? undefined : readParts(node, scope)
  if (read !== undefined) return { source: text, ...read }
  const isRevision = !isOddTilde && !node.value.startsWith('-') && namesRevision(node.parts ?? [], scope)
  const couldBePattern = !isRevision && (node.parts ?? []).some((part) => couldHoldPattern(part, scope))
  const isOne = !isOddTilde && isOneWord(node)
  return {
    source: text,
    value: valueOf(node),
    kind: 'dynamic',
    isOne,
    couldBePattern,
    ...(isRevision && { isRevision }),
  }
}

/**
 * Commands that print git object ids and nothing else, or the name that they were given. Excludes `git describe` and `git rev-parse --abbrev-ref`:
 * the name of a tag or branch may begin with a dash, and be an option.
 */
const printsIds = new RegExp(
  [
    String.raw`^\$\(git (?:--no-pager )?(?:merge-base(?: --fork-point| --octopus)?`,
    String.raw`rev-parse(?: (?:--verify|-q|--quiet|--short(?:=\d{1,2})?))*`,
    String.raw`rev-list(?: (?:-1|-n 1|--max-count=1|--max-parents=0|--first-parent))+`,
    String.raw`log (?:-1|-n 1) --(?:format|pretty)=%[Hh])(?: (?!\S*\.\.)[A-Za-z][\w./@{}~^-]*)*\)$`,
  ].join('|'),
)

function namesRevision(parts: readonly (WordPart | DoubleQuotedChild)[], scope: Scope): boolean {
  let hasIds = false
  const isSafe = parts.every((part) => {
    if (part.type === 'DoubleQuoted') {
      hasIds ||= namesRevision(part.parts, scope)
      return namesRevision(part.parts, scope) || part.parts.every(isPlainText)
    }
    if (isPlainText(part)) return true
    const isId = printsIds.test(part.text) || scope.get(nameOfVariable(part) ?? '')?.isRevision === true
    hasIds ||= isId
    return isId
  })
  return hasIds && isSafe
}

/** Whether a part contains no path, pattern or list. */
function isPlainText(part: WordPart | DoubleQuotedChild): boolean {
  return part.type === 'Literal' && /^[\w.~^-]*$/.test(part.text)
}

function isPipe({ parts = [] }: Word): boolean {
  const [part] = parts
  return parts.length === 1 && part?.type === 'ProcessSubstitution' && part.operator === '<'
}

/** Names of variables that a line cannot set without approval, and whose values contain no pattern. */
const plainVariable =
  /^(?:HOME|PATH|PWD|OLDPWD|USER|LOGNAME|SHELL|HOSTNAME|UID|EUID|PPID|BASHPID|RANDOM|SECONDS|LINENO|[?#$!-])$/

function couldHoldPattern(part: WordPart, scope: Scope): boolean {
  if (plainNodeTypes.has(part.type) || part.type === 'ArithmeticExpansion') return false
  if (/^\$\((?:date|pwd|whoami|uname|nproc|id|hostname)(?: [\w+%:.-]+)*\)$/.test(part.text)) return false
  const name = nameOfVariable(part)
  if (name === undefined) return true
  const variable = scope.get(name)
  // The words of a loop are judged at the loop.
  if (variable !== undefined) return variable.kind !== 'glob' && /[*?[\\]/.test(variable.value)
  return !plainVariable.test(name)
}

function assignmentWord(node: Extract<CommandArgument, { type: 'Assignment' }>, scope: Scope): ShellWord {
  const value = node.value.type === 'Word' && node.index === undefined ? shellWord(node.value, scope) : undefined
  if (value === undefined) return { source: node.text, value: node.text, kind: 'dynamic' }
  return {
    source: node.text,
    value: `${node.name}=${value.value}`,
    kind: value.kind === 'literal' ? 'literal' : 'dynamic',
  }
}

const plainNodeTypes: ReadonlySet<SyntaxNode['type']> = new Set<SyntaxNode['type']>([
  'Literal',
  'SingleQuoted',
  'DoubleQuoted',
  'AnsiCQuoted',
])

function partsOf(node: SyntaxNode): readonly SyntaxNode[] {
  const parts: SyntaxNode[] = []
  forEachChild(node, (child) => parts.push(child, ...partsOf(child)))
  return parts
}

/** Whether the value of a part is known and is not a pattern. */
function isPlainPart(part: SyntaxNode): boolean {
  return plainNodeTypes.has(part.type) && (part.type !== 'AnsiCQuoted' || ansiValue(part.text) !== undefined)
}

/** A leading tilde remains only if the shell expands it: `'~/x'` is the path `./~/x`. */
function valueOf(word: Word): string {
  return word.value.startsWith('~') && !word.text.startsWith('~') ? `./${word.value}` : word.value
}

interface Piece {
  readonly text: string
  readonly isPattern?: boolean
  /** Whether its first character, a tilde, means the home directory. */
  readonly isHome?: boolean
}

/** A word with patterns and known variables; undefined if something in it is unknown. */
function readParts(word: Word, scope: Scope): Pick<ShellWord, 'value' | 'kind'> | undefined {
  const parts: readonly (WordPart | undefined)[] = word.parts ?? [undefined]
  const pieces: Piece[] = []
  for (const [index, part] of parts.entries()) {
    const read = part === undefined ? undefined : piecesOf(part, scope, index === 0, parts[index + 1])
    if (read === undefined) return undefined
    pieces.push(...read)
  }
  const isGlob = pieces.some(({ isPattern }) => isPattern === true)
  // A shell option may change what patterns match; named classes depend on the locale.
  if (isGlob && (scope.has('') || /\[[:=.]/.test(word.text))) return undefined
  const value = pieces
    .map(({ text, isPattern }) =>
      isGlob && isPattern !== true ? text.replaceAll(/[\\*?[\]]/g, String.raw`\$&`) : text,
    )
    .join('')
  const isTilde = value.startsWith('~') && !word.text.startsWith('~') && pieces[0]?.isHome !== true
  return { value: isTilde ? `./${value}` : value, kind: isGlob ? 'glob' : 'literal' }
}

function piecesOf(
  part: WordPart,
  scope: Scope,
  isFirst: boolean,
  next: WordPart | undefined,
): readonly Piece[] | undefined {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
      return [{ text: part.value }]
    case 'AnsiCQuoted': {
      const text = ansiValue(part.text)
      return text === undefined ? undefined : [{ text }]
    }
    case 'Glob':
      // Quotes among the characters of a class are not supported here.
      return /["'\\$`]/.test(part.text) ? undefined : [{ text: part.text, isPattern: true }]
    case 'DoubleQuoted': {
      const inner = part.parts.map((child, index) => {
        const after = part.parts[index + 1]
        const endsFolder = after === undefined ? next === undefined || startsWithSlash(next) : startsWithSlash(after)
        return quotedPiece(child, scope, isFirst && index === 0, endsFolder)
      })
      return inner.includes(undefined) ? undefined : inner.flatMap((piece) => piece ?? [])
    }
    default: {
      const variable = scope.get(nameOfVariable(part) ?? '')
      // Without quotes the value is split at spaces, and may contain patterns.
      return variable?.kind === 'literal' && /^[\w./,:=@%+-]+$/.test(variable.value)
        ? [{ text: variable.value }]
        : undefined
    }
  }
}

/** `isFirst`: the word begins with it. `endsFolder`: the word ends after it, or a slash follows. */
function quotedPiece(part: DoubleQuotedChild, scope: Scope, isFirst: boolean, endsFolder: boolean): Piece | undefined {
  if (part.type === 'Literal') return { text: part.value }
  const name = nameOfVariable(part)
  if (name === undefined) return undefined
  const variable = scope.get(name)
  if (variable !== undefined && variable.kind !== 'dynamic') return variablePiece(variable, isFirst, endsFolder)
  if (!isFirst || !endsFolder || scope.has('')) return undefined
  return name === 'PWD' ? { text: '.' } : name === 'HOME' ? { text: '~', isHome: true } : undefined
}

/** The value of a variable, as a part of a word. A leading tilde was written as the home directory, or as `./~`. */
function variablePiece({ value, kind }: ShellWord, isFirst: boolean, endsFolder: boolean): Piece | undefined {
  const isHome = value.startsWith('~')
  const isReadAsWritten = isFirst && (endsFolder || value.includes('/'))
  if ((isHome || value.startsWith('./~')) && !isReadAsWritten) return undefined
  // The matching names, one after another.
  return { text: value, isHome, ...(kind === 'glob' && { isPattern: true }) }
}

function nameOfVariable(part: WordPart | DoubleQuotedChild): string | undefined {
  if (part.type === 'SimpleExpansion') return part.text.slice(1)
  const isBare = part.type === 'ParameterExpansion' && part.prefix === undefined
  return isBare && part.index === undefined && part.operation === undefined ? part.parameter : undefined
}

function startsWithSlash(part: WordPart): boolean {
  return (part.type === 'Literal' || part.type === 'SingleQuoted') && part.value.startsWith('/')
}

/** Whether all unknown parts are in double quotes, and none of them is a list. */
function isOneWord(word: Word): boolean {
  return (word.parts ?? []).every((part) => {
    if (plainNodeTypes.has(part.type) && part.type !== 'DoubleQuoted') return true
    return (
      part.type === 'DoubleQuoted' &&
      part.parts.every((inner) => !/[@]/.test(inner.type === 'Literal' ? '' : inner.text))
    )
  })
}

export function sourceOf(words: readonly ShellWord[]): string {
  return words.map((word) => word.source).join(' ')
}

export function valuesOf(words: readonly ShellWord[]): string {
  return words.map((word) => word.value).join(' ')
}
