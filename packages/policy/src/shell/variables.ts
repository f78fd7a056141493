import { type CommandArgument, forEachChild, type ParameterExpansionPart, type SyntaxNode } from 'unbash'
import { assignsByFormat } from './grammars/system.ts'
import { setsNothing } from './opaque.ts'
import { type ShellWord, shellWord } from './words.ts'
import { formsOf } from './wrappers.ts'

/** Builtins that set variables, or change the expansion of words. */
export const assigners: ReadonlySet<string> = new Set(
  'read mapfile readarray getopts let declare typeset local export readonly unset eval source . wait set shopt enable alias unalias trap shift'.split(
    ' ',
  ),
)

/** Variables that change the expansion of words. */
const changesWords = /^(?:IFS|GLOBIGNORE|BASHOPTS|SHELLOPTS|HOME|PWD)$/

/** Variables whose values can be inserted into words, or why there are none. */
export interface AssignedVariables {
  /** Variables that are set in statements that do not always run, so that their values are unknown. */
  readonly unknown: ReadonlySet<string>
  readonly loops: ReadonlyMap<string, number>
  /** Something may set any variable, or change how words are read. */
  readonly isAny: boolean
}

/**
 * Finds all assignments before words are read. `isStraight`: it runs exactly once. `hasLines`: an error in one line skips its assignments, and the
 * next line runs.
 */
