import { patchToolName } from '../files/patch-format.ts'
import { HaltingError } from '@halting/core'
import { matchesWildcard } from '@halting/core/adapters'
import { bracketReadings } from '../files/glob-pattern.ts'
import { mcpToolName, validServerName } from '../mcp-names.ts'
import { domainOfRule } from '../sandbox/domains.ts'
import { matchesCommand } from './matches-command.ts'
import { type SearchSpec, searchSpec } from './search-domains.ts'
import { type PathPattern, pathPattern, type PatternRoots, matchingLookAlikes } from './path-pattern.ts'

/** A parsed rule: `Tool` or `Tool(spec)`. */
export interface PermissionRule {
  /** As the user wrote it. */
  readonly source: string
  /** Name of a tool; for `mcp__server` a prefix, which may contain `*`. */
  readonly tool: string
  /** For deny and ask rules: `tool` in the form of tool names, if it has the server's or tool's original name. */
  readonly otherNames?: readonly string[]
  /** What the rule applies to. */
  readonly spec: RuleSpec
  /** Whether this is the same rule with brackets in its path read as part of a name. */
  readonly isOtherReading?: true
  /** Whether changes of its files are detected in another way: then commands with unknown files are not denied for it. */
  readonly isWatched?: true
}

/** What a permission rule applies to: the part in parentheses. */
export type RuleSpec =
  | { readonly kind: 'any' }
  /** `matches` checks the spelling. For deny and ask rules, `matchCommand` also checks `pattern` against what the command does. */
  | {
      readonly kind: 'command'
      /** The pattern, as it is written. */
      readonly pattern: string
      /** Whether the text of a command line matches the pattern. */
      matches(command: string): boolean
    }
  | {
      readonly kind: 'path'
      /** The paths that it names. */
      readonly pattern: PathPattern
    }
  | {
      readonly kind: 'domain'
      /** The domain; a leading `*.` means all subdomains. */
      readonly domain: string
      /** Whether a host matches. */
      matches(host: string): boolean
    }
  | SearchSpec
  | {
      readonly kind: 'name'
      /** The name, such as that of a skill or an agent. */
      readonly name: string
    }

/** A rule, alone or with the project of its settings file, which is the base of `/` in its path. */
export type RuleText =
  | string
  | {
      /** The rule. */
      readonly rule: string
      /** The project of the settings file. */
      readonly projectDirectory: string
      /** For a deny rule of files whose changes are detected in another way: it denies visible changes only, and no command that cannot be analyzed. */
      readonly isWatched?: true
    }

/** An invalid permission rule, and why it is invalid. */
export interface RuleProblem {
  /** The rule, as it is written. */
  readonly rule: string
  /** What is wrong with it, in a sentence. */
  readonly problem: string
}

/** Invalid rules. All of them are reported, as a rule that is silently ignored protects nothing. */
export class PermissionRuleError extends HaltingError {
  override readonly name = 'PermissionRuleError'
  /** All invalid rules. */
  readonly problems: readonly RuleProblem[]

  constructor(problems: readonly RuleProblem[]) {
    const list = problems.map(({ rule, problem }) => `${rule}: ${problem}`)
    super('configuration', `Permission rules that cannot be read:\n${list.join('\n')}`, {
      details: problems.map(({ rule, problem }) => ({ rule, problem })),
    })
    this.problems = problems
  }
}

/** What a permission rule does with a matching call. */
export type Behavior = 'allow' | 'deny' | 'ask'

/** Parses lists of rules. Throws one `PermissionRuleError` for all invalid rules of all lists. */
export function parseRules(
  texts: Readonly<Partial<Record<Behavior, readonly RuleText[]>>>,
  cwd: string,
): Readonly<Record<Behavior, readonly PermissionRule[]>> {
  const problems: RuleProblem[] = []
  const read = (
    list: readonly RuleText[] = [],
    readingsOf: (rule: PermissionRule, roots: PatternRoots) => readonly PermissionRule[] = (rule) => [rule],
  ): readonly PermissionRule[] =>
    list.flatMap((text) => {
      const given: Exclude<RuleText, string> = typeof text === 'string' ? { rule: text, projectDirectory: cwd } : text
      const { rule, projectDirectory, isWatched } = given
      const roots = { cwd, projectDirectory }
      const parsed = parseRule(rule.trim(), roots)
      if (!('problem' in parsed)) return readingsOf({ ...parsed, ...(isWatched === true && { isWatched }) }, roots)
      problems.push({ rule, problem: parsed.problem })
      return []
    })
  // Deny and ask rules must match all spellings of a name. Allow rules match only the written one.
  const strict = ({ spec, ...rule }: PermissionRule): PermissionRule => ({
    ...rule,
    spec: spec.kind === 'path' ? { kind: 'path', pattern: matchingLookAlikes(spec.pattern) } : spec,
    otherNames: serverToolPatterns(rule.tool),
  })
  const rules = {
    deny: read(texts.deny, allRuleReadings).map(strict),
    ask: read(texts.ask, allRuleReadings).map(strict),
    allow: read(texts.allow),
  }
  if (problems.length > 0) throw new PermissionRuleError(problems)
  return rules
}

