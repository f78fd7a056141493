import { analyseShell, mostWords, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import {
  isHarmlessAssignment,
  isHarmlessSink,
  isHarmlessVariable,
  isReadOnlySimpleCommand,
} from '../shell/read-only.ts'
import { type ShellWord, sourceOf, valuesOf } from '../shell/words.ts'
import { formsOf, nameOf, possibleCommands } from '../shell/wrappers.ts'
import { fileChangers, innermost, pathWords, placesOf, type Whereabouts, whereaboutsOf } from './command-paths.ts'
import type { PermissionRule } from './rule.ts'
import { type Access, isPathAllowed, pathForRule, patternForPath, type RuleBook, ruleForPath } from './rule-book.ts'

const read: Access = { kind: 'read', toolName: 'Read' }
const edit: Access = { kind: 'edit', toolName: 'Edit' }

/** The first deny or ask rule that fits any part of a command line: a command in it, or a file that it names. */
export function ruleForCommand(
  rules: readonly PermissionRule[],
  command: string,
  book: RuleBook,
): PermissionRule | undefined {
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const texts = [
    ...analysis.commands.flatMap(({ words }) => possibleCommands(words).flatMap(textsOf)),
    // What could not be understood is cut at everything that may separate commands.
    ...(analysis.opaque.length > 0 ? crudeParts(command) : []),
  ]
  const byText = rules.find(
    ({ tool, spec }) => tool === 'Bash' && spec.kind === 'command' && texts.some((text) => spec.matches(text)),
  )
  return byText ?? ruleForFiles(rules, analysis, whereabouts)
}

/** The ways to write one command: as it stands, without quotes, and by the program's name alone. */
function textsOf(words: readonly ShellWord[]): readonly string[] {
  const [name, ...args] = words
  if (name === undefined) return []
  const plain: ShellWord = { ...name, value: nameOf(name.value) }
  return [sourceOf(words), valuesOf(words), valuesOf([plain, ...args])]
}

function crudeParts(command: string): readonly string[] {
  return command
    .split(/[\n;&|(){}`"']+|\$\(/)
    .map((part) => part.trim())
    .filter(Boolean)
}

function ruleForFiles(
  rules: readonly PermissionRule[],
  analysis: ShellAnalysis,
  whereabouts: Whereabouts,
): PermissionRule | undefined {
  // To deny it is enough that a word may mean the path: in any directory that is known, and a pattern taken as a name.
  const guess: Whereabouts = { ...whereabouts, isUnknown: false }
  const places = (word: ShellWord): readonly string[] =>
    placesOf(word.kind === 'glob' ? { ...word, kind: 'literal' } : word, guess) ?? []
  for (const { direction, target } of analysis.redirects) {
    for (const place of places(target)) {
      const rule = direction === 'out' ? ruleForPath(rules, edit, place) : patternForPath(rules, read, place)
      if (rule !== undefined && !isHarmlessSink(target)) return rule
    }
  }
  if (!rules.some((rule) => rule.spec.kind === 'path')) return undefined
  // With more words than these it is opaque, so that no rule for commands allows it.
  let wordsLeft = mostWords
  for (const command of analysis.commands) {
    const [name, ...args] = innermost(command)
    const changesFiles = fileChangers.has(nameOf(name?.value ?? ''))
    const named = (isReadOnlySimpleCommand(command) ? pathWords(command) : args).slice(0, wordsLeft)
    wordsLeft -= named.length
    for (const place of named.flatMap(places)) {
      const rule = patternForPath(rules, read, place) ?? (changesFiles ? patternForPath(rules, edit, place) : undefined)
      if (rule !== undefined) return rule
    }
  }
  return undefined
}

/** Whether the allow rules and what is allowed by default cover all of a command line; if not, what is missing. */
export type CommandVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'not covered'; readonly why: string; readonly wouldAllow: readonly string[] }

export function judgeCommand(command: string, book: RuleBook): CommandVerdict {
  const analysis = analyseShell(command)
  const isAnyAllowed = book.allow.some((rule) => rule.tool === 'Bash' && rule.spec.kind === 'any')
  const opaque = analysis.opaque[0]
  if (isAnyAllowed && (opaque === undefined || !hasFineRules(book))) return { kind: 'allowed' }
  if (opaque !== undefined) return { kind: 'not covered', why: opaque, wouldAllow: isAnyAllowed ? [] : ['Bash'] }
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const variable = analysis.variables.find((name) => !isHarmlessVariable(name) && !isShellLocal(name))
  if (variable !== undefined) {
    return {
      kind: 'not covered',
      why: `it sets ${variable}, which can change what other commands do`,
      wouldAllow: ['Bash'],
    }
  }
  // A function may call itself, and what runs in the background stays behind: not by default, only by rule.
  const isCovered = (part: SimpleCommand): boolean =>
    isAllowedByRule(part, book) || (analysis.features.size === 0 && isAllowedByDefault(part, book, whereabouts))
  const missing = [
    ...analysis.commands.flatMap((part) => (isCovered(part) ? [] : [ruleNaming(part)])),
    ...analysis.redirects.flatMap(({ direction, target }) => {
      if (isHarmlessSink(target)) return []
      const places = placesOf(target, whereabouts)
      const access = direction === 'out' ? edit : read
      if (target.kind !== 'literal' || places === undefined) return ['Bash']
      const outside = places.filter((place) => !isPathAllowed(book, access, place))
      return outside.map((place) => `${direction === 'out' ? 'Edit' : 'Read'}(${pathForRule(place, book.cwd)})`)
    }),
  ]
  if (missing.length === 0 && analysis.commands.length > 0) return { kind: 'allowed' }
  return { kind: 'not covered', why: 'no rule allows all of it', wouldAllow: [...new Set(missing)] }
}

/** Rules that a command that is not understood could get around. */
export function hasFineRules(book: RuleBook): boolean {
  return [...book.deny, ...book.ask].some(
    ({ tool, spec }) => (tool === 'Bash' && spec.kind === 'command') || spec.kind === 'path',
  )
}

/** Names that reach no other program: it takes capital letters, or one of these, to be in the environment already. */
function isShellLocal(name: string): boolean {
  return /^[a-z][a-z0-9_]*$/.test(name) && !/_proxy$|^npm_/.test(name)
}

function ruleNaming({ words, assignments }: SimpleCommand): string {
  return `Bash(${sourceOf(assignments.every(isHarmlessAssignment) ? words : [...assignments, ...words])})`
}

function isAllowedByRule({ words, assignments }: SimpleCommand, book: RuleBook): boolean {
  // Only assignments, which are judged by their names.
  if (words.length === 0) return true
  if (assignments.every(isHarmlessAssignment)) return formsOf(words).some((form) => isAllowedText(form, book))
  // A rule that names the assignments too: `Bash(PATH=./bin make)`.
  return isAllowedText([...assignments, ...words], book)
}

function isAllowedByDefault(command: SimpleCommand, book: RuleBook, whereabouts: Whereabouts): boolean {
  return isReadOnlySimpleCommand(command) && readsOnlyWhatIsAllowed(command, book, whereabouts)
}

function isAllowedText(words: readonly ShellWord[], book: RuleBook): boolean {
  // Quotes may be taken off only where that does not move the borders between words.
  const texts = words.every(({ value }) => /^\S+$/.test(value)) ? [sourceOf(words), valuesOf(words)] : [sourceOf(words)]
  return book.allow.some(
    ({ tool, spec }) => tool === 'Bash' && spec.kind === 'command' && texts.some((text) => spec.matches(text)),
  )
}

const recursiveReader = /^(?:-[A-Za-z]*[rR]|--recursive|--dereference-recursive)/

function readsOnlyWhatIsAllowed(command: SimpleCommand, book: RuleBook, whereabouts: Whereabouts): boolean {
  const [name, ...args] = innermost(command)
  // With Read rules that deny, what a pattern or a folder may contain is not known to be allowed.
  const isGuarded = [...book.deny, ...book.ask].some(({ tool, spec }) => tool === 'Read' && spec.kind === 'path')
  const showsContent = ['cat', 'head', 'tail', 'grep', 'diff'].includes(name?.value ?? '')
  if (isGuarded && showsContent && args.some(({ kind, value }) => kind !== 'literal' || recursiveReader.test(value)))
    return false
  return pathWords(command).every((word) => {
    const places = placesOf(word, whereabouts)
    return places !== undefined && places.every((place) => isPathAllowed(book, read, place))
  })
}
