import type { PermissionDecision } from '@halting/core'
import { patchToolName } from '../files/patch-format.ts'
import { cachedPerJudgement } from '../files/lookup-cache.ts'
import { bothEnds, isExactPath, isInside } from '../files/paths.ts'
import type { EditMeans } from '../sandbox/edit-means.ts'
import type { TrialMeans } from '../sandbox/trial-means.ts'
import type { WallMeans } from '../sandbox/wall-means.ts'
import { pathAliases } from './path-aliases.ts'
import { depthOf, isProtected, protectedNameIndexes } from './protected.ts'
import { isAbout, type PermissionRule } from './rule.ts'

/** What rules say about a call. That it cannot succeed, they do not say. */
export type RuleDecision = Exclude<PermissionDecision, { readonly behavior: 'fail' }>

/** How calls are decided that no rule decides. */
export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypassPermissions'

/** All permission modes. */
export const permissionModes: readonly PermissionMode[] = Object.freeze<PermissionMode[]>([
  'default',
  'acceptEdits',
  'plan',
  'dontAsk',
  'bypassPermissions',
])

/** What confines the commands of a session, found out when it is first asked. */
export interface WallPort {
  /** What this machine can confine commands with. */
  means(): WallMeans
  /** What confines commands that may change the workspace, in `acceptEdits`; such commands ask when absent. */
  edits?(): EditMeans
  /** What tries commands before a person is asked about them, in `default`; nothing does when absent. */
  trials?(): TrialMeans
  /** Whether confined commands read a place because it belongs to the system, or list it. */
  reads(path: string, isListed: boolean): boolean
}

/** What decides about a call: the rules, the mode, and the directories of the session. */
export interface RuleBook {
  readonly mode: PermissionMode
  readonly deny: readonly PermissionRule[]
  readonly ask: readonly PermissionRule[]
  readonly allow: readonly PermissionRule[]
  /** No other rule allows: none is learned, and none is offered. */
  readonly hasFixedAllow: boolean
  readonly cwd: string
  /** Both ends of the cwd and of every additional directory. */
  readonly directories: readonly string[]
  /** Folders in which reading is allowed, and nothing else. */
  readonly readableFolders: readonly string[]
  /** Where the shell is now. */
  readonly shellDirectory: () => string
  /** Of commands. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Holds commands, where there is a sandbox. */
  readonly sandbox?: { holds(command: string): boolean }
  /** Confines commands that run because they were judged to read only; they run as they are without one. */
  readonly wall?: WallPort
}

// Spec R-RULE-3.
/**
 * How a path is used. Edit rules cover Write, Read rules cover Grep and Glob. `asTool`: a tool whose rules cover this use, too.
 * `isCopied`: what is in the file is at another path afterwards, so rules that take away reading it hold, too.
 */
export type Access = {
  readonly kind: 'read' | 'edit'
  readonly toolName: string
  readonly asTool?: string
  readonly isCopied?: true
}

export function isPathRuleFor(rule: PermissionRule, { kind, toolName, asTool }: Access): boolean {
  return rule.tool === toolName || rule.tool === (kind === 'read' ? 'Read' : 'Edit') || rule.tool === asTool
}

/** Rules of a list, or of a book, that are of one kind: made once for each list, so that what is found out about them is found once. */
export function rulesOfKind(
  isOfKind: (rule: PermissionRule) => boolean,
): (rules: readonly PermissionRule[]) => readonly PermissionRule[] {
  const known = new WeakMap<readonly PermissionRule[], readonly PermissionRule[]>()
  return (rules) => {
    const before = known.get(rules)
    if (before !== undefined) return before
    const found = rules.every(isOfKind) ? rules : rules.filter(isOfKind)
    known.set(rules, found)
    return found
  }
}

const restrictingRules = new WeakMap<RuleBook['deny'], WeakMap<RuleBook['ask'], readonly PermissionRule[]>>()

