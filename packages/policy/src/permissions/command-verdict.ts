import { cachedPerJudgement } from '../files/lookup-cache.ts'
import { bothEnds, isDirectory } from '../files/paths.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import type { Effect } from '../shell/effects.ts'
import {
  effectsOfCommand,
  isHarmlessAssignment,
  isHarmlessSink,
  isHarmlessVariable,
  isConfinableAnalysis,
  isReadOnlyAnalysis,
  isShellLocal,
  setsHarmlessly,
} from '../shell/read-only.ts'
import { memoizeByPair } from '../shell/memoize.ts'
import { type ShellWord, sourceOf, valuesOf } from '../shell/words.ts'
import { formsOf } from '../shell/wrappers.ts'
import { doubtAbout, editAccess, readAccess } from './command-rules.ts'
import { isFoundFirst, gitProblem, secretPrinted, workTreeAround } from './git-settings.ts'
import { programChoiceProblem } from './program-choice.ts'
import { canConfine, type ConfinablePart, confinementProblem, showsProcesses } from './read-confinement.ts'
import { relocateProblem } from './links.ts'
import { changesNoNames, type Places, placesOf, type Whereabouts, whereaboutsOf } from './places.ts'
import { isHardLinked, containsProtected } from './protected.ts'
import {
  couldMatchBelow,
  containsProcesses,
  isPathAllowed,
  pathRules,
  type RuleBook,
  rulesForPath,
  rulesOfKind,
  denyAndAskRules,
} from './rule-book.ts'
import { containsLinkTo } from './tree-rules.ts'
import { mayNameFileOfRules } from './unresolved-paths.ts'
import {
  changesNothingRuled,
  changesWholeFolder,
  containsProtectedFiles,
  definesOrBackgrounds,
  followsLinksOut,
  gitShowsSecret,
  hasHardLinks,
  mayChangeRuledFile,
  mayReadRuledFile,
  noRuleForChanging,
  noRuleForCommand,
  noRuleForReading,
  noRuleForWriting,
  patternMayBeOption,
  readingAllowed,
  readsConfined,
  repositoryMayChange,
  searchesProcesses,
  setsShellVariablesOnly,
  setsVariable,
  setsVariableOfOthers,
  showsRuledFiles,
  unknownFile,
  unknownRepository,
  unknownTarget,
  writingAllowed,
} from './command-texts.ts'

/** Whether the allow rules and the defaults allow a whole command line, and if not, what is missing. */
export type CommandVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'not covered'; readonly why: string; readonly wouldAllow: readonly string[] }

/** The verdict on one part of a command line. */
export interface PartVerdict extends ConfinablePart {
  /** What allows it: the rule, or why it needs none; undefined if nothing does. */
  readonly allowedBy: string | undefined
  /** Why this part needs approval. */
  readonly why?: string
  /** The rule that would allow this part; undefined if no rule can name only this part. */
  readonly wouldAllow?: string
}

export function judgeCommand(command: string, book: RuleBook): CommandVerdict {
  const analysis = analyseShell(command)
  const doubt = doubtAbout(command, book)
  if (doubt !== undefined) return { kind: 'not covered', why: doubt, wouldAllow: [] }
  if (bareRule(book) !== undefined) return { kind: 'allowed' }
  const whole = analysisProblem(analysis, book)
  if (whole !== undefined) return { kind: 'not covered', why: whole, wouldAllow: ['Bash'] }
  const parts = partsOf(command, book)
  const missing = parts.filter(({ allowedBy }) => allowedBy === undefined)
  if (missing.length === 0 && analysis.commands.length + analysis.redirects.length > 0) {
    const problem = confinementProblem(command, parts, book)
    return problem === undefined
      ? { kind: 'allowed' }
      : { kind: 'not covered', why: problem, wouldAllow: allOf(rulesForUnruledParts(parts)) }
  }
  // With rules for the missing parts, the remaining parts may need rules too: not every line may mix parts with and without rules.
  const withRules = parts.map((part) => (part.allowedBy === undefined ? { ...part, isRule: true as const } : part))
  const isMixed = missing.length > 0 && confinementProblem(command, withRules, book) !== undefined
  return {
    kind: 'not covered',
    why: noRuleForCommand,
    wouldAllow: allOf([
      ...missing.map(({ wouldAllow }) => wouldAllow),
      ...(isMixed ? rulesForUnruledParts(withRules) : []),
    ]),
  }
}

