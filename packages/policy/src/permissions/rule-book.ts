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

/** What rules say about a call. They never decide `fail`. */
export type RuleDecision = Exclude<PermissionDecision, { readonly behavior: 'fail' }>

/** How calls are decided that no rule covers. */
export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypassPermissions'

/** All permission modes. */
export const permissionModes: readonly PermissionMode[] = Object.freeze<PermissionMode[]>([
  'default',
  'acceptEdits',
  'plan',
  'dontAsk',
  'bypassPermissions',
])

/** Reports what can confine the commands of a session; detected on first use. */
export interface WallPort {
  /** What can confine read-only commands on this machine. */
  means(): WallMeans
  /** What confines commands that may change the workspace, in `acceptEdits`; without this method, such commands need approval. */
  edits?(): EditMeans
  /** What tries commands before a person is asked, in `default`; without this method, no command is tried. */
  trials?(): TrialMeans
  /** Whether confined commands may read, or list, a path because it belongs to the system. */
  reads(path: string, isListed: boolean): boolean
}

/** Everything that decides about calls: the rules, the mode, and the directories of the session. */
export interface RuleBook {
  readonly mode: PermissionMode
  readonly deny: readonly PermissionRule[]
  readonly ask: readonly PermissionRule[]
  readonly allow: readonly PermissionRule[]
  /** Whether no further allow rule may be learned or suggested. */
  readonly hasFixedAllow: boolean
  readonly cwd: string
  /** The cwd and all additional directories, each with its real path. */
  readonly directories: readonly string[]
  /** Folders that may be read but not written. */
  readonly readableFolders: readonly string[]
  /** The current directory of the shell. */
  readonly shellDirectory: () => string
  /** Environment of commands. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The sandbox, if there is one. */
  readonly sandbox?: { holds(command: string): boolean }
  /** Confines commands that run because they were judged read-only; without it, they run unconfined. */
  readonly wall?: WallPort
}

// Spec R-RULE-3.
/**
 * How a path is used. Edit rules cover Write, Read rules cover Grep and Glob. `asTool`: another tool whose rules cover this use. `isCopied`: the
 * content is copied to another path, so deny and ask rules for reading apply too.
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

/** Filters the rules of a list or a book. The result is cached for each list, so that caches by rule list work. */
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

/** Deny rules, followed by ask rules. */
export function denyAndAskRules({ deny, ask }: Pick<RuleBook, 'deny' | 'ask'>): readonly PermissionRule[] {
  if (ask.length === 0) return deny
  const known = restrictingRules.get(deny) ?? new WeakMap<RuleBook['ask'], readonly PermissionRule[]>()
  restrictingRules.set(deny, known)
  const both = known.get(ask) ?? [...deny, ...ask]
  known.set(ask, both)
  return both
}

export const pathRules: ReturnType<typeof rulesOfKind> = rulesOfKind(({ spec }) => spec.kind === 'path')

/** The paths that a deny rule for this path is matched against: the path, its real path, and other names of the file. */
export function deniableNames(rules: readonly PermissionRule[], path: string): readonly string[] {
  return namesOfPath(rules, path)
}

const namesOfPath = cachedPerJudgement((rules: readonly PermissionRule[], path: string) =>
  namesOfEnds(rules, bothEnds(path)),
)

function namesOfEnds(rules: readonly PermissionRule[], ends: readonly string[]): readonly string[] {
  return [...ends, ...ends.slice(-1).flatMap((real) => pathAliases(real, rules))]
}

/** The first rule that matches the path, its real path or another name of the file. For deny and ask rules: an allow rule must match each end. */
export function ruleForPath(
  rules: readonly PermissionRule[],
  access: Access,
  path: string,
): PermissionRule | undefined {
  return ruleForNames(rules, access, deniableNames(rules, path))
}

/** Like `ruleForPath`, with the path and real path already resolved. */
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

/** The first path rule that matches one of these paths. */
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

/** Like `ruleForPath`, for rules that name paths: a bare rule is about its tool, not about every program that reads a file. */
export function patternForPath(
  rules: readonly PermissionRule[],
  access: Access,
  path: string,
): PermissionRule | undefined {
  return patternForEnds(rules, access, deniableNames(rules, path))
}

/** Whether a rule that names paths may match something inside a folder. */
export function couldMatchBelow(rules: readonly PermissionRule[], folder: string): boolean {
  const ends = bothEnds(folder)
  return rules.some(({ spec }) => spec.kind === 'path' && ends.some((end) => spec.pattern.couldMatchBelow(end)))
}

function ruleMatchesPath(rule: PermissionRule, end: string): boolean {
  return rule.spec.kind === 'any' || (rule.spec.kind === 'path' && rule.spec.pattern.matches(end))
}