// Spec R-RULE-3b.
/** In deny and ask rules, brackets are also read literally: `Read(app/[id]/**)` matches the folder `app/[id]` in addition to the character class. */
function allRuleReadings(rule: PermissionRule, roots: PatternRoots): readonly PermissionRule[] {
  const { spec } = rule
  if (spec.kind !== 'path') return [rule]
  const { source } = spec.pattern
  const others = bracketReadings(source).flatMap((reading) => {
    if (reading === source) return []
    const pattern = pathPattern(reading, roots)
    return 'problem' in pattern ? [] : [{ ...rule, spec: { kind: 'path', pattern }, isOtherReading: true } as const]
  })
  return [rule, ...others]
}

type Problem = { readonly problem: string }

const pathTools: ReadonlySet<string> = new Set(['Read', 'Edit', 'Write', 'Glob', 'Grep', 'NotebookEdit', patchToolName])
const namedTools: ReadonlySet<string> = new Set(['Agent', 'Task', 'Skill'])

function parseRule(source: string, roots: PatternRoots): PermissionRule | Problem {
  const parts = /^([A-Za-z][\w.-]*\*?)(?:\((.*)\))?$/s.exec(source)
  const [, written = '', spec] = parts ?? []
  const tool = currentName(written)
  if (parts === null) return { problem: 'a rule is Tool or Tool(spec), such as Read or Bash(npm test)' }
  if (tool.includes('*') && !tool.startsWith('mcp__'))
    return { problem: '* in the name of a tool is only allowed in mcp__server__*' }
  if (spec === undefined) return { source, tool, spec: { kind: 'any' } }
  const parsed = parseSpec(tool, spec.trim(), roots)
  return 'problem' in parsed ? parsed : { source, tool, spec: parsed }
}

function parseSpec(tool: string, spec: string, roots: PatternRoots): RuleSpec | Problem {
  if (spec === '') return { problem: `the parentheses are empty; ${tool} without them matches every call` }
  if (spec === '*') return { kind: 'any' }
  if (tool === 'Bash') return commandSpec(spec)
  if (pathTools.has(tool)) {
    const pattern = pathPattern(spec, roots)
    return 'problem' in pattern ? pattern : { kind: 'path', pattern }
  }
  if (tool === 'WebFetch') return domainSpec(spec)
  if (tool === 'WebSearch') return searchSpec(spec)
  if (namedTools.has(tool)) return { kind: 'name', name: spec }
  return { problem: `${tool} does not accept parentheses` }
}

function commandSpec(spec: string): RuleSpec | Problem {
  const prefixMark = spec.indexOf(':*')
  if (prefixMark !== -1 && prefixMark !== spec.length - 2)
    return { problem: ':* is only allowed at the end; use * elsewhere' }
  if (spec === ':*') return { kind: 'any' }
  return { kind: 'command', pattern: spec, matches: (command) => matchesCommand(spec, command) }
}

function domainSpec(spec: string): RuleSpec | Problem {
  const named = domainOfRule(spec, 'WebFetch(domain:*.example.com)')
  if ('problem' in named) return named
  const { domain } = named
  return { kind: 'domain', domain, matches: (host) => matchesWildcard(domain, host) }
}

/** Servers and tools may have names that no tool can have. A server name may contain `__`, so each of them may be the separator. */
function serverToolPatterns(tool: string): readonly string[] {
  const written = /^mcp__([^*]+)(\*?)$/.exec(tool)
  if (written === null) return []
  const [, body = '', star = ''] = written
  const names = star === '' ? [serverRule(body)] : []
  for (let at = body.indexOf('__'); at !== -1; at = body.indexOf('__', at + 1)) {
    const [server, rest] = [body.slice(0, at), body.slice(at + 2)]
    if (validServerName(server) === '') continue
    if (star === '') names.push(rest === '' ? serverRule(server) : mcpToolName(server, rest))
    else names.push(`${serverRule(server)}__${rest.replace(/[^\w-]/g, '_')}*`)
  }
  return [...new Set(names)].filter((name) => name !== tool && name !== 'mcp__')
}

function serverRule(server: string): string {
  return `mcp__${validServerName(server)}`
}

/** Whether the rule applies to a tool of this name. */
export function isAbout(rule: PermissionRule, toolName: string): boolean {
  return (
    matchesToolName(rule.tool, toolName) || rule.otherNames?.some((name) => matchesToolName(name, toolName)) === true
  )
}

function matchesToolName(ruleTool: string, toolName: string): boolean {
  if (ruleTool === currentName(toolName)) return true
  if (!ruleTool.startsWith('mcp__')) return false
  return ruleTool.includes('*') ? matchesWildcard(ruleTool, toolName) : toolName.startsWith(`${ruleTool}__`)
}

/** Existing settings use the first name of the tool that starts agents. */
export function currentName(tool: string): string {
  return tool === 'Task' ? 'Agent' : tool
}
