import { type AskCause, isAgentTool, type PermissionUpdate } from '@halting/core/adapters'
import type { PermissionRequest } from '@halting/core'
import { withLookupCache } from '../files/lookup-cache.ts'
import { bothEnds, homeFolder, isDirectory, isInside, isInsideAny } from '../files/paths.ts'
import { bareRule, judgeCommand, partsOf, rulesForAll } from './command-verdict.ts'
import { asksOutside } from './command-texts.ts'
import { confinementOf } from './read-confinement.ts'
import { asksUnconfined, canConfineEdits, editConfinement, editProblem, lineProblem } from './edit-confinement.ts'
import type { Confinement } from '../sandbox/confinement.ts'
import { doubtAbout, storedVersionsDoubt } from './command-rules.ts'
import { suggestionOf } from './rule-updates.ts'
import { decisionOfPersonTool, updatesOfPersonTool } from './plan-mode.ts'
import {
  areEndsAllowed,
  containsProcesses,
  namesRuleMustSpell,
  type PermissionMode,
  type RuleBook,
  type RuleDecision,
  rulesForEnds,
  rulesOfKind,
} from './rule-book.ts'
import { ruleCoversCall, ruleForAny } from './rule-match.ts'
import { parseRules } from './rule.ts'
import { commandOf, type Subject, type Subjects, subjectsOf } from './subject.ts'
import { rulesForOpaque, opaqueParts } from './opaque-commands.ts'
import {
  askedByHook,
  askedByRule,
  askedByTool,
  deniedByRule,
  deniedInPlanMode,
  denyRulesUncheckable,
  filesUnknown,
  needsNamedRule,
  noRuleForFetch,
  noRuleForPath,
  noRuleForSearch,
  noRuleForTool,
  rulesThatAllow,
} from './permission-texts.ts'

/** Allow rules that are missing, and the mode that is also needed if the current mode allows nothing. */
export interface Remedy {
  /** The allow rules, as written in settings. */
  readonly rules: readonly string[]
  /** The mode that is needed; absent if the current mode suffices. */
  readonly mode?: PermissionMode
}

// Spec R-RULE-1 has the order.
/** Applies deny rules first, even for callers that never call `denies`, then the other rules in order. Pass `subjects` to learn what was judged. */
export function decide(
  request: PermissionRequest,
  book: RuleBook,
  subjects: Subjects = subjectsOf(request.call, book.cwd),
): RuleDecision {
  const decision = decideByRules(request, book, subjects)
  return request.needsApproval === true && decision.behavior === 'allow'
    ? decideApproval(request, book, subjects)
    : decision
}

/**
 * A call whose tool requires approval, although rules and mode would allow it. Only a rule that names the tool allows
 * such a call, or a mode that never asks. A hook that allows it has not asked the person.
 */
function decideApproval(request: PermissionRequest, book: RuleBook, subjects: Subjects): RuleDecision {
  const { name } = request.call
  if (book.mode === 'bypassPermissions' || subjects.every((subject) => ruleCoversCall(book.allow, name, subject)))
    return allowedExplicitly
  return askDecision(askedByTool(name), rulesForApproval(request, book, subjects))
}

/** The rule that would allow such calls, if one can. */
function rulesForApproval({ call }: PermissionRequest, book: RuleBook, subjects: Subjects): readonly string[] {
  if (book.hasFixedAllow || subjects.some(({ kind }) => kind !== 'tool')) return []
  try {
    const { allow } = parseRules({ allow: [call.name] }, book.cwd)
    return subjects.every((subject) => ruleCoversCall(allow, call.name, subject)) ? [call.name] : []
  } catch {
    // It cannot be written as a rule.
    return []
  }
}