/** Whether a path and its real path are allowed, by a rule or by their location. Check deny and ask rules first. */
export function isPathAllowed(book: RuleBook, access: Access, path: string): boolean {
  return areEndsAllowed(book, access, bothEnds(path))
}

export function areEndsAllowed(book: RuleBook, access: Access, ends: readonly string[]): boolean {
  return ends.every((end) => isEndAllowed(book, access, end))
}

function isEndAllowed(book: RuleBook, access: Access, end: string): boolean {
  // The real path is unknown.
  if (!isExactPath(end)) return false
  return isAllowedByPlace(book, access, end) || isAllowedByRule(book, access, end)
}

/** The rules that would allow a path: one for the path or real path that is not allowed. */
export function rulesForPath(book: RuleBook, access: Access, path: string): readonly string[] {
  return rulesForEnds(book, access, bothEnds(path))
}

export function rulesForEnds(book: RuleBook, access: Access, ends: readonly string[]): readonly string[] {
  const tool = access.kind === 'read' ? 'Read' : 'Edit'
  const missing = ends.filter((end) => !isEndAllowed(book, access, end))
  return [...new Set(missing.map((end) => `${tool}(${pathForRule(end, book.cwd)})`))]
}

/** The names in a path that an allow rule for editing must spell out: those of control files and plugins. Empty for other files. */
export function namesRuleMustSpell(book: RuleBook, end: string): ReadonlySet<number> {
  const own = book.readableFolders.filter((folder) => isInside(end, folder))
  return new Set([...protectedNameIndexes(end, book.directories), ...own.map((folder) => depthOf(folder) - 1)])
}

// Spec R-RULE-7n.
/** Only a rule that spells out its name may allow changing a control file. */
function isAllowedByRule(book: RuleBook, access: Access, end: string): boolean {
  const rules = book.allow.filter((rule) => isPathRuleFor(rule, access) && ruleMatchesPath(rule, end))
  if (rules.length === 0 || access.kind === 'read') return rules.length > 0
  const names = namesRuleMustSpell(book, end)
  return names.size === 0 || rules.some(({ spec }) => spec.kind === 'path' && spec.pattern.spells(end, names))
}

function isAllowedByPlace(book: RuleBook, { kind }: Access, end: string): boolean {
  const isWithin = book.directories.some((directory) => isInside(end, directory))
  // The project may be inside a folder of settings that was moved there.
  const isReadable = book.readableFolders.some((folder) => isInside(end, folder))
  // Memory and environment of processes, including this program: they contain keys.
  if (isProcessPath(end)) return false
  if (kind === 'read') return isWithin || isReadable || systemFiles.has(end)
  return book.mode === 'acceptEdits' && isWithin && !isReadable && !isProtected(end, book.directories)
}

/** These files describe the system to everybody and contain no secret. Links and their targets are listed. */
const systemFiles: ReadonlySet<string> = new Set(
  (
    '/etc/os-release /usr/lib/os-release /etc/lsb-release /etc/debian_version /etc/alpine-release /etc/redhat-release ' +
    '/etc/fedora-release /etc/centos-release /etc/system-release /etc/arch-release /etc/timezone /etc/shells /proc/cpuinfo ' +
    '/proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/filesystems /proc/sys/kernel/osrelease ' +
    '/proc/sys/kernel/ostype /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cgroup.controllers'
  ).split(' '),
)

/** What the kernel reveals about one process. */
function isProcessPath(end: string): boolean {
  return /^\/proc\/(?:\d+|self|thread-self|\*)(?:\/|$)/.test(end)
}

/** Whether a folder contains processes: a recursive search reads what the kernel reveals about them. */
export function containsProcesses(ends: readonly string[]): boolean {
  return ends.some((end) => end === '/' || end === '/proc')
}

/** A path as a rule names it: this file only, whatever characters its name has. */
function pathForRule(end: string, cwd: string): string {
  const root = bothEnds(cwd).find((own) => isInside(end, own) && end !== own)
  const path = root === undefined ? `/${end}` : end.slice(root.length)
  return path.replaceAll(/[*?[\\]/g, String.raw`\$&`)
}

/** Names of the tools that a bare deny rule removes completely. */
export function hiddenTools(deny: readonly PermissionRule[], names: readonly string[]): readonly string[] {
  const isDenied = (name: string): boolean => deny.some((rule) => rule.spec.kind === 'any' && isAbout(rule, name))
  // Each file of a patch is an edit: if no file may be edited, no patch can be applied.
  return names.filter((name) => isDenied(name) || (name === patchToolName && isDenied('Edit')))
}
