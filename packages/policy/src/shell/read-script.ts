import { forEachChild, parse, type ParsedScript, type SyntaxNode } from 'unbash'
import { parserAgrees } from './parser-agreement.ts'
import { type Lexed, lexShell } from './lexer.ts'
import {
  ambiguousReading,
  dependsOnLocale,
  nestedTooDeeply,
  notParsed,
  notParsedReliably,
  parserFailed,
  textMayBeOperator,
  tooManyWords,
} from './shell-texts.ts'

/** A command line as the parser reads it, without line continuations. */
export interface ReadScript {
  /** Undefined if the parser fails, or would take too long. */
  readonly script: ParsedScript | undefined
  /** Why bash may read it differently. */
  readonly problem: string | undefined
}

/** Reads a command line twice, by the parser and by an independent lexer, and reports any disagreement as a problem. */
export function readScript(command: string): ReadScript {
  let script: ParsedScript | undefined
  try {
    const lexed = lexShell(command)
    if (lexed.kind === 'too much') return { script, problem: lexed.why }
    if (lexed.kind === 'unreadable' && command.length > longestUnreadable) return { script, problem: doubt(lexed) }
    script = parse(lexed.kind === 'read' ? lexed.text : command)
    if (!isSmall(script)) return { script: undefined, problem: tooManyWords }
    return { script, problem: problemOf(lexed, script) }
  } catch (thrown) {
    return { script, problem: notUnderstood(thrown) }
  }
}

function problemOf(lexed: Lexed, script: ParsedScript): string | undefined {
  const [error] = script.errors ?? []
  if (error !== undefined) return notParsed(error.message)
  if (lexed.kind !== 'read') return doubt(lexed)
  if (dependsOnEncoding(lexed.text)) return dependsOnLocale
  if (holdsOperatorAsText(script)) return textMayBeOperator
  return parserAgrees(lexed, script) ? undefined : ambiguousReading
}

/**
 * In some encodings, such as GBK, the last byte of a UTF-8 character and a following ASCII character, such as a backslash, form one character. Bash
 * uses the encoding of its environment, or of a variable that an earlier line has set.
 */
function dependsOnEncoding(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (/^[\u0000-\u007F]*$/.test(text)) return false
  const locale = localeNow()
  return /\b(?:LC_[A-Z]|LANG)/.test(text) || (locale !== undefined && !/^(?:C|POSIX)$|utf-?8/i.test(locale))
}

/** The locale in which bash reads characters, as far as the environment of this program shows it. */
export function localeNow(): string | undefined {
  const { LC_ALL, LC_CTYPE, LANG } = process.env
  return LC_ALL || LC_CTYPE || LANG || undefined
}

/** The parser recovers from the errors that its authors anticipated; any other exception is reported here. */
export function notUnderstood(thrown: unknown): string {
  const why = thrown instanceof RangeError ? nestedTooDeeply : parserFailed(String(thrown))
  return notParsed(why)
}

function doubt({ why }: { readonly why: string }): string {
  return notParsedReliably(why)
}

const longestUnreadable = 10_000
const maxText = 150_000
const maxNodes = 50_000
const deepestTree = 2000

/** The parser parses a substitution when it is visited, with everything nested in it: this bounds the total cost. */
function isSmall(script: SyntaxNode): boolean {
  let [text, nodes] = [0, 0]
  const visit = (node: SyntaxNode, depth: number): boolean => {
    nodes += 1
    if (node.type === 'Script') text += node.end - node.pos
    let isOver = text > maxText || nodes > maxNodes || depth > deepestTree
    if (!isOver)
      forEachChild(node, (child) => {
        isOver ||= visit(child, depth + 1)
      })
    return isOver
  }
  return !visit(script, 0)
}

/**
 * Whether the parser read as plain text what the shell may read as an operator, a quote or an expansion. Visits every
 * node of any type. In double quotes and here-documents only `$` and backticks are special.
 */
function holdsOperatorAsText(node: SyntaxNode, isQuoted = false): boolean {
  if (node.type === 'ExtendedGlob') return true
  // In a here-document with a quoted delimiter nothing is special.
  if (node.type === 'HereDoc' && node.delimiter?.quoted === true) return false
  const isQuotedWithin =
    node.type === 'DoubleQuoted' || node.type === 'HereDocBody' || (isQuoted && node.type !== 'Script')
  const sought = isQuotedWithin ? expansion : specialCharacter
  if (bareTexts(node).some((text) => sought.test(text.replaceAll(/\\./gs, '')))) return true
  let isFound = false
  forEachChild(node, (child) => {
    const isPattern = node.type === 'TestBinary' && node.operator === '=~' && child === node.right
    if (!isFound && !(isPattern && isPlainPattern(child))) isFound = holdsOperatorAsText(child, isQuotedWithin)
  })
  return isFound
}

const specialCharacter = /[<>()|&;`$'"]/
const expansion = /`|\$[\w({[@*#?$!-]/

/** The text of a node outside of its child nodes. */
function bareTexts(node: SyntaxNode): readonly string[] {
  switch (node.type) {
    case 'Word':
    case 'Glob':
    case 'BraceExpansion':
    case 'HereDocBody':
      return textsBetweenParts(node)
    case 'Literal':
      return [node.text]
    default:
      return []
  }
}

function textsBetweenParts({
  text,
  pos,
  parts,
}: Extract<SyntaxNode, { readonly type: 'Word' | 'Glob' | 'BraceExpansion' | 'HereDocBody' }>): readonly string[] {
  let at = 0
  const texts: string[] = []
  for (const part of parts ?? []) {
    texts.push(text.slice(at, part.pos - pos))
    at = part.end - pos
  }
  return [...texts, text.slice(at)]
}

/** `^[0-9]+$` on the right side of `=~` may end in a dollar sign. */
function isPlainPattern(node: SyntaxNode): boolean {
  return node.type === 'Word' && /^[^<>()|&;`$'"\\]*\$?$/.test(node.text)
}
