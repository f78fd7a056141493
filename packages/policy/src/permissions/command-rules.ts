import { patchToolName } from '../files/patch-format.ts'
import { cachedPerJudgement } from '../files/lookup-cache.ts'
import { analyseShell, maxWords, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { takesArbitraryText } from '../shell/command-effects.ts'
import type { Effect } from '../shell/effects.ts'
import { effectsOfCommand, isHarmlessSink, isReadOnlySimpleCommand } from '../shell/read-only.ts'
import { literalWord } from '../shell/read-grammar.ts'
import { memoizeByObject, memoizeByPair } from '../shell/memoize.ts'
import { unseenCode } from '../shell/unseen-code.ts'
import { type ShellWord, sourceOf, valuesOf } from '../shell/words.ts'
import { wordsOfText } from '../shell/subcommands/equivalent-commands.ts'
import { nameOf, possibleCommands } from '../shell/wrappers.ts'
import { matchCommand } from './command-pattern.ts'
import { doubtAboutGitWrites, ruleForGitWrites } from './git-files.ts'
import { nestedCommands, hiddenCommandProblem, whereaboutsOfGit } from './nested-commands.ts'
import { workTreeAround } from './git-settings.ts'
import { relocateProblem } from './links.ts'
import { containsAlias } from './path-aliases.ts'
import { containsMatch } from './tree-rules.ts'
import { possiblePlaces, innermost, changesNoNames, placesOf, type Whereabouts, whereaboutsOf } from './places.ts'
import type { PermissionRule } from './rule.ts'
import {
  type Access,
  couldMatchBelow,
  deniableNames,
  pathRules,
  patternForEnds,
  patternForPath,
  type RuleBook,
  ruleForPath,
  rulesOfKind,
  denyAndAskRules,
} from './rule-book.ts'
import { mayNameFileOfRules } from './unresolved-paths.ts'
import {
  aliasMayChangeFiles,
  exportsRuledFiles,
  mayChangeFileOf,
  mayUseRuledFile,
  movedLinkMayReachFile,
  showsRuledFiles,
  unknownFiles,
} from './command-texts.ts'

export const readAccess: Access = { kind: 'read', toolName: 'Read' }
export const editAccess: Access = { kind: 'edit', toolName: 'Edit' }

/** The first deny or ask rule that matches any part of a command line: a command in it, or a file that it names. */
export function ruleForCommand(
  rules: readonly PermissionRule[],
  command: string,
  book: RuleBook,
): PermissionRule | undefined {
  if (rules.length === 0) return undefined
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const commands = analysis.commands.flatMap((simple) => nestedCommands(simple, analysis, whereabouts).commands)
  // The command line could not be parsed, so its text is split at everything that may separate commands.
  const crude = analysis.opaque.length > 0 ? [...new Set(crudeParts(command))] : []
  const crudeWords = crude.map(wordsOfText)
  const byText = commandRules(rules).find(
    (rule) =>
      commands.some((form) => formMatches(rule, form)) ||
      crude.some((text) => textMatches(rule, text)) ||
      crudeWords.some((words) => wordsMatch(rule, words)),
  )
  return byText ?? ruleForFiles(rules, analysis, whereabouts) ?? ruleForGitWrites(rules, commands, whereabouts)
}

const formMatches = memoizeByPair(
  (rule: PermissionRule, form: readonly ShellWord[]) =>
    textsOf(form).some((text) => textMatches(rule, text)) || wordsMatch(rule, form),
)

function textMatches({ spec }: PermissionRule, text: string): boolean {
  return spec.kind === 'command' && spec.matches(text)
}

function wordsMatch({ spec }: PermissionRule, words: readonly ShellWord[]): boolean {
  return spec.kind === 'command' && matchCommand(spec.pattern, words) === 'yes'
}

/** The spellings of one command: as written, without quotes, and with the bare name of the program. */
function textsOf(form: readonly ShellWord[]): readonly string[] {
  // Words without source text were inserted by the analysis.
  const words = form.filter(({ source }) => source !== '')
  const [name, ...args] = words
  if (name === undefined) return []
  const plain: ShellWord = { ...name, value: nameOf(name.value) }
  return [sourceOf(words), valuesOf(words), valuesOf([plain, ...args])]
}

/** Splits the text at everything that may separate commands, with and without its line continuations. */
export function crudeParts(command: string): readonly string[] {
  return [command, command.replaceAll('\\\n', '')]
    .flatMap((text) => text.split(/[\n;&|(){}`"']+|\$\(/))
    .map((part) => part.trim())
    .filter(Boolean)
}

/** Commands that change the files that they name. */
const fileChangers: ReadonlySet<string> = new Set(
  'rm rmdir mv cp tee touch truncate sed chmod chown ln install mkdir unlink shred dd rsync patch'.split(' '),
)

function ruleForFiles(
  rules: readonly PermissionRule[],
  analysis: ShellAnalysis,
  whereabouts: Whereabouts,
): PermissionRule | undefined {
  for (const { direction, target } of analysis.redirects) {
    if (isHarmlessSink(target)) continue
    for (const place of possiblePlaces(target, whereabouts)) {
      const rule =
        direction === 'out' ? ruleForPath(rules, editAccess, place) : patternForPath(rules, readAccess, place)
      if (rule !== undefined) return rule
    }
  }
  if (!rules.some((rule) => rule.spec.kind === 'path')) return undefined
  // A command with more words counts as opaque, so that no command rule allows it.
  let wordsLeft = maxWords
  const looked = new Set<string>()
  for (const command of analysis.commands) {
    const changesFiles = fileChangers.has(nameOf(innermost(command)[0]?.value ?? ''))
    const named = (
      isReadOnlySimpleCommand(command)
        ? effectsOfCommand(command).flatMap(pathsOf)
        : wordsThatAreFiles(innermost(command))
    ).slice(0, wordsLeft)
    wordsLeft -= named.length
    for (const { word, isTree } of named) {
      const key = `${word.kind} ${isTree} ${changesFiles} ${word.value}`
      if (looked.has(key)) continue
      looked.add(key)
      for (const place of possiblePlaces(word, whereabouts)) {
        const names = deniableNames(rules, place)
        // A folder includes its contents.
        const ends = isTree ? names.flatMap((end) => [end, `${end}/${probe}`]) : names
        const rule =
          patternForEnds(rules, readAccess, ends) ??
          (changesFiles ? patternForEnds(rules, editAccess, ends) : undefined)
        if (rule !== undefined) return rule
      }
    }
  }
  return undefined
}

/** A name that only patterns for all files of a folder match. */
const probe = '\u0001'

interface NamedFile {
  readonly word: ShellWord
  readonly isTree: boolean
}

function pathsOf(effect: Effect): readonly NamedFile[] {
  if (!('word' in effect)) return []
  return [{ word: effect.word, isTree: isReadOfTree(effect) || effect.kind === 'write tree' }]
}

type ReadOfTree = Extract<Effect, { readonly kind: 'read' | 'read tree' | 'read through links' }>

function isReadOfTree(effect: Effect): effect is ReadOfTree {
  return effect.kind === 'read tree' || effect.kind === 'read through links'
}

/** If nothing is known about a program, every word may be a file, and so may the text after `=`, `@`, `:` or the letter of an option. */
const wordsThatAreFiles = memoizeByObject(([name, ...args]: readonly ShellWord[]): readonly NamedFile[] => {
  if (name === undefined || takesArbitraryText(name.value)) return []
  return args.flatMap((word) => {
    const values = [
      word.value,
      ...[...word.value.matchAll(/[=@:]/g)].slice(0, 3).map(({ index }) => word.value.slice(index + 1)),
    ]
    const short = /^-[A-Za-z](?=[^-])(.+)$/s.exec(word.value)?.[1]
    if (short !== undefined) values.push(short)
    return values.filter(Boolean).map((value) => ({ word: { ...word, value }, isTree: true }))
  })
})

const commandRules = rulesOfKind(({ tool, spec }) => tool === 'Bash' && spec.kind === 'command')

/** Rules that a command which cannot be analyzed could bypass. */
const narrowRules = rulesOfKind(
  ({ tool, spec }) => (tool === 'Bash' && spec.kind === 'command') || spec.kind === 'path',
)

// Spec R-RULE-1b.
/**
 * Why deny and ask rules cannot be checked against a command line; undefined if they can, or if there are none. In that case a person decides,
 * whatever allows the command.
 */
export function doubtAbout(command: string, book: RuleBook): string | undefined {
  const rules = narrowRules(denyAndAskRules(book))
  return rules.length === 0 ? undefined : doubtOf(rules, command, book)
}

/** Each part of the decision needs the result for the same rules. The result is cached for one line in one folder. */
function doubtOf(rules: readonly PermissionRule[], command: string, book: RuleBook): string | undefined {
  const asked = doubts(rules, command)
  const before = asked.find(({ env, shell }) => env === book.env && shell === book.shellDirectory)
  if (before !== undefined) return before.doubt
  const doubt = findDoubt(rules, command, book)
  asked.push({ env: book.env, shell: book.shellDirectory, doubt })
  return doubt
}

interface Doubt {
  readonly env: RuleBook['env']
  readonly shell: RuleBook['shellDirectory']
  readonly doubt: string | undefined
}

const doubts = cachedPerJudgement((_rules: readonly PermissionRule[], _command: string): Doubt[] => [])

function findDoubt(rules: readonly PermissionRule[], command: string, book: RuleBook): string | undefined {
  const analysis = analyseShell(command)
  const [opaque] = analysis.opaque
  if (opaque !== undefined) return opaque
  for (const { words, hasInput } of analysis.commands) {
    for (const form of possibleCommands(words)) {
      const unseen = unseenCode(form, hasInput)
      if (unseen !== undefined) return unseen
    }
  }
  const commands = commandRules(rules)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const hidden = commands.length === 0 ? undefined : hiddenCommandProblem(analysis, commands, whereabouts)
  if (hidden !== undefined) return hidden
  const files = pathRules(rules)
  if (files.length === 0) return undefined
  for (const simple of analysis.commands) {
    const { commands: meant, unknown } = nestedCommands(simple, analysis, whereabouts)
    if (unknown !== undefined && files.some(({ tool }) => tool === 'Edit')) return aliasMayChangeFiles(`git ${unknown}`)
    const doubt = doubtAboutGitWrites(files, meant, whereaboutsOfGit(simple, analysis.variables, whereabouts))
    if (doubt !== undefined) return doubt
  }
  return fileDoubt(analysis, files, whereabouts, changesNoNames(analysis, book.env))
}

// Spec R-EASK-4a.
/** Why a line may reveal earlier content of files that rules deny reading: git stores every version, so protecting the files does not help. */
export function storedVersionsDoubt(command: string, book: RuleBook): string | undefined {
  const rules = rulesForReading(pathRules(book.deny))
  if (rules.length === 0) return undefined
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const isStored = (folder: ShellWord): boolean => {
    const places = placesOf(folder, whereabouts)
    return places.isUnknown || places.paths.some((path) => couldMatchBelow(rules, workTreeAround(path)))
  }
  for (const simple of analysis.commands) {
    for (const effect of effectsOfCommand(simple))
      if (effect.kind === 'git' && effect.history && isStored(effect.folder)) return showsRuledFiles
    const words = innermost(simple)
    if (words[0]?.value === 'git' && reachOf(words, rules, whereabouts) === exportsRuledFiles) return exportsRuledFiles
  }
  return undefined
}

/** `xargs cat`: the arguments of `cat` come from the input of `xargs`. */
function passesOnArguments({ words }: SimpleCommand): boolean {
  return words.some(({ value }) => nameOf(value) === 'xargs') && !takesArbitraryText(words.at(1)?.value ?? 'echo')
}

/** Programs that copy, pack, search or remove whole folders. */
const treePrograms: ReadonlySet<string> = new Set(
  'cp mv ln link rm tar zip rsync scp find grep egrep fgrep rg ag diff chmod chown'.split(' '),
)

/** git commands that reveal content of files. */
const revealingGitCommands =
  /^(?:archive|clone|format-patch|fast-export|bundle|range-diff|send-email|worktree|checkout-index|unpack-file)$/

const revealingOptions = /^(?:show|log|diff|diff-[a-z]+|whatchanged|reflog|blame|annotate|grep|cat-file)$/

/** What a program that is not known to be read-only may do, by its arguments, to files that rules name. */
function reachOf(
  words: readonly ShellWord[],
  rules: readonly PermissionRule[],
  whereabouts: Whereabouts,
): string | undefined {
  const name = nameOf(words[0]?.value ?? '')
  const literal = words.slice(1).filter(({ kind, value }) => kind === 'literal' && !value.startsWith('-'))
  // With undescribed options these commands may reveal content, even if the described ones do not.
  const isShowing = literal.slice(0, 2).some(({ value }) => revealingOptions.test(value))
  if (name === 'git' && (isShowing || literal.some(({ value }) => revealingGitCommands.test(value)))) {
    const about = rulesForReading(rules)
    if (whereabouts.directories.some((folder) => couldMatchBelow(about, workTreeAround(folder))))
      return exportsRuledFiles
  }
  const usesTrees = treePrograms.has(name)
  for (const { word } of wordsThatAreFiles([literalWord(name), ...literal]).slice(0, maxWords)) {
    for (const place of placesOf(word, whereabouts).paths) {
      const changed = patternForPath(rules, editAccess, place)
      if (changed !== undefined) return mayChangeFileOf(name, changed.source)
      if ((name === 'cp' || name === 'mv') && relocateProblem(place, rules) !== undefined)
        return movedLinkMayReachFile(name)
      if (usesTrees && (containsMatch(rules, place) || containsAlias(rules, place))) return mayUseRuledFile(name)
    }
  }
  return undefined
}

const editingTools: ReadonlySet<string> = new Set(['Edit', 'Write', 'NotebookEdit', patchToolName])

/** Rules about editing files do not restrict reading them. */
const rulesForReading = rulesOfKind(({ tool }) => !editingTools.has(tool))

function fileDoubt(
  analysis: ShellAnalysis,
  rules: readonly PermissionRule[],
  whereabouts: Whereabouts,
  isStill: boolean,
): string | undefined {
  const reading = rulesForReading(rules)
  const isOpen = (word: ShellWord, isTree: boolean, about: readonly PermissionRule[]): boolean => {
    if (about.length === 0) return false
    const places = placesOf(word, whereabouts)
    return places.isUnknown || mayNameFileOfRules(about, places, isTree, isStill)
  }
  /** From a folder below the root, git shows the whole work tree. */
  const showsFitting = (folder: ShellWord): boolean => {
    const places = placesOf(folder, whereabouts)
    return (
      reading.length > 0 &&
      (places.isUnknown || places.paths.some((path) => couldMatchBelow(reading, workTreeAround(path))))
    )
  }
  const isPlain = ({ target, direction }: ShellAnalysis['redirects'][number]): boolean =>
    isHarmlessSink(target) || (direction === 'in' && target.isPipe === true)
  for (const redirect of analysis.redirects)
    if (!isPlain(redirect) && isOpen(redirect.target, false, redirect.direction === 'in' ? reading : rules))
      return unknownFiles
  for (const command of analysis.commands) {
    const words = innermost(command)
    if (isReadOnlySimpleCommand(command)) {
      for (const effect of effectsOfCommand(command)) {
        if ((effect.kind === 'read' || isReadOfTree(effect)) && isOpen(effect.word, isReadOfTree(effect), reading))
          return unknownFiles
        if (effect.kind === 'git' && effect.history && showsFitting(effect.folder)) return showsRuledFiles
      }
    } else if (passesOnArguments(command)) return unknownFiles
    else if (!takesArbitraryText(words[0]?.value ?? '')) {
      const problem = reachOf(words, rules, whereabouts)
      if (problem !== undefined) return problem
      const rest = words
        .slice(1)
        .filter(
          (word, at) =>
            !(words[0]?.value === 'git' && /^(?:-m|--message)$/.test(words[at]?.value ?? '') && word.isOne === true),
        )
      if (rest.some((word) => word.kind !== 'literal' && isOpen(word, false, rules))) return unknownFiles
    }
  }
  return undefined
}