/** Deny rules, and behind them ask rules. */
export function denyAndAskRules({ deny, ask }: Pick<RuleBook, 'deny' | 'ask'>): readonly PermissionRule[] {
  if (ask.length === 0) return deny
  const known = restrictingRules.get(deny) ?? new WeakMap<RuleBook['ask'], readonly PermissionRule[]>()
  restrictingRules.set(deny, known)
  const both = known.get(ask) ?? [...deny, ...ask]
  known.set(ask, both)
  return both
}

export const pathRules: ReturnType<typeof rulesOfKind> = rulesOfKind(({ spec }) => spec.kind === 'path')

/** What a rule that denies a path holds against: both of its ends, and other names of what is there. */
export function deniableNames(rules: readonly PermissionRule[], path: string): readonly string[] {
  return namesOfPath(rules, path)
}

const namesOfPath = cachedPerJudgement((rules: readonly PermissionRule[], path: string) =>
  namesOfEnds(rules, bothEnds(path)),
)

function namesOfEnds(rules: readonly PermissionRule[], ends: readonly string[]): readonly string[] {
  return [...ends, ...ends.slice(-1).flatMap((real) => pathAliases(real, rules))]
}

/** The first rule that fits either end of the path, or another name of what is there. For rules that take away: what allows is about each end. */
export function ruleForPath(
  rules: readonly PermissionRule[],
  access: Access,
  path: string,
): PermissionRule | undefined {
  return ruleForNames(rules, access, deniableNames(rules, path))
}

/** The same for a path of which both ends are known. */
export function ruleForEnds(
  rules: readonly PermissionRule[],
  access: Access,
  ends: readonly string[],
): PermissionRule | undefined {
  return ruleForNames(rules, access, namesOfEnds(rules, ends))
}

function ruleForNames(
  rules: readonly PermissionRule[],
  access: Access,
  names: readonly string[],
): PermissionRule | undefined {
  const isAbout = (rule: PermissionRule): boolean =>
    isPathRuleFor(rule, access) || (access.isCopied === true && rule.tool === 'Read')
  return rules.find((rule) => isAbout(rule) && names.some((name) => ruleMatchesPath(rule, name)))
}

/** The first rule about paths that fits one of these ends of a path. */
export function patternForEnds(
  rules: readonly PermissionRule[],
  access: Access,
  ends: readonly string[],
): PermissionRule | undefined {
  return rules.find(
    (rule) =>
      rule.spec.kind === 'path' && isPathRuleFor(rule, access) && ends.some((end) => ruleMatchesPath(rule, end)),
  )
}

/** The same for rules that name paths: a bare rule is about the tool, not about every program that reads a file. */
export function patternForPath(
  rules: readonly PermissionRule[],
  access: Access,
  path: string,
): PermissionRule | undefined {
  return patternForEnds(rules, access, deniableNames(rules, path))
}

/** Whether a rule that names paths may fit something that lies in a folder. */
export function couldMatchBelow(rules: readonly PermissionRule[], folder: string): boolean {
  const ends = bothEnds(folder)
  return rules.some(({ spec }) => spec.kind === 'path' && ends.some((end) => spec.pattern.couldFitBelow(end)))
}

function ruleMatchesPath(rule: PermissionRule, end: string): boolean {
  return rule.spec.kind === 'any' || (rule.spec.kind === 'path' && rule.spec.pattern.matches(end))
}

/** Whether both ends of the path are allowed, by a rule or by where they are. Deny and ask rules come before this. */
export function isPathAllowed(book: RuleBook, access: Access, path: string): boolean {
  return areEndsAllowed(book, access, bothEnds(path))
}

export function areEndsAllowed(book: RuleBook, access: Access, ends: readonly string[]): boolean {
  return ends.every((end) => isEndAllowed(book, access, end))
}

function isEndAllowed(book: RuleBook, access: Access, end: string): boolean {
  // Where it leads cannot be told.
  if (!isExactPath(end)) return false
  return isAllowedByPlace(book, access, end) || isAllowedByRule(book, access, end)
}