/** Rules with which every command of a line runs unconfined; none if one of them cannot be written. */
export function rulesForAll(command: string, book: RuleBook): readonly string[] {
  return allOf(rulesForUnruledParts(partsOf(command, book)))
}

/** Rules for the commands that run without a rule so far. */
function rulesForUnruledParts(parts: readonly PartVerdict[]): readonly (string | undefined)[] {
  return parts.flatMap(({ isRule, of }) =>
    isRule === true || of === undefined || of.words.length === 0 ? [] : [ruleNaming(of)],
  )
}

/** All rules; empty if one of them cannot be written. */
function allOf(rules: readonly (string | undefined)[]): readonly string[] {
  return rules.includes(undefined) ? [] : [...new Set(rules.flatMap((rule) => rule ?? []))]
}

/** Whether the line runs confined to reading: it only reads, and no part of it runs by a rule. */
function runsConfined(analysis: ShellAnalysis, book: RuleBook): boolean {
  return (
    canConfine(book) &&
    isConfinableAnalysis(analysis) &&
    analysis.commands.every(
      (part) => part.words.length === 0 || (ruleAllowing(part, book) === undefined && !showsProcesses(part)),
    )
  )
}

/** Why rules for single commands cannot allow the line. */
export function analysisProblem(analysis: ShellAnalysis, book: RuleBook): string | undefined {
  const [opaque] = analysis.opaque
  if (opaque !== undefined) return opaque
  const variable = analysis.variables.find((name) => !isHarmlessVariable(name) && !isShellLocal(name))
  if (variable === undefined || runsConfined(analysis, book)) return undefined
  return setsVariableOfOthers(variable)
}

export function bareRule(book: RuleBook): string | undefined {
  return book.allow.find((rule) => rule.tool === 'Bash' && rule.spec.kind === 'any')?.source
}

/** The commands and redirects of a line, each with what allows it. */
export function partsOf(command: string, book: RuleBook): readonly PartVerdict[] {
  return partsByBook(book, command)
}

const partsByBook = cachedPerJudgement(findParts)

function findParts(book: RuleBook, command: string): readonly PartVerdict[] {
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const isConfined = runsConfined(analysis, book)
  const place: CommandContext = {
    book,
    whereabouts,
    isHardened: isConfined || isReadOnlyAnalysis(analysis),
    isConfined,
    isStill: changesNoNames(analysis, book.env),
    changes: changesOf(analysis, whereabouts),
    repositories: repositoryCache(book.env, undefined),
    linksThatLeadOut: new Map(),
  }
  const commands = analysis.commands.map((part): PartVerdict => {
    const name = sourceOf([...part.assignments, ...part.words])
    const rule = ruleAllowing(part, book)
    // Functions are judged by the commands in them.
    if (part.words.length === 0) return { part: name, of: part, allowedBy: setsShellVariablesOnly }
    if (rule !== undefined) return { part: name, of: part, allowedBy: rule, isRule: true }
    // A function may call itself, and a background command outlives the line: both need a rule.
    const problem = analysis.features.size > 0 ? definesOrBackgrounds : defaultProblem(part, place)
    if (problem === undefined)
      return {
        part: name,
        of: part,
        allowedBy: isConfined ? readsConfined : changesNothingRuled,
      }
    return { part: name, of: part, allowedBy: undefined, why: problem, ...suggestedRule(ruleNaming(part)) }
  })
  return [
    ...commands,
    ...analysis.redirects.flatMap((redirect) => redirectVerdicts(redirect, place)),
    ...analysis.patterns.flatMap((word) => patternVerdicts(word, place)),
  ]
}

