import { ruleForCommand } from './command-rules.ts'
import { currentName, isAbout, type PermissionRule } from './rule.ts'
import { type RuleBook, ruleForEnds } from './rule-book.ts'
import { askRuleForSearch, denyRuleForSearch, isSearchAllowed } from './search-domains.ts'
import type { Subject } from './subject.ts'

/** A name that only patterns for all files of a folder match. */
const probe = '\u0001'

/** The first deny or ask rule that applies to a call or a part of it. */
function ruleFor(
  rules: readonly PermissionRule[],
  toolName: string,
  subject: Subject,
  book: RuleBook,
): PermissionRule | undefined {
  const bare = bareRule(rules, toolName) ?? (subject.kind === 'command' ? bareRule(rules, 'Bash') : undefined)
  if (bare !== undefined) return bare
  if (subject.kind === 'command') return ruleForCommand(rules, subject.command, book)
  if (subject.kind === 'search')
    return rules === book.ask ? askRuleForSearch(rules, subject) : denyRuleForSearch(rules, subject)
  if (subject.kind !== 'path') return namedRule(rules, toolName, subject)
  const { access, ends } = subject
  const rule = ruleForEnds(rules, access, ends)
  // A rule about all files of a folder also denies a search of that folder.
  const within = ends.map((end) => `${end}/${probe}`)
  return rule ?? (subject.isSearch ? ruleForEnds(rules, access, within) : undefined)
}

/** The first deny or ask rule that applies to any subject of a call. */
export function ruleForAny(
  rules: readonly PermissionRule[],
  toolName: string,
  subjects: readonly Subject[],
  book: RuleBook,
): PermissionRule | undefined {
  for (const subject of subjects) {
    const rule = ruleFor(rules, toolName, subject, book)
    if (rule !== undefined) return rule
  }
  return undefined
}

/** Whether a single allow rule covers the whole call. Commands and file changes are checked part by part and path by path instead. */
export function ruleCoversCall(rules: readonly PermissionRule[], toolName: string, subject: Subject): boolean {
  if (subject.kind === 'command' || (subject.kind === 'path' && subject.access.kind === 'edit')) return false
  if (bareRule(rules, toolName) !== undefined) return true
  return subject.kind === 'search' ? isSearchAllowed(rules, subject) : namedRule(rules, toolName, subject) !== undefined
}

function bareRule(rules: readonly PermissionRule[], toolName: string): PermissionRule | undefined {
  return rules.find((rule) => rule.spec.kind === 'any' && isAbout(rule, toolName))
}

function namedRule(rules: readonly PermissionRule[], toolName: string, subject: Subject): PermissionRule | undefined {
  return rules.find(({ tool, spec }) => {
    if (tool !== currentName(toolName)) return false
    if (subject.kind === 'domain') return spec.kind === 'domain' && spec.matches(subject.host)
    return subject.kind === 'name' && spec.kind === 'name' && spec.name === subject.name
  })
}