function decideByRules(request: PermissionRequest, book: RuleBook, subjects: Subjects): RuleDecision {
  const [subject] = subjects
  const denied = ruleForAny(book.deny, request.call.name, subjects, book)
  if (denied !== undefined) return { behavior: 'deny', message: deniedByRule(denied.source) }
  const asked = ruleForAny(book.ask, request.call.name, subjects, book)
  if (asked !== undefined) return { behavior: 'ask', message: askedByRule(asked.source) }
  if (request.hookDecision === 'ask') return { behavior: 'ask', message: askedByHook }
  // A hook vouches for a command that the hook allowed, as a rule does. The mode does not vouch for the command.
  if (request.hookDecision === 'allow') return allowUnlessInDoubt(subject, book)
  const personal = decisionOfPersonTool(request.call.name, book.mode)
  if (personal !== undefined) return personal
  if (book.mode === 'bypassPermissions') {
    const decision = allowUnlessInDoubt(subject, book)
    return decision.behavior === 'allow' ? allowUnlessOpaque(request, subject, book) : decision
  }
  if (book.mode === 'plan' && !changesNothing(request) && confinementFor(request, book) === undefined) {
    return { behavior: 'deny', message: deniedInPlanMode(request.call.name) }
  }
  return coverage(request, subjects, book)
}

const allowDecision: RuleDecision = Object.freeze<RuleDecision>({ behavior: 'allow' })
const allowedExplicitly: RuleDecision = Object.freeze<RuleDecision>({ behavior: 'allow', explicit: true })

const withoutWatched = rulesOfKind(({ isWatched }) => isWatched !== true)
const withoutFileRules = rulesOfKind(({ spec }) => spec.kind !== 'path')

/** In a sandbox, files of deny rules are protected, so such rules cause no doubt there. */
function commandDoubt(command: string, book: RuleBook): string | undefined {
  const isSandboxed = book.sandbox?.holds(command) === true
  const unwatched = withoutWatched(book.deny)
  const deny = isSandboxed ? withoutFileRules(unwatched) : unwatched
  return doubtAbout(command, { ...book, deny })
}

function allowUnlessInDoubt(subject: Subject, book: RuleBook): RuleDecision {
  const doubt = subject.kind === 'command' ? commandDoubt(subject.command, book) : undefined
  return doubt === undefined ? allowDecision : { behavior: 'ask', message: denyRulesUncheckable(doubt) }
}

// Spec R-RULE-1c.
/** Without a sandbox, deny rules for files apply to commands that can be analyzed; all other commands need approval. */
function allowUnlessOpaque(request: PermissionRequest, subject: Subject, book: RuleBook): RuleDecision {
  const parts = subject.kind === 'command' ? opaqueParts(subject.command, book) : []
  const [first] = parts
  if (first === undefined) return allowDecision
  const rules = rulesForOpaque(parts)
  const why = filesUnknown(first.part, first.why)
  return askDecision(why, isAllowedWith(rules, request, book) ? rules : [])
}

function isAllowedWith(rules: readonly string[], request: PermissionRequest, book: RuleBook): boolean {
  if (book.hasFixedAllow) return false
  try {
    const { allow } = parseRules({ allow: rules }, book.cwd)
    return decide(request, { ...book, allow: [...book.allow, ...allow] }).behavior === 'allow'
  } catch {
    // It cannot be written as a rule.
    return false
  }
}

/** Tools that only manage the session, or whose own calls are judged one by one. */
const housekeeping: ReadonlySet<string> = new Set([
  'TodoWrite',
  'TaskCreate',
  'TaskUpdate',
  'TaskList',
  'TaskGet',
  'TaskOutput',
  'TaskStop',
  'Skill',
])

function changesNothing({ readOnly, tool, call }: PermissionRequest): boolean {
  return readOnly || isAgentTool(tool) || housekeeping.has(call.name)
}

/** The result of checking allow rules, then defaults; or what is missing if neither suffices. */
type Coverage =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'missing'; readonly why: string; readonly rules: readonly string[] }

/** Whether a folder is the person's home, or contains it. */
function containsHome(folder: string): boolean {
  try {
    return bothEnds(homeFolder()).some((home) => isInside(home, folder))
  } catch {
    // The home folder is unknown.
    return folder === '/'
  }
}