/** Other rules do not change what a repository is. */
const repositoryCache = cachedPerJudgement(
  (_env: RuleBook['env'], _by: undefined) => new Map<string, string | undefined>(),
)

function suggestedRule(rule: string | undefined): { readonly wouldAllow?: string } {
  return rule === undefined ? {} : { wouldAllow: rule }
}

interface CommandContext {
  readonly book: RuleBook
  readonly whereabouts: Whereabouts
  readonly isHardened: boolean
  /** Whether the line runs confined to reading permitted files. */
  readonly isConfined: boolean
  /** Whether the present files on disk determine which files the words of the line name. */
  readonly isStill: boolean
  readonly changes: Changes
  /** Problems of repositories that were already found, by folder. */
  readonly repositories: Map<string, string | undefined>
  /** By folder, whether it contains links to places where reading needs a rule. */
  readonly linksThatLeadOut: Map<string, boolean>
}

/** What the line is known to write: files that could become a repository, or files inside a repository. */
type Changes = 'nothing' | 'files' | 'repository'

export function changesOf({ commands, redirects }: ShellAnalysis, whereabouts: Whereabouts): Changes {
  const written = [
    ...redirects.flatMap(({ direction, target }) => (direction === 'out' && !isHarmlessSink(target) ? [target] : [])),
    ...commands.flatMap((command) =>
      effectsOfCommand(command).flatMap((effect) =>
        effect.kind === 'write' || effect.kind === 'write tree' ? [effect.word] : [],
      ),
    ),
  ]
  const isOfGit = (word: ShellWord): boolean =>
    placesOf(word, whereabouts).paths.some((path) => bothEnds(path).some((end) => /\/\.git(?:\/|$)/i.test(end)))
  return written.length === 0 ? 'nothing' : written.some(isOfGit) ? 'repository' : 'files'
}

function redirectVerdicts(
  { direction, target }: ShellAnalysis['redirects'][number],
  { book, whereabouts }: CommandContext,
): readonly PartVerdict[] {
  // A pipe receives its content from a command that is judged separately.
  if (isHarmlessSink(target) || (direction === 'in' && target.isPipe === true)) return []
  const part = `${direction === 'out' ? '>' : '<'} ${target.source}`
  const places = placesOf(target, whereabouts)
  const access = direction === 'out' ? editAccess : readAccess
  if (target.kind !== 'literal' || places.isUnknown)
    return [{ part, allowedBy: undefined, why: unknownTarget, wouldAllow: 'Bash' }]
  if (direction === 'out' && places.paths.some(isHardLinked))
    return [{ part, allowedBy: undefined, why: hasHardLinks, wouldAllow: 'Bash' }]
  const outside = places.paths.filter((path) => !isPathAllowed(book, access, path))
  if (outside.length === 0) return [{ part, allowedBy: direction === 'out' ? writingAllowed : readingAllowed }]
  return outside.flatMap((path) => {
    const why = direction === 'out' ? noRuleForWriting(path) : noRuleForReading(path)
    // Suggests no rule if the name would be a pattern for other files too, or is a folder, which a redirect cannot open.
    const isWide = (rule: string): boolean => /[*?[\]\\]/.test(rule) || isDirectory(path)
    const rules = rulesForPath(book, access, path).map((rule) => (isWide(rule) ? undefined : rule))
    return rules.map((rule) => ({ part, allowedBy: undefined, why, ...suggestedRule(rule) }))
  })
}

/** A loop over a pattern reveals the matching names, whatever it does with them. */
function patternVerdicts(word: ShellWord, place: CommandContext): readonly PartVerdict[] {
  const why =
    word.kind !== 'dynamic' ? readProblem({ kind: 'list', word }, place) : place.isConfined ? undefined : unknownFile
  return why === undefined ? [] : [{ part: `for … in ${word.source}`, allowedBy: undefined, why, wouldAllow: 'Bash' }]
}

