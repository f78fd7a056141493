import type { ParameterExpansionPart, Redirect, SyntaxNode, Word } from 'unbash'
import { forEachChild } from 'unbash'
import { ansiValue } from './ansi-quotes.ts'
import { bracesOf } from './braces.ts'
import { shellWords } from './words.ts'
import {
  commandNameUnknown,
  expansionQuotesMayQuoteNothing,
  expansionRuns,
  fileNameExpandedTwice,
  indirectExpansionRuns,
  mayBeReservedWord,
  notParsed,
  subscriptRuns,
  tooManyBraceWords,
  variableArithmeticRuns,
} from './shell-texts.ts'

/**
 * Why a piece of shell may run commands that it does not contain. Arithmetic evaluates the values of variables, including command substitutions in
 * array subscripts; some expansions evaluate text again. Undefined if it cannot.
 */
export function opaqueReason(node: SyntaxNode, isKnownNumber: (name: string) => boolean): string | undefined {
  if (node.type === 'Script') {
    const [error] = node.errors ?? []
    return error === undefined ? undefined : notParsed(error.message)
  }
  if (node.type === 'Command') {
    const { name } = node
    // Inside `$(…)` bash prints the command and parses the printed text: a redirect then follows such a word, which becomes a reserved word.
    if (name !== undefined && reservedWords.has(name.text)) return mayBeReservedWord
    const isUnknown =
      name !== undefined && (!isKnownName(name) || shellWords(name).some(({ kind }) => kind !== 'literal'))
    return isUnknown ? commandNameUnknown : undefined
  }
  if (node.type === 'Redirect') return isReadTwice(node) ? fileNameExpandedTwice : undefined
  if (
    node.type === 'Word' &&
    hasBraces(node) &&
    bracesOf(node.text) === undefined &&
    /\.\.|\{.*\{.*\{/s.test(node.text)
  )
    return tooManyBraceWords
  if (isArithmetic(node)) return isPlainArithmetic(node) || holdsNumbers(node, isKnownNumber) ? undefined : evaluated
  if (node.type === 'ParameterExpansion') return expansionReason(node)
  if (node.type === 'Assignment')
    return node.index === undefined || isLiteralSubscript(node.index) ? undefined : subscript
  if (node.type === 'TestUnary') return node.operator === '-v' || node.operator === '-R' ? subscript : undefined
  if (node.type !== 'TestBinary' || !/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) return undefined
  return isNumber(node.left) && isNumber(node.right) ? undefined : evaluated
}

/** `>& FILE` is `&> FILE`, and bash expands the name twice: the second time it runs substitutions that were quoted. */
function isReadTwice({ operator, target }: Redirect): boolean {
  return (operator === '>&' || operator === '<&') && target !== undefined && !/^[\w./,:=@%+-]*$/.test(target.value)
}

function hasBraces(word: Word): boolean {
  let has = false
  forEachChild(word, (part) => {
    if (part.type === 'BraceExpansion') has = true
  })
  return has
}

const evaluated = variableArithmeticRuns
const subscript = subscriptRuns

function isArithmetic(node: SyntaxNode): boolean {
  return node.type === 'ArithmeticExpansion' || node.type === 'ArithmeticCommand' || node.type === 'ArithmeticFor'
}

/** `$((x + 1))` if all its variables are known to be numbers: evaluating a number gives that number. */
function holdsNumbers(node: SyntaxNode, isKnownNumber: (name: string) => boolean): boolean {
  if (node.type !== 'ArithmeticExpansion' || !setsNothing(node.text)) return false
  return (node.text.match(/[A-Za-z_]\w*/g) ?? []).every(isKnownNumber)
}

/** Names, numbers and operators, none of which sets a variable. */
export function setsNothing(text: string): boolean {
  return /^\$\(\([\s\w()+*/%<>=!&|?:^~-]*\)\)$/.test(text) && !/\+\+|--|<<=|>>=|(?<![<>=!])=(?!=)/.test(text)
}

function expansionReason({ prefix, index, operation, text }: ParameterExpansionPart): string | undefined {
  // In double quotes and here-documents, single quotes inside braces do not quote: substitutions between them run.
  if (text.includes("'") && /[`$]/.test(text.slice(2))) return expansionQuotesMayQuoteNothing
  if (prefix === '!') return indirectExpansionRuns
  if (index !== undefined && !isLiteralSubscript(index)) return subscript
  if (operation?.type === 'Slice') {
    const bounds = [operation.offset, operation.length].filter((word) => word !== undefined)
    return bounds.every(isNumber) ? undefined : evaluated
  }
  const isEvaluatedAgain = operation?.type === 'Transform' || operation?.type === 'Unknown'
  return isEvaluatedAgain ? expansionRuns : undefined
}

export const reservedWords: ReadonlySet<string> = new Set(
  '! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
)

function isKnownName(name: Word): boolean {
  let isKnown = !name.text.startsWith('~')
  forEachChild(name, (part) => {
    const isQuote = part.type === 'DoubleQuoted' && part.parts.every((inner) => inner.type === 'Literal')
    // `[` is a separate command, and looks like the start of a glob.
    const isAnsi = part.type === 'AnsiCQuoted' && ansiValue(part.text) !== undefined
    const isPlain = part.type === 'Literal' || part.type === 'SingleQuoted' || isAnsi || isQuote
    if (!isPlain && name.text !== '[') isKnown = false
  })
  return isKnown
}

function isNumber(word: Word): boolean {
  return /^\s*-?\d+$/.test(word.text)
}

function isLiteralSubscript(word: Word): boolean {
  return word.text === '@' || word.text === '*' || isNumber(word)
}

/** Whether the expression contains numbers and operators only. */
function isPlainArithmetic(node: SyntaxNode): boolean {
  let isPlain = node.type !== 'ArithmeticWord' || /^\d+$/.test(node.value)
  forEachChild(node, (child) => {
    const isBody = child.type === 'CompoundList'
    const isSubstitution = child.type === 'ArithmeticCommandExpansion' || child.type === 'CommandExpansion'
    // The output of a command is evaluated again.
    if (isSubstitution || (!isBody && !isPlainArithmetic(child))) isPlain = false
  })
  return isPlain
}