const fullyCovered: Coverage = Object.freeze<Coverage>({ kind: 'allowed' })

function subjectCoverage(request: PermissionRequest, subject: Subject, book: RuleBook): Coverage {
  const { call } = request
  const missing = (why: string, rules: readonly string[]): Coverage => ({ kind: 'missing', why, rules })
  if (ruleCoversCall(book.allow, call.name, subject)) return fullyCovered
  if (subject.kind === 'command') {
    if (book.sandbox?.holds(subject.command) === true && commandDoubt(subject.command, book) === undefined)
      return fullyCovered
    return commandCoverage(request, subject.command, book)
  }
  if (subject.kind === 'path') {
    const { path, ends, access } = subject
    const isOpen = call.name === 'Grep' && containsProcesses(ends)
    if (!isOpen && areEndsAllowed(book, access, ends)) return fullyCovered
    const why =
      access.kind === 'edit' && ends.some((end) => namesRuleMustSpell(book, end).size > 0)
        ? needsNamedRule(call.name, path)
        : noRuleForPath(call.name, path)
    // No file tool writes a folder, and a rule for a folder covers all of its contents.
    if (access.kind === 'edit' && ends.some(isDirectory)) return missing(why, [])
    // Approving one search with a single key must not open the whole home folder.
    if (ends.some(containsHome)) return missing(why, [])
    return missing(why, rulesForEnds(book, access, ends))
  }
  if (subject.kind === 'domain') {
    // In a rule an asterisk would match every host.
    const rules = subject.host.includes('*') ? [] : [`WebFetch(domain:${subject.host})`]
    return missing(noRuleForFetch(subject.host), rules)
  }
  if (subject.kind === 'search') {
    const { allowed } = subject
    const rules = allowed.map((domain) => `WebSearch(domain:${domain})`)
    return missing(noRuleForSearch(allowed), allowed.length === 0 ? ['WebSearch'] : [...new Set(rules)])
  }
  return isHarmless(request) ? fullyCovered : missing(noRuleForTool(call.name), [call.name])
}

function commandCoverage(request: PermissionRequest, command: string, book: RuleBook): Coverage {
  const verdict = judgeCommand(command, book)
  if (verdict.kind === 'allowed') {
    // The model asks to run the command unconfined; if nothing confines commands, the request makes no difference.
    const isAsked = asksUnconfined(request) && confinementIn(request, command, book) !== undefined
    return isAsked ? { kind: 'missing', why: `${asksOutside}.`, rules: rulesForAll(command, book) } : fullyCovered
  }
  const why = canConfineEdits(book) ? (editDoubt(request, command, book) ?? 'confined') : verdict.why
  return why === 'confined' ? fullyCovered : { kind: 'missing', why: `${why}.`, rules: verdict.wouldAllow }
}

/** Why a command that no rule covers does not run confined to the workspace. Files of deny rules are protected there. */
function editDoubt(request: PermissionRequest, command: string, book: RuleBook): string | undefined {
  const deny = withoutFileRules(book.deny)
  return (
    doubtAbout(command, { ...book, deny }) ?? storedVersionsDoubt(command, book) ?? editProblem(request, command, book)
  )
}

/**
 * The confinement of a command if it runs; undefined for other calls, and if a rule, a hook, the mode or a sandbox lets it run unconfined. Call it
 * for allowed calls only.
 */
export function confinementFor(request: PermissionRequest, book: RuleBook): Confinement | undefined {
  const command = commandOf(request.call)
  return command === undefined ? undefined : confinementIn(request, command, book)
}