/** The rule for one command; undefined if it contains an asterisk, which would be a wildcard and allow more. */
export function ruleNaming({ words, assignments }: SimpleCommand): string | undefined {
  const text = sourceOf(assignments.every(isHarmlessAssignment) ? words : [...assignments, ...words])
  return text.includes('*') ? undefined : `Bash(${text})`
}

export function ruleAllowing({ words, assignments }: SimpleCommand, book: RuleBook): string | undefined {
  if (assignments.every(isHarmlessAssignment)) {
    for (const form of formsOf(words)) {
      const rule = ruleForText(form, book)
      if (rule !== undefined) return rule
    }
    return undefined
  }
  // A rule that includes the assignments: `Bash(PATH=./bin make)`.
  return ruleForText([...assignments, ...words], book)
}

function ruleForText(words: readonly ShellWord[], { allow }: RuleBook): string | undefined {
  return ruleAmong(commandRules(allow), words)
}

const commandRules = rulesOfKind(({ tool, spec }) => tool === 'Bash' && spec.kind === 'command')

const ruleAmong = memoizeByPair((rules: RuleBook['allow'], words: readonly ShellWord[]): string | undefined => {
  // Quotes may be removed only if that keeps the boundaries between words.
  const texts = words.every(({ value }) => /^\S+$/.test(value)) ? [sourceOf(words), valuesOf(words)] : [sourceOf(words)]
  return rules.find(({ spec }) => spec.kind === 'command' && texts.some((text) => spec.matches(text)))?.source
})

/** Why a command does not run without a rule; undefined if it does. */
function defaultProblem(command: SimpleCommand, place: CommandContext): string | undefined {
  if (!setsHarmlessly(command)) return setsVariable
  for (const effect of effectsOfCommand(command)) {
    const problem = effectProblem(effect, place)
    if (problem !== undefined) return problem
  }
  return undefined
}

function effectProblem(effect: Effect, place: CommandContext): string | undefined {
  switch (effect.kind) {
    case 'unknown':
      return effect.why
    case 'unseen':
      return place.isConfined ? undefined : effect.why
    case 'git':
      return gitEffectProblem(effect, place) ?? shownSecretProblem(effect, place)
    case 'chosen':
      return programChoiceProblem(effect, place.whereabouts, place.changes !== 'nothing', place.book)
    case 'hardened':
      return place.isHardened ? undefined : effect.why
    case 'list':
    case 'read':
    case 'read tree':
    case 'read through links':
      return readProblem(effect, place)
    case 'relocate':
      return relocateEffectProblem(effect.word, place)
    case 'write':
    case 'write tree':
      return writeProblem(effect, place)
  }
}

