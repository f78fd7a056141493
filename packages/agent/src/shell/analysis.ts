import type { Assignment, Command, Redirect, SyntaxNode } from 'unbash'
import { forEachChild, parse } from 'unbash'
import { scriptsWithin } from './inner-scripts.ts'
import { opaqueReason } from './opaque.ts'
import { type ShellWord, shellWord } from './words.ts'
import { mostRunnerWords, runsItsArguments } from './wrappers.ts'

/** What a command line will do, as far as it can be told without running it. */
export interface ShellAnalysis {
  /** Every simple command in it, however deep: in lists, pipes, groups, substitutions, and in scripts given as text. */
  readonly commands: readonly SimpleCommand[]
  readonly redirects: readonly ShellRedirect[]
  /** Why the rules for single commands cannot vouch for it; empty when they can. */
  readonly opaque: readonly string[]
  /** What it does beside running commands: they may change what a later command means. */
  readonly features: ReadonlySet<'function' | 'background' | 'coproc'>
  /** Variables that it sets for what follows, loop variables too; not those set for one command alone. */
  readonly variables: readonly string[]
}

export interface SimpleCommand {
  /** Name and arguments; empty when there are only assignments or redirects. */
  readonly words: readonly ShellWord[]
  readonly assignments: readonly ShellWord[]
}

interface ShellRedirect {
  readonly direction: 'in' | 'out'
  readonly target: ShellWord
}

const deepest = 8
const longestCommand = 50_000
const deepestNesting = 100
/** Each word may be looked up on disk. */
export const mostWords = 1000
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unusual = /[\u0000-\u0008\u000B-\u001F\u007F]/

/** The last one: rules of each kind, the tool and the mode ask about the same command one after another. */
let last: { readonly command: string; readonly analysis: ShellAnalysis } | undefined

/**
 * A1: nothing that bash would run as a command is missing from `commands`, or else `opaque` is not empty.
 * A2: it takes a bounded time, whatever a model makes up: what goes beyond the bounds is opaque.
 */
export function analyseShell(command: string): ShellAnalysis {
  if (last?.command !== command) last = { command, analysis: analyse(command, 0) }
  return last.analysis
}

function analyse(command: string, depth: number): ShellAnalysis {
  const found: Found = { commands: [], redirects: [], opaque: [], features: new Set(), variables: [] }
  if (depth > deepest) return { ...found, opaque: ['scripts within scripts go too deep'] }
  if (command.length > longestCommand) return { ...found, opaque: ['it is too long to look at'] }
  if (nestingOf(command) > deepestNesting) return { ...found, opaque: ['its parentheses go too deep'] }
  // Carriage returns above all: the parser and bash do not agree on where a line with one ends.
  if (unusual.test(command)) found.opaque.push('it holds control characters')
  try {
    collect(parse(command), found)
  } catch (thrown) {
    // The parser recovers from everything that its authors know; what it throws for is not understood.
    found.opaque.push(`it could not be parsed (${String(thrown)})`)
  }
  const written = found.commands.slice()
  if (written.reduce((sum, { words }) => sum + words.length, 0) > mostWords)
    found.opaque.push('it has too many words to look at')
  for (const { words } of written) {
    if (runsItsArguments(words) && words.length > mostRunnerWords) found.opaque.push('it has too many words to look at')
    else lookWithin(words, depth, found)
  }
  return found
}

/** Adds the commands that a command runs from its arguments. */
function lookWithin(words: readonly ShellWord[], depth: number, found: Found): void {
  for (const inner of scriptsWithin(words)) {
    if (inner.kind === 'unknown') found.opaque.push(inner.why)
    else if (inner.kind === 'words') found.commands.push({ words: inner.words, assignments: [] })
    else merge(found, analyse(inner.script, depth + 1))
  }
}

/** How deep parentheses go at most, taking no account of quotes: enough to know what not to parse. */
function nestingOf(command: string): number {
  let [depth, most] = [0, 0]
  for (const character of command) {
    if (character === '(' || character === '{') most = Math.max(most, (depth += 1))
    else if (character === ')' || character === '}') depth = Math.max(depth - 1, 0)
  }
  return most
}

interface Found {
  readonly commands: SimpleCommand[]
  readonly redirects: ShellRedirect[]
  readonly opaque: string[]
  readonly features: Set<'function' | 'background' | 'coproc'>
  readonly variables: string[]
}

function merge(found: Found, inner: ShellAnalysis): void {
  found.commands.push(...inner.commands)
  found.redirects.push(...inner.redirects)
  found.opaque.push(...inner.opaque)
  found.variables.push(...inner.variables)
  for (const feature of inner.features) found.features.add(feature)
}

function collect(node: SyntaxNode, found: Found): void {
  const reason = opaqueReason(node)
  if (reason !== undefined) found.opaque.push(reason)
  note(node, found)
  forEachChild(node, (child) => collect(child, found))
}

function note(node: SyntaxNode, found: Found): void {
  if (node.type === 'Command') {
    found.commands.push(simpleCommand(node))
    if (node.name === undefined) found.variables.push(...assignmentsOf(node).map(({ name }) => name))
  } else if (node.type === 'ParameterExpansion') {
    // `${x:=y}` sets x.
    if (node.operation?.type === 'Default' && node.operation.operator.endsWith('='))
      found.variables.push(node.parameter)
  } else if (node.type === 'For' || node.type === 'Select') found.variables.push(node.name.value)
  else if (node.type === 'FileDescriptorVariable') found.variables.push(node.name)
  else if (node.type === 'Function') found.features.add('function')
  else if (node.type === 'Coproc') found.features.add('coproc')
  else if (node.type === 'Statement' && node.background === true) found.features.add('background')
  else if (node.type === 'Redirect') noteRedirect(node, found)
}

function noteRedirect({ target, operator }: Redirect, found: Found): void {
  const isCopy = (operator === '>&' || operator === '<&') && target !== undefined && /^(?:\d+-?|-)$/.test(target.value)
  if (target === undefined || isCopy) return
  // Both ways at once counts as the way that changes something.
  const direction = operator === '<' || operator === '<&' ? 'in' : 'out'
  found.redirects.push({ direction, target: shellWord(target) })
}

function simpleCommand(node: Command): SimpleCommand {
  const words = [...(node.name === undefined ? [] : [node.name]), ...node.args].map(shellWord)
  return { words, assignments: assignmentsOf(node).map(shellWord) }
}

function assignmentsOf(node: Command): readonly Assignment[] {
  return node.prefix.filter((part): part is Assignment => part.type === 'Assignment')
}