/** The rules that a path wants for it to be allowed: one for each end that is not. */
export function rulesForPath(book: RuleBook, access: Access, path: string): readonly string[] {
  return rulesForEnds(book, access, bothEnds(path))
}

export function rulesForEnds(book: RuleBook, access: Access, ends: readonly string[]): readonly string[] {
  const tool = access.kind === 'read' ? 'Read' : 'Edit'
  const missing = ends.filter((end) => !isEndAllowed(book, access, end))
  return [...new Set(missing.map((end) => `${tool}(${pathForRule(end, book.cwd)})`))]
}

/** The names in a path that a rule has to spell which allows changing it: of what is run or obeyed later, plugins too. None for other files. */
export function namesRuleMustSpell(book: RuleBook, end: string): ReadonlySet<number> {
  const own = book.readableFolders.filter((folder) => isInside(end, folder))
  return new Set([...protectedNameIndexes(end, book.directories), ...own.map((folder) => depthOf(folder) - 1)])
}

// Spec R-RULE-7n.
/** What is run or obeyed later is changed by a rule alone that spells its name. */
function isAllowedByRule(book: RuleBook, access: Access, end: string): boolean {
  const rules = book.allow.filter((rule) => isPathRuleFor(rule, access) && ruleMatchesPath(rule, end))
  if (rules.length === 0 || access.kind === 'read') return rules.length > 0
  const names = namesRuleMustSpell(book, end)
  return names.size === 0 || rules.some(({ spec }) => spec.kind === 'path' && spec.pattern.spells(end, names))
}

function isAllowedByPlace(book: RuleBook, { kind }: Access, end: string): boolean {
  const isWithin = book.directories.some((directory) => isInside(end, directory))
  // A folder of settings may be put into the project.
  const isReadable = book.readableFolders.some((folder) => isInside(end, folder))
  // The memory and the environment of processes, this program's too: keys of the person stand there.
  if (isProcessPath(end)) return false
  if (kind === 'read') return isWithin || isReadable || systemFiles.has(end)
  return book.mode === 'acceptEdits' && isWithin && !isReadable && !isProtected(end, book.directories)
}

/** They tell which system this is, to everybody, and hold no secret. Both ends of a link stand here. */
const systemFiles: ReadonlySet<string> = new Set(
  (
    '/etc/os-release /usr/lib/os-release /etc/lsb-release /etc/debian_version /etc/alpine-release /etc/redhat-release ' +
    '/etc/fedora-release /etc/centos-release /etc/system-release /etc/arch-release /etc/timezone /etc/shells /proc/cpuinfo ' +
    '/proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/filesystems /proc/sys/kernel/osrelease ' +
    '/proc/sys/kernel/ostype /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cgroup.controllers'
  ).split(' '),
)

/** What the kernel tells of one process. */
function isProcessPath(end: string): boolean {
  return /^\/proc\/(?:\d+|self|thread-self|\*)(?:\/|$)/.test(end)
}

/** Whether processes are among what lies in a folder, of which these are the ends: whoever goes through it reads what the kernel tells of them. */
export function containsProcesses(ends: readonly string[]): boolean {
  return ends.some((end) => end === '/' || end === '/proc')
}

/** One end of a path as a rule would name it: this file alone, whatever characters are in its name. */
function pathForRule(end: string, cwd: string): string {
  const root = bothEnds(cwd).find((own) => isInside(end, own) && end !== own)
  const path = root === undefined ? `/${end}` : end.slice(root.length)
  return path.replaceAll(/[*?[\\]/g, String.raw`\$&`)
}

/** Names of the tools that a bare deny rule removes altogether. */
export function hiddenTools(deny: readonly PermissionRule[], names: readonly string[]): readonly string[] {
  const isDenied = (name: string): boolean => deny.some((rule) => rule.spec.kind === 'any' && isAbout(rule, name))
  // Each file of a patch is an edit: where no file may be edited no patch can be applied.
  return names.filter((name) => isDenied(name) || (name === patchToolName && isDenied('Edit')))
}