export function gitEffectProblem(
  effect: Extract<Effect, { kind: 'git' }>,
  {
    book,
    whereabouts,
    isHardened,
    changes,
    repositories,
  }: Omit<CommandContext, 'isStill' | 'isConfined' | 'linksThatLeadOut'>,
): string | undefined {
  const folders = placesOf(effect.folder, whereabouts)
  if (folders.isUnknown || effect.folder.kind !== 'literal') return unknownRepository
  if (effect.history && folders.paths.some((folder) => couldMatchBelow(readRules(book), workTreeAround(folder))))
    return showsRuledFiles
  for (const folder of folders.paths) {
    // The same line may create the parts of a bare repository, whose settings could not be checked beforehand.
    if (changes === 'repository' || (changes === 'files' && !isFoundFirst(folder))) return repositoryMayChange
    const { entersSubmodules, readsIndex } = effect
    const key = `${entersSubmodules} ${readsIndex} ${isHardened} ${folder}`
    if (!repositories.has(key))
      repositories.set(key, gitProblem(folder, { entersSubmodules, readsIndex, isHardened }, book.env))
    const problem = repositories.get(key)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Printing a token reveals it to the model and to its service. */
function shownSecretProblem(
  { folder, shows }: Extract<Effect, { kind: 'git' }>,
  { whereabouts }: CommandContext,
): string | undefined {
  if (shows === undefined) return undefined
  const found = placesOf(folder, whereabouts).paths.map((path) => secretPrinted(path, shows))
  const secret = found.find((one) => one !== undefined)
  return secret === undefined ? undefined : gitShowsSecret(secret)
}

const readPathRules = rulesOfKind(({ tool, spec }) => tool === 'Read' && spec.kind === 'path')

function readRules(book: RuleBook): RuleBook['deny'] {
  return readPathRules(denyAndAskRules(book))
}

function readProblem({ kind, word }: Extract<Effect, { word: ShellWord }>, place: CommandContext): string | undefined {
  const { book, whereabouts, isHardened, isStill, isConfined } = place
  const places = placesOf(word, whereabouts)
  // A pattern with too many matches could match names of processes.
  if (places.isUnknown) return isConfined && word.kind === 'dynamic' ? undefined : unknownFile
  if (!isConfined && couldBeOption(word, places, isHardened)) return patternMayBeOption
  const all = [...places.paths, ...places.below]
  const isOpen = (path: string): boolean =>
    isPathAllowed(book, readAccess, path) || (isConfined && book.wall?.reads(path, kind === 'list') === true)
  const outside = all.find((path) => !isOpen(path))
  if (outside !== undefined) return noRuleForReading(outside)
  if (kind !== 'read' && kind !== 'list' && all.some((path) => containsProcesses(bothEnds(path))))
    return searchesProcesses
  const isDeep = kind === 'read tree' || kind === 'read through links'
  if (!isConfined && kind === 'read through links' && all.some((path) => leadsOut(path, place))) return followsLinksOut
  return kind !== 'list' && mayNameFileOfRules(readRules(book), places, isDeep, isStill) ? mayReadRuledFile : undefined
}

function leadsOut(folder: string, { book, linksThatLeadOut }: CommandContext): boolean {
  const known = linksThatLeadOut.get(folder)
  if (known !== undefined) return known
  const found = containsLinkTo(folder, (end) => !isPathAllowed(book, readAccess, end))
  linksThatLeadOut.set(folder, found)
  return found
}

function relocateEffectProblem(word: ShellWord, { book, whereabouts }: CommandContext): string | undefined {
  const places = placesOf(word, whereabouts)
  if (places.isUnknown) return unknownFile
  return places.paths
    .map((path) => relocateProblem(path, pathRules(denyAndAskRules(book))))
    .find((problem) => problem !== undefined)
}

/** If nothing in the line writes, the present files on disk decide. */
function couldBeOption(word: ShellWord, { paths }: Places, isHardened: boolean): boolean {
  return (
    word.couldBeOption === true &&
    (!isHardened || paths.some((path) => path.slice(path.lastIndexOf('/') + 1).startsWith('-')))
  )
}

function writeProblem(
  { kind, word }: Extract<Effect, { word: ShellWord }>,
  { book, whereabouts }: CommandContext,
): string | undefined {
  const places = placesOf(word, whereabouts)
  if (places.isUnknown || word.kind === 'dynamic') return unknownFile
  if (word.couldBeOption === true) return patternMayBeOption
  if (word.kind === 'glob' && places.below.some((folder) => couldMatchBelow(pathRules(denyAndAskRules(book)), folder)))
    return mayChangeRuledFile
  if (places.paths.some(isHardLinked)) return hasHardLinks
  const found = new Set(places.paths)
  for (const path of [...places.paths, ...places.below]) {
    if (book.mode !== 'acceptEdits' || !isPathAllowed({ ...book, allow: [] }, editAccess, path)) {
      const isByRule = isPathAllowed(book, editAccess, path) && kind === 'write'
      if (!isByRule) return noRuleForChanging(path)
    }
    // The folder that contains the matches of a pattern is not itself a match.
    if (kind === 'write tree' && found.has(path)) {
      if (book.directories.includes(path)) return changesWholeFolder
      if (couldMatchBelow(pathRules(denyAndAskRules(book)), path)) return mayChangeRuledFile
      if (containsProtected(path, book.directories)) return containsProtectedFiles(path)
    }
  }
  return undefined
}
