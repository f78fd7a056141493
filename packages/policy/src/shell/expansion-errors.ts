import type { ParameterExpansionPart, SyntaxNode } from 'unbash'
import { setsNothing } from './opaque.ts'

/**
 * Whether bash may report an error for an expansion and skip the rest of its line, so that assignments there do not happen and
 * the next line runs with the old values: a division by zero, `08`, a bad subscript.
 */
export function mayFail(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'ArithmeticExpansion':
      return !isValidArithmetic(node.text)
    case 'ParameterExpansion':
      return mayFailToExpand(node)
    case 'Assignment':
      return node.index !== undefined && !natural.test(node.index.text)
    default:
      return false
  }
}

const natural = /^(?:0|[1-9]\d{0,8})$/
const offset = /^\s*-?(?:0|[1-9]\d{0,8})$/

function mayFailToExpand({ parameter, index, operation }: ParameterExpansionPart): boolean {
  if (index !== undefined && !/^[@*]$/.test(index.text) && !natural.test(index.text)) return true
  switch (operation?.type) {
    case 'Slice':
      return (
        !offset.test(operation.offset.text) || (operation.length !== undefined && !natural.test(operation.length.text))
      )
    case 'Default':
      return operation.operator.endsWith('=') && !/^[A-Za-z_]\w*$/.test(parameter)
    default:
      return false
  }
}

const longest = 200

/** Operands and operators alternate, no number has a leading zero, and every divisor is a number other than zero. */
function isValidArithmetic(text: string): boolean {
  const inside = text.slice(3, -2)
  if (inside.length > longest || !setsNothing(text) || /\*\*|\b0\w|\b[1-9]\d*[A-Za-z_]|\d{18}/.test(inside))
    return false
  // `d` is a divisor that is known not to be zero, `n` any other operand.
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
