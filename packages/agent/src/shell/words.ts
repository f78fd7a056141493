import type { CommandArgument, SyntaxNode, Word } from 'unbash'
import { forEachChild } from 'unbash'

/** One word of a command, and how much of it is known before the command runs. */
export interface ShellWord {
  /** As it is written. */
  readonly source: string
  /** With its quotes taken off. */
  readonly value: string
  /**
   * `literal`: it is its value. `glob`: it becomes names of files. `dynamic`: it holds something that only the shell
   * knows (a variable, the output of a command), or becomes several words.
   */
  readonly kind: 'literal' | 'glob' | 'dynamic'
}

export function shellWord(node: CommandArgument): ShellWord {
  if (node.type === 'Assignment') {
    const isPlain = node.value.type === 'Word' && node.index === undefined && kindOf(node.value) === 'literal'
    const value = node.value.type === 'Word' ? `${node.name}=${node.value.value}` : node.text
    return { source: node.text, value, kind: isPlain ? 'literal' : 'dynamic' }
  }
  return { source: node.text, value: valueOf(node), kind: kindOf(node) }
}

function kindOf(word: Word): ShellWord['kind'] {
  // A tilde that is quoted is a character; ~ and ~/ are the home directory, every other form depends on the shell.
  if (word.text.startsWith('~') && !/^~(?:\/|$)/.test(word.text)) return 'dynamic'
  const types = partTypesOf(word)
  if (types.some((type) => !quoted.has(type) && !globs.has(type))) return 'dynamic'
  return types.some((type) => globs.has(type)) ? 'glob' : 'literal'
}

const quoted: ReadonlySet<SyntaxNode['type']> = new Set<SyntaxNode['type']>([
  'Literal',
  'SingleQuoted',
  'DoubleQuoted',
  'AnsiCQuoted',
])
const globs: ReadonlySet<SyntaxNode['type']> = new Set<SyntaxNode['type']>(['Glob', 'ExtendedGlob'])

function partTypesOf(node: SyntaxNode): readonly SyntaxNode['type'][] {
  const types: SyntaxNode['type'][] = []
  forEachChild(node, (child) => types.push(child.type, ...partTypesOf(child)))
  return types
}

/** A leading tilde stays only where the shell expands it: `'~/x'` is the path `./~/x`. */
function valueOf(word: Word): string {
  return word.value.startsWith('~') && !word.text.startsWith('~') ? `./${word.value}` : word.value
}

export function sourceOf(words: readonly ShellWord[]): string {
  return words.map((word) => word.source).join(' ')
}

export function valuesOf(words: readonly ShellWord[]): string {
  return words.map((word) => word.value).join(' ')
}
