import type { Assignment, HereDoc, Redirect, HereString, SyntaxNode, TestExpression, Word } from 'unbash'
import { forEachChild } from 'unbash'
import { ansiValue } from './ansi-quotes.ts'
import type { Findings } from './lexer-words.ts'

/**
 * Whether parser and lexer found the same at the same positions: words and their values, quotes, expansions, substitutions, redirects,
 * here-documents and names of commands. Text that the parser skipped, or a substitution that it read as plain text, is missing in its tree and
 * therefore detected.
 */
export function parserAgrees({ text, facts, values, joiners }: Findings, script: SyntaxNode): boolean {
  const tree = new TreeFacts(text)
  tree.visit(script, true)
  return (
    tree.isOneText &&
    tree.facts.size === facts.size &&
    [...facts].every((fact) => tree.facts.has(fact)) &&
    [...tree.values].every(([pos, value]) => values.get(pos) === value) &&
    tree.joiners.size === joiners.size &&
    [...joiners].every(([joiner, count]) => tree.joiners.get(joiner) === count)
  )
}

/** Collects facts from the parser's tree, in the form of the lexer's facts. */
class TreeFacts {
  readonly facts: Set<string> = new Set()
  readonly values: Map<number, string> = new Map()
  readonly joiners: Map<string, number> = new Map()
  /** False if a part of the tree has positions in another text. */
  isOneText = true
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** `isToken`: words directly in this node are words of a command, not parts of a word. */
  visit(node: SyntaxNode, isToken: boolean): void {
    this.#note(node, isToken)
    if (node.type === 'ArithmeticExpansion' || node.type === 'ArithmeticCommand') return
    if (node.type === 'ArithmeticFor') return this.visit(node.body, isToken)
    forEachChild(node, (child) => this.visit(child, isTokenIn(node, child, isToken)))
  }

  #note(node: SyntaxNode, isToken: boolean): void {
    switch (node.type) {
      case 'Script':
        if (node.source !== undefined) this.isOneText = false
        return
      case 'Statement':
        if (node.background === true) this.#join('&')
        return
      case 'Pipeline':
      case 'AndOr':
        for (const operator of node.operators) this.#join(operator)
        return
      case 'Word':
        if (isToken) this.#addWord(node, valueOf(node))
        return
      case 'Assignment':
        return this.#assignment(node)
      case 'Command':
        if (node.name !== undefined) this.facts.add(`command ${node.name.pos}`)
        return
      case 'Redirect':
      case 'HereString':
        return this.#redirect(node)
      case 'HereDoc':
        return this.#hereDocument(node)
      case 'TestUnary':
      case 'TestBinary':
      case 'TestNot':
        return this.#test(node)
      default: {
        const kind = kindOf(node)
        if (kind !== undefined) this.#add(kind, node)
      }
    }
  }

  #add(kind: string, { pos, end }: { readonly pos: number; readonly end: number }): void {
    this.facts.add(`${kind} ${pos} ${end}`)
  }

  #addWord(node: { readonly pos: number; readonly end: number }, value: string | undefined): void {
    this.#add('word', node)
    if (value !== undefined) this.values.set(node.pos, value)
  }

  #join(joiner: string): void {
    this.joiners.set(joiner, (this.joiners.get(joiner) ?? 0) + 1)
  }

  #assignment(node: Assignment): void {
    const { value, name, append, index } = node
    const plain = value.type === 'Word' ? valueOf(value) : undefined
    const before = `${name}${index === undefined ? '' : `[${index.text}]`}${append === true ? '+' : ''}=`
    this.#addWord(node, plain === undefined ? undefined : before + plain)
  }

  #redirect({ operator, target }: Redirect | HereString): void {
    if (target !== undefined) this.facts.add(`${operator} ${target.pos}`)
  }

  #hereDocument({ operator, delimiter, body }: HereDoc): void {
    if (delimiter !== undefined) this.facts.add(`${operator} ${delimiter.pos}`)
    this.#add(delimiter?.quoted === true ? "<<'E'" : '<<E', body)
  }

  /** The tree has no positions for the operators of `[[`. */
  #test(node: Extract<TestExpression, { type: 'TestUnary' | 'TestBinary' | 'TestNot' }>): void {
    if (node.type === 'TestNot') {
      for (const negation of node.negations) this.#addWord(negation, '!')
    } else if (node.type === 'TestUnary') {
      if (node.operand.pos > node.pos) this.#operator(node.operator, node.pos)
    } else {
      const between = this.#text.slice(node.left.end, node.right.pos)
      this.#operator(node.operator, node.left.end + between.search(/[^ \t\n]/))
    }
  }

  #operator(operator: string, pos: number): void {
    this.#addWord({ pos, end: pos + operator.length }, operator)
  }
}

function isTokenIn(node: SyntaxNode, child: SyntaxNode, isToken: boolean): boolean {
  if (node.type === 'Assignment') return child.type === 'ArrayValue'
  if (node.type === 'ParameterExpansion') return false
  return node.type === 'Script' || isToken
}

function kindOf(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case 'ArrayValue':
      return '=('
    case 'SingleQuoted':
      return "'"
    case 'DoubleQuoted':
      return '"'
    case 'AnsiCQuoted':
      return "$'"
    case 'SimpleExpansion':
      return '$'
    case 'ParameterExpansion':
      return '${'
    case 'ArithmeticExpansion':
      return '$(('
    case 'ArithmeticCommand':
      return '(('
    case 'CommandExpansion':
      return node.text.startsWith('`') ? '`' : '$('
    case 'ProcessSubstitution':
      return `${node.operator}(`
    case 'FileDescriptor':
    case 'FileDescriptorVariable':
      return 'fd'
    default:
      return undefined
  }
}

/** A word without its quotes; undefined if a variable or a command contributes to it. */
function valueOf(word: Word): string | undefined {
  return isFixed(word) ? word.value : undefined
}

function isFixed(node: SyntaxNode): boolean {
  if (node.type === 'AnsiCQuoted') return ansiValue(node.text) !== undefined
  if (!fixedNodeTypes.has(node.type)) return false
  let all = true
  forEachChild(node, (part) => {
    if (!isFixed(part)) all = false
  })
  return all
}

const fixedNodeTypes: ReadonlySet<SyntaxNode['type']> = new Set<SyntaxNode['type']>([
  'Word',
  'Literal',
  'SingleQuoted',
  'DoubleQuoted',
  'Glob',
])