function confinementIn(request: PermissionRequest, command: string, book: RuleBook): Confinement | undefined {
  if (bareRule(book) !== undefined) return undefined
  const parts = partsOf(command, book)
  const reading = confinementOf(request, command, parts, book)
  if (request.hookDecision === 'allow' || !canConfineEdits(book)) return reading
  if (isCovered(command, book)) {
    if (reading !== undefined) return reading
    // A line that rules cover runs unconfined. A line also runs unconfined if it is simple enough to run together with rules.
    if (parts.some(({ isRule }) => isRule === true)) return undefined
  }
  // This applies to read-only commands too if deny rules for files are in doubt: only this confinement protects those files.
  return lineProblem(command, book) === undefined ? editConfinement(command, book) : undefined
}

function isCovered(command: string, book: RuleBook): boolean {
  return judgeCommand(command, book).kind === 'allowed'
}

/** The coverage of all subjects of a call: it includes what is missing for any of them. */
function coverageOfAll(request: PermissionRequest, subjects: Subjects, book: RuleBook): Coverage {
  const found = subjects.map((subject) => ({ subject, coverage: subjectCoverage(request, subject, book) }))
  const missing = found.flatMap(({ subject, coverage: each }) =>
    each.kind === 'missing' ? [{ ...each, subject }] : [],
  )
  const [first] = missing
  if (first === undefined) return fullyCovered
  if (missing.length === 1) return first
  const paths = missing.map(({ subject }) => (subject.kind === 'path' ? subject.path : request.call.name))
  // If one subject cannot be allowed by a rule, rules for the others do not help.
  const rules = missing.some((each) => each.rules.length === 0) ? [] : missing.flatMap((each) => each.rules)
  const obeyed = missing.find(({ subject }) => changesControlFile(subject, book))
  const why = obeyed?.why ?? noRuleForPath(request.call.name, paths.join(', '))
  return { kind: 'missing', why, rules: [...new Set(rules)] }
}

/** Whether the subject changes a control file, which is later run or read as settings. */
function changesControlFile(subject: Subject, book: RuleBook): boolean {
  return (
    subject.kind === 'path' &&
    subject.access.kind === 'edit' &&
    subject.ends.some((end) => namesRuleMustSpell(book, end).size > 0)
  )
}

function coverage(request: PermissionRequest, subjects: Subjects, book: RuleBook): RuleDecision {
  const found = coverageOfAll(request, subjects, book)
  if (found.kind === 'allowed') return allowDecision
  return askDecision(found.why, isEnough(found.rules, request, book) ? found.rules : [])
}

/** Whether these rules would allow a call. The check is needed because the text of a call may have another meaning when it is read as a rule. */
function isEnough(rules: readonly string[], request: PermissionRequest, book: RuleBook): boolean {
  if (book.hasFixedAllow) return false
  try {
    const allow = [...book.allow, ...parseRules({ allow: rules }, book.cwd).allow]
    return coverageOfAll(request, subjectsOf(request.call, book.cwd), { ...book, allow }).kind === 'allowed'
  } catch {
    // It cannot be written as a rule.
    return false
  }
}

// Spec R-RULE-9.
/** Only remedies that were tried are reported: with these rules the call is allowed. */
export function remedyFor(request: PermissionRequest, present: RuleBook): Remedy | undefined {
  return withLookupCache(() => findRemedy(request, present))
}

function findRemedy(request: PermissionRequest, present: RuleBook): Remedy | undefined {
  const isPlanning = present.mode === 'plan'
  const book: RuleBook = isPlanning ? { ...present, mode: 'default' } : present
  const mode = isPlanning ? { mode: book.mode } : {}
  const isAllowed = (tried: RuleBook): boolean => decide(request, tried).behavior === 'allow'
  if (isAllowed(book)) return isPlanning ? { rules: [], ...mode } : undefined
  const subjects = subjectsOf(request.call, book.cwd)
  const found = coverageOfAll(request, subjects, book)
  const [subject] = subjects
  const isByMode = subject.kind === 'command' && book.mode === 'bypassPermissions'
  const unjudged = isByMode ? rulesForOpaque(opaqueParts(subject.command, book)) : []
  const needed = request.needsApproval === true ? rulesForApproval(request, book, subjects) : []
  const rules = unjudged.length > 0 ? unjudged : found.kind === 'allowed' ? needed : found.rules
  return rules.length > 0 && isAllowedWith(rules, request, book) ? { rules, ...mode } : undefined
}