export function findAssignments(script: SyntaxNode, hasLines: boolean): AssignedVariables {
  const unknown = new Set<string>()
  const loops = new Map<string, number>()
  const assigned = { isAny: false }
  const look = (node: SyntaxNode, isStraight: boolean): void => {
    if (node.type === 'Function' || node.type === 'Coproc' || node.type === 'Select') assigned.isAny = true
    if (node.type === 'ArithmeticCommand' || node.type === 'ArithmeticFor' || node.type === 'ArithmeticExpansion') {
      if (!('text' in node) || (/[=+-]/.test(node.text) && !setsNothing(node.text))) assigned.isAny = true
    }
    if (node.type === 'FileDescriptorVariable' || (hasLines && mayFail(node))) assigned.isAny = true
    if (
      node.type === 'ParameterExpansion' &&
      node.operation?.type === 'Default' &&
      node.operation.operator.endsWith('=')
    ) {
      unknown.add(node.parameter)
      if (changesWords.test(node.parameter)) assigned.isAny = true
    }
    if (node.type === 'For') {
      if (changesWords.test(node.name.value)) assigned.isAny = true
      loops.set(node.name.value, (loops.get(node.name.value) ?? 0) + 1)
      if (!isStraight) unknown.add(`for ${node.name.value}`)
    }
    if (node.type === 'Command') {
      const words = [node.name, ...node.args].map((word) => (word === undefined ? '' : plainTextOf(word)))
      if (
        words
          .slice(0, /^(?:command|builtin)$/.test(words[0] ?? '') ? 20 : 3)
          .some((word) => assigners.has(word) || word === '$') ||
        /[$`*?[{]/.test(words[0]?.slice(words[0] === '[' ? 1 : 0) ?? '')
      )
        assigned.isAny = true
      const print = words.indexOf('printf')
      // The next word may be -v, and any word may be the format.
      const following = print === -1 ? undefined : words[print + 1]
      if (following !== undefined && /^-v|^[^']*[$`{*?[~]/.test(following)) assigned.isAny = true
      if (print !== -1 && node.args.some((arg) => arg.type === 'Assignment' || assignsByFormat(arg.value)))
        assigned.isAny = true
      for (const part of node.prefix) {
        if (part.type !== 'Assignment') continue
        if (changesWords.test(part.name)) assigned.isAny = true
        if (node.name === undefined && (!isStraight || part.append === true || part.index !== undefined))
          unknown.add(part.name)
      }
    }
    const keeps = isStraight && staysStraight(node)
    let isFirst = true
    forEachChild(node, (child) => {
      look(child, keeps && (node.type !== 'AndOr' || isFirst))
      isFirst = false
    })
  }
  look(script, true)
  return { unknown, loops, isAny: assigned.isAny }
}

/** A word without its quotes; a dollar sign if it contains escapes that are not resolved. */
function plainTextOf(word: CommandArgument): string {
  if (!word.text.includes("$'")) return word.text.replaceAll(/["'\\]/g, '')
  const { kind, value } = shellWord(word)
  return kind === 'literal' ? value : '$'
}

/** Whether its direct children run whenever it runs, in the same shell. */
export function staysStraight(node: SyntaxNode): boolean {
  return node.type === 'Script' || (node.type === 'Statement' && node.background !== true) || node.type === 'AndOr'
}

/** Names of variables that a command sets; undefined if they are only known at run time. */
export function setByCommand(command: readonly ShellWord[]): readonly string[] | undefined {
  const [name, ...args] = formsOf(command).at(-1) ?? []
  const names = (words: readonly ShellWord[]): readonly string[] | undefined => {
    const plain = words.filter(({ value }) => !value.startsWith('-'))
    if (plain.some(({ kind, value }) => kind !== 'literal' && !/^[A-Za-z_]\w*\+?=/.test(value))) return undefined
    return plain.map(({ value }) => value.split(/[+[=]/, 1)[0] ?? '').filter((text) => /^[A-Za-z_]\w*$/.test(text))
  }
  switch (name?.value) {
    case 'export':
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
    case 'read':
    case 'mapfile':
    case 'readarray':
    case 'getopts':
    case 'unset':
    case 'let':
      return name.value === 'read' && args.every(({ value }) => value.startsWith('-')) ? ['REPLY'] : names(args)
    case 'wait':
      return args.some(({ value, kind }) => value.startsWith('-p') || kind === 'dynamic') ? names(args) : []
    case 'printf': {
      const [first, second] = args
      if (first === undefined) return []
      if (first.kind !== 'literal') return undefined
      if (first.value.startsWith('-v'))
        return names(
          first.value === '-v' ? (second === undefined ? [] : [second]) : [{ ...first, value: first.value.slice(2) }],
        )
      return assignsByFormat(first.value) ? names(args.slice(1)) : []
    }
    default:
      return []
  }
}

/**
 * Whether bash may report an error for an expansion and skip the rest of its line. Then assignments there do not happen, and the next line runs with
 * the old values. Examples: a division by zero, `08`, a bad subscript.
 */
function mayFail(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'ArithmeticExpansion':
      return !isValidArithmetic(node.text)
    case 'ParameterExpansion':
      return mayFailToExpand(node)
    case 'Assignment':
      return node.index !== undefined && !naturalNumber.test(node.index.text)
    default:
      return false
  }
}

const naturalNumber = /^(?:0|[1-9]\d{0,8})$/
const offsetNumber = /^\s*-?(?:0|[1-9]\d{0,8})$/

function mayFailToExpand({ parameter, index, operation }: ParameterExpansionPart): boolean {
  if (index !== undefined && !/^[@*]$/.test(index.text) && !naturalNumber.test(index.text)) return true
  switch (operation?.type) {
    case 'Slice':
      return (
        !offsetNumber.test(operation.offset.text) ||
        (operation.length !== undefined && !naturalNumber.test(operation.length.text))
      )
    case 'Default':
      return operation.operator.endsWith('=') && !/^[A-Za-z_]\w*$/.test(parameter)
    default:
      return false
  }
}

const longest = 200

/** Whether operands and operators alternate, no number has a leading zero, and every divisor is a non-zero number. */
function isValidArithmetic(text: string): boolean {
  const inside = text.slice(3, -2)
  if (inside.length > longest || !setsNothing(text) || /\*\*|\b0\w|\b[1-9]\d*[A-Za-z_]|\d{18}/.test(inside))
    return false
  // `d` is a divisor that is known to be non-zero, `n` any other operand.
  let left = inside
    .replaceAll(/\b(?:[A-Za-z_]\w*|0)\b/g, 'n')
    .replaceAll(/\b[1-9]\d*\b/g, 'd')
    .replaceAll(/([nd])\s+(?=[nd])/g, '$1 ')
    .replaceAll(/(?<![nd])\s+|\s+(?![nd])/g, '')
  for (let before = ''; before !== left;) {
    before = left
    left = left
      .replaceAll(/\(([nd])\)/g, '$1')
      .replaceAll(/(?<![nd)])[-+!~]+[nd]/g, 'n')
      .replaceAll(/[nd](?:[/%]d|(?:<<|>>|[<>=!]=|&&|\|\||[-+*<>&|^])[nd])/g, 'n')
      .replaceAll(/[nd]\?[nd]:[nd]/g, 'n')
  }
  return /^[nd]$/.test(left)
}
