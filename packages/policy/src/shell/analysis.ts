import type { Assignment, Command, For, Redirect, SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'
import { scriptsWithin } from './inner-scripts.ts'
import { opaqueReason } from './opaque.ts'
import { type ReadLine, readPlainLine } from './read-plain-line.ts'
import { localeNow, notUnderstood, readScript } from './read-script.ts'
import { RecentTexts } from './memoize.ts'
import { findAssignments, type AssignedVariables, setByCommand, staysStraight } from './variables.ts'
import { type ShellWord, shellWord, shellWords } from './words.ts'
import { maxRunnerWords, runsItsArguments } from './wrappers.ts'
import { controlCharacters, parenthesesTooDeep, scriptsTooDeep, tooLong, tooManyWords } from './shell-texts.ts'

/** The effects of a command line, as far as they are known without running it. */
export interface ShellAnalysis {
  /** Every simple command in it, at any depth: in lists, pipes, groups, substitutions, and in scripts given as text. */
  readonly commands: readonly SimpleCommand[]
  readonly redirects: readonly ShellRedirect[]
  /** Patterns in loops, which reveal the matching names. */
  readonly patterns: readonly ShellWord[]
  /** Why rules for single commands cannot vouch for the line; empty if they can. */
  readonly opaque: readonly string[]
  /** What the line does in addition to running commands, if that may change the meaning of later commands. */
  readonly features: ReadonlySet<'function' | 'background' | 'coproc'>
  /** Variables that the line sets for later commands, including loop variables, but not those that apply to one command only. */
  readonly variables: readonly string[]
}

export interface SimpleCommand {
  /** The name and the arguments of the command; empty if there are only assignments or redirects. */
  readonly words: readonly ShellWord[]
  readonly assignments: readonly ShellWord[]
  /** Whether the command reads from a pipe, a file or a text. */
  readonly hasInput: boolean
}

interface ShellRedirect {
  readonly direction: 'in' | 'out'
  readonly target: ShellWord
}

const deepest = 8
const longestCommand = 50_000
const deepestNesting = 100
/** Maximum number of words, commands and redirects, with those of all loop iterations: each may be looked up on disk several times. */
export const maxWords = 400
const tooMany = tooManyWords
class TooMany extends Error {}
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const controlCharacter = /[\u0000-\u0008\u000B-\u001F\u007F]/

/** The last result: the checks of each kind of rule, of the tool and of the mode analyze the same command in succession. */
let lastAnalysis: { readonly command: string; readonly analysis: ShellAnalysis } | undefined

/** Earlier results, as the same lines are used repeatedly. */
const recentAnalyses = new RecentTexts<ShellAnalysis>(256, 500)

/**
 * A1: every command that bash would run is in `commands`, or `opaque` is not empty. A2: the analysis takes bounded time
 * for any input: text beyond the bounds is opaque.
 */
export function analyseShell(command: string): ShellAnalysis {
  if (lastAnalysis?.command !== command) lastAnalysis = { command, analysis: recentAnalysis(command) }
  return lastAnalysis.analysis
}

/** The cached result. The meaning of non-ASCII characters depends on the environment, and escapes may produce such characters too. */
function recentAnalysis(command: string): ShellAnalysis {
  const key = otherCharacters.test(command) ? `${localeNow() ?? ''}\n${command}` : command
  const before = recentAnalyses.get(key)
  if (before !== undefined) return before
  const analysis = analyse(command, 0, false)
  recentAnalyses.set(key, analysis)
  return analysis
}

// oxlint-disable-next-line no-control-regex -- the range of ASCII
const otherCharacters = /[^\u0000-\u007F]|\$'/

/** Commands with the same text are one object, so that results about them are cached. */
const commandsKnown = new RecentTexts<SimpleCommand>(512, 1_000)

function knownCommand(command: SimpleCommand): SimpleCommand {
  const text = JSON.stringify(command)
  const before = commandsKnown.get(text)
  if (before !== undefined) return before
  commandsKnown.set(text, command)
  return command
}

/** `isAnySet`: the surrounding script may set any variable. */
function analyse(command: string, depth: number, isAnySet: boolean): ShellAnalysis {
  const found: Found = { commands: [], redirects: [], patterns: [], opaque: [], features: new Set(), variables: [] }
  if (depth > deepest) return { ...found, opaque: [scriptsTooDeep] }
  if (command.length > longestCommand) return { ...found, opaque: [tooLong] }
  if (nestingOf(command) > deepestNesting) return { ...found, opaque: [parenthesesTooDeep] }
  // Checked mainly for carriage returns: parser and bash disagree about the end of a line with one.
  if (controlCharacter.test(command)) found.opaque.push(controlCharacters)
  const plain = readPlainLine(command)
  let isAny = isAnySet
  if (plain !== undefined) notePlain(plain, found)
  else {
    const read = collectFrom(command, isAnySet, found)
    if (read === 'too many') return { ...found, commands: [], redirects: [], patterns: [], opaque: [tooMany] }
    isAny ||= read.isAny
  }
  const written = found.commands.slice()
  for (const { words } of written) {
    if (found.commands.length > maxWords)
      return { ...found, commands: [], redirects: [], patterns: [], opaque: [tooMany] }
    found.variables.push(...(setByCommand(words) ?? ['a variable']))
    if (runsItsArguments(words) && words.length > maxRunnerWords) found.opaque.push(tooMany)
    else collectNested(words, { depth, isAny }, found)
  }
  return found
}

function notePlain({ commands, targets }: ReadLine, found: Found): void {
  for (const { words, isPiped } of commands)
    found.commands.push(knownCommand({ words, assignments: [], hasInput: isPiped }))
  for (const target of targets) found.redirects.push({ direction: 'out', target })
}

function collectFrom(command: string, isAnySet: boolean, found: Found): { readonly isAny: boolean } | 'too many' {
  const { script, problem } = readScript(command)
  if (problem !== undefined) found.opaque.push(problem)
  let isAny = isAnySet
  try {
    if (script !== undefined) {
      const assigned = findAssignments(script, command.includes('\n'))
      isAny ||= assigned.isAny
      new Collector(found, { ...assigned, isAny }).collect(script, true)
    }
  } catch (thrown) {
    if (thrown instanceof TooMany) return 'too many'
    found.opaque.push(notUnderstood(thrown))
  }
  return { isAny }
}

/** The context of a script within a command. */
interface ScriptContext {
  readonly depth: number
  readonly isAny: boolean
}

/** Adds the commands that a command runs from its arguments. */
function collectNested(words: readonly ShellWord[], around: ScriptContext, found: Found): void {
  const { depth, isAny } = around
  for (const inner of scriptsWithin(words)) {
    if (inner.kind === 'unknown') found.opaque.push(inner.why)
    else if (inner.kind === 'words') {
      found.commands.push(knownCommand({ words: inner.words, assignments: [], hasInput: false }))
      if (depth < deepest) collectNested(inner.words, { depth: depth + 1, isAny }, found)
    } else merge(found, analyse(inner.script, depth + 1, isAny || inner.isElsewhere === true))
  }
}

/** An upper bound for the nesting of parentheses that ignores quotes: enough to decide what not to parse. */
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
  readonly patterns: ShellWord[]
  readonly opaque: string[]
  readonly features: Set<'function' | 'background' | 'coproc'>
  readonly variables: string[]
}

