import type { SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'

/**
 * Whether the parser took for plain text what the shell may read as an operator, a quote or an expansion. Visits every node,
 * whatever its type. In double quotes and here-documents only `$` and backticks are special.
 */
export function holdsOperatorAsText(node: SyntaxNode, isQuoted = false): boolean {
  if (node.type === 'ExtendedGlob') return true
  // In a here-document with a quoted delimiter nothing is special.
  if (node.type === 'HereDoc' && node.delimiter?.quoted === true) return false
  const isQuotedWithin =
    node.type === 'DoubleQuoted' || node.type === 'HereDocBody' || (isQuoted && node.type !== 'Script')
  const sought = isQuotedWithin ? expansion : special
  if (bareTexts(node).some((text) => sought.test(text.replaceAll(/\\./gs, '')))) return true
  let isFound = false
  forEachChild(node, (child) => {
    const isPattern = node.type === 'TestBinary' && node.operator === '=~' && child === node.right
    if (!isFound && !(isPattern && isPlainPattern(child))) isFound = holdsOperatorAsText(child, isQuotedWithin)
  })
  return isFound
}

const special = /[<>()|&;`$'"]/
const expansion = /`|\$[\w({[@*#?$!-]/

/** The text of a node that belongs to none of its parts. */
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