/** Why a person is asked about a call. */
export function causeOf(request: PermissionRequest, book: RuleBook): AskCause {
  return withLookupCache(() => findCause(request, book))
}

function findCause(request: PermissionRequest, book: RuleBook): AskCause {
  const subjects = subjectsOf(request.call, book.cwd)
  if (ruleForAny(book.ask, request.call.name, subjects, book) !== undefined) return { type: 'rule' }
  if (request.hookDecision === 'ask') return { type: 'hook' }
  if (decisionOfPersonTool(request.call.name, book.mode) !== undefined) return { type: 'other' }
  const isMissing = (each: Subject): boolean => subjectCoverage(request, each, book).kind === 'missing'
  const subject = subjects.length === 1 ? subjects[0] : (subjects.find(isMissing) ?? subjects[0])
  if (subject.kind === 'path') {
    const isOutside = !isInsideAny(subject.path, book.directories)
    const type = isOutside ? 'workingDir' : changesControlFile(subject, book) ? 'safetyCheck' : 'mode'
    return { type, blockedPath: subject.path }
  }
  const isInDoubt = subject.kind === 'command' && commandDoubt(subject.command, book) !== undefined
  return { type: isInDoubt || book.mode === 'bypassPermissions' ? 'safetyCheck' : 'other' }
}

/** Rules that would allow the call; for a file change, the mode in which changes of the project need no rule. */
export function suggestionsFor(
  ...given: readonly [
    request: PermissionRequest,
    book: RuleBook,
    modes: readonly PermissionMode[],
    destination: PermissionUpdate['destination'],
  ]
): readonly PermissionUpdate[] {
  return withLookupCache(() => findSuggestions(...given))
}

function findSuggestions(
  request: PermissionRequest,
  book: RuleBook,
  modes: readonly PermissionMode[],
  destination: PermissionUpdate['destination'],
): readonly PermissionUpdate[] {
  const personal = updatesOfPersonTool(request.call.name)
  if (personal.length > 0) return personal.filter((update) => update.type !== 'setMode' || isOf(modes, update.mode))
  const rules = remedyFor(request, book)?.rules ?? []
  // Approving one command with one key must not allow every other command (spec R-LEARN-6a).
  const isForAll = rules.includes('Bash')
  const [subject] = subjectsOf(request.call, book.cwd)
  const editing: RuleBook = { ...book, mode: 'acceptEdits' }
  const isEdit =
    (subject.kind === 'path' && subject.access.kind === 'edit') ||
    (subject.kind === 'command' && canConfineEdits(editing) && confinementFor(request, editing)?.kind === 'edit')
  const byMode =
    isEdit && book.mode === 'default' && modes.includes('acceptEdits') && decide(request, editing).behavior === 'allow'
  return [
    ...(rules.length > 0 && !isForAll ? [suggestionOf(rules, destination)] : []),
    ...(byMode ? [{ type: 'setMode', mode: editing.mode, destination: 'session' } as const] : []),
  ]
}

function isOf(modes: readonly PermissionMode[], name: string): boolean {
  return modes.some((mode) => mode === name)
}

function isHarmless({ call, tool, readOnly }: PermissionRequest): boolean {
  // What a server says about its own tools is no reason to trust them.
  const isFromServer = /^(?:mcp__|Web|ReadMcpResource$)/.test(call.name)
  return housekeeping.has(call.name) || isAgentTool(tool) || (readOnly && !isFromServer)
}

function askDecision(why: string, wouldAllow: readonly string[]): RuleDecision {
  return { behavior: 'ask', message: wouldAllow.length === 0 ? why : `${why} ${rulesThatAllow(wouldAllow)}` }
}