function merge(found: Found, inner: ShellAnalysis): void {
  found.commands.push(...inner.commands)
  found.redirects.push(...inner.redirects)
  found.patterns.push(...inner.patterns)
  found.opaque.push(...inner.opaque)
  found.variables.push(...inner.variables)
  for (const feature of inner.features) found.features.add(feature)
}

const maxLoopRounds = 50

/** Visits a script in the order of execution, with the values of variables. */
class Collector {
  readonly #found: Found
  readonly #assigned: AssignedVariables
  readonly #scope: Map<string, ShellWord>
  #hasInput = false
  #left = maxWords

  constructor(found: Found, assigned: AssignedVariables) {
    this.#found = found
    this.#assigned = assigned
    // An entry with an empty name means that no variable is known, not even the variables of the shell.
    this.#scope = new Map(assigned.isAny ? [['', { source: '', value: '', kind: 'dynamic' }]] : [])
  }

  collect(node: SyntaxNode, isStraight: boolean): void {
    const reason = opaqueReason(node, (name) => isNumber(this.#scope.get(name)))
    if (reason !== undefined) this.#found.opaque.push(reason)
    this.#note(node)
    if (node.type === 'For') return this.#loop(node)
    const keeps = isStraight && staysStraight(node)
    const hadInput = this.#hasInput
    let isFirst = true
    forEachChild(node, (child) => {
      if (node.type === 'Pipeline' || node.type === 'Redirected') this.#hasInput = true
      this.collect(child, keeps && (node.type !== 'AndOr' || isFirst))
      isFirst = false
    })
    this.#hasInput = hadInput
    if (node.type === 'Command' && node.name === undefined && isStraight) this.#assign(node)
  }

  #count(words: number): void {
    this.#left -= words
    if (this.#left < 0) throw new TooMany()
  }

  /** A loop is visited once for each of its words, if they are known. */
  #loop(node: For): void {
    const name = node.name.value
    for (const word of node.wordlist ?? []) this.collect(word, false)
    const words = (node.wordlist ?? []).flatMap((word) => shellWords(word, this.#scope))
    this.#found.patterns.push(...words.filter(({ kind, couldBePattern }) => kind === 'glob' || couldBePattern === true))
    const isKnown =
      node.wordlist !== undefined &&
      words.length <= maxLoopRounds &&
      words.every(({ kind }) => kind !== 'dynamic') &&
      this.#assigned.loops.get(name) === 1 &&
      !this.#assigned.unknown.has(name) &&
      !this.#assigned.isAny
    this.#scope.delete(name)
    for (const word of isKnown && words.length > 0 ? words : [undefined]) {
      if (this.#found.commands.length > maxWords) break
      if (word !== undefined) this.#scope.set(name, word)
      this.collect(node.body, false)
    }
    this.#scope.delete(name)
  }

  #assign(node: Command): void {
    for (const { name, value, append, index } of assignmentsOf(node)) {
      this.#scope.delete(name)
      const { unknown, isAny } = this.#assigned
      if (isAny || unknown.has(name) || unknown.has(`for ${name}`) || append === true || index !== undefined) continue
      // After a colon in a value, the shell expands a tilde to the home directory.
      if (value.type !== 'Word' || value.text.includes(':~')) continue
      const word = shellWord(value, this.#scope)
      if (word.kind === 'literal' || word.isRevision === true) this.#scope.set(name, word)
    }
  }

  #note(node: SyntaxNode): void {
    const found = this.#found
    if (node.type === 'Command') {
      found.commands.push(knownCommand(this.#simpleCommand(node)))
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
    else if (node.type === 'Redirect') this.#noteRedirect(node)
  }

  #noteRedirect({ target, operator }: Redirect): void {
    // Each redirect counts as ten words, because its target is looked up for several kinds of rules.
    this.#count(10)
    const isCopy =
      (operator === '>&' || operator === '<&') && target !== undefined && /^(?:\d+-?|-)$/.test(target.value)
    if (target === undefined || isCopy) return
    // A redirect in both directions counts as the one that changes something.
    const direction = operator === '<' || operator === '<&' ? 'in' : 'out'
    for (const word of shellWords(target, this.#scope)) this.#found.redirects.push({ direction, target: word })
  }

  #simpleCommand(node: Command): SimpleCommand {
    const words = [...(node.name === undefined ? [] : [node.name]), ...node.args].flatMap((word) => {
      const several = shellWords(word, this.#scope)
      this.#count(several.length)
      return several
    })
    this.#count(1 + node.prefix.length)
    const assignments = assignmentsOf(node).map((assignment) => shellWord(assignment, this.#scope))
    const isFed = node.redirects.some(({ operator }) => operator.startsWith('<'))
    return { words, assignments, hasInput: this.#hasInput || isFed }
  }
}

function isNumber(word: ShellWord | undefined): boolean {
  return word?.kind === 'literal' && /^(?:0|[1-9]\d{0,14})$/.test(word.value)
}

function assignmentsOf(node: Command): readonly Assignment[] {
  return node.prefix.filter((part): part is Assignment => part.type === 'Assignment')
}
