import { asciiDomain, domainOfRule, isExactHost, normalizeHost } from '../sandbox/domains.ts'
import { matchesWildcard } from '@halting/core/adapters'

// Services search by domain: `example.com` means that name and all subdomains.

/** What a search requests. `allowed` is empty if the search is not limited to domains. */
export interface SearchSubject {
  readonly kind: 'search'
  readonly allowed: readonly string[]
  readonly blocked: readonly string[]
}

/** The domains of a `WebSearch` rule. */
export interface SearchSpec {
  readonly kind: 'search'
  /** In ASCII form: `example.com`, `*.example.com`, `api-*.example.com`. */
  readonly domain: string
}

/** Reads the input of `WebSearch` as the tool does. */
export function searchSubject(input: { readonly [name: string]: unknown }): SearchSubject {
  return {
    kind: 'search',
    allowed: domainsIn(input['allowed_domains']),
    blocked: domainsIn(input['blocked_domains']),
  }
}

function domainsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map((each) => searchDomain(String(each)) ?? String(each)) : []
}

/** The domain to search for, from the text of a model or a person; undefined for an invalid one. */
export function searchDomain(given: string): string | undefined {
  const host = normalizeHost(given)
  const resolved = host.includes('*') ? undefined : asciiDomain(host)
  return resolved !== undefined && isExactHost(resolved) && /[a-z]/.test(resolved) ? resolved : undefined
}

/** @returns The domain pattern of a rule such as `WebSearch(domain:example.com)`, or why it is invalid. */
export function searchSpec(spec: string): SearchSpec | { readonly kind: 'any' } | { readonly problem: string } {
  const named = domainOfRule(spec, 'WebSearch(domain:example.com)')
  if ('problem' in named) return named
  return named.domain === '*' ? { kind: 'any' } : { kind: 'search', domain: named.domain }
}

/** Whether the pattern covers everything that a search of the domain may find. */
function covers(pattern: string, domain: string): boolean {
  return hostMatches(pattern, domain) || (pattern.startsWith('*.') && domain.endsWith(pattern.slice(1)))
}

/** Whether a host matches the pattern. */
function hostMatches(pattern: string, host: string): boolean {
  if (!pattern.includes('*')) return host === pattern || host.endsWith(`.${pattern}`)
  return matchesWildcard(pattern, host) || matchesWildcard(`*.${pattern}`, host)
}

/** Whether a search of the domain may find a host that matches the pattern. */
function overlapsSearch(domain: string, pattern: string): boolean {
  if (covers(pattern, domain)) return true
  const end = fixedEndOf(pattern)
  return end === '' || end === domain || end.endsWith(`.${domain}`) || domain.endsWith(`.${end}`)
}

/** The part of a pattern after its last asterisk: every matching host is below it. */
function fixedEndOf(pattern: string): string {
  const labels = pattern.split('.')
  return labels.slice(labels.findLastIndex((label) => label.includes('*')) + 1).join('.')
}

/** The fields of a permission rule that are used here. */
interface Rule {
  readonly spec: SearchSpec | { readonly kind: string }
}

function domainOf({ spec }: Rule): string | undefined {
  return spec.kind === 'search' && 'domain' in spec ? spec.domain : undefined
}

/** The first search rule with a matching pattern. */
function ruleOf<Any extends Rule>(rules: readonly Any[], isTrue: (pattern: string) => boolean): Any | undefined {
  return rules.find((rule) => {
    const pattern = domainOf(rule)
    return pattern !== undefined && isTrue(pattern)
  })
}

/** The deny rule for a search of which deny rules leave nothing. Rules that exclude only a part of it are applied by `searchBounds`. */
export function denyRuleForSearch<Any extends Rule>(
  rules: readonly Any[],
  { allowed }: SearchSubject,
): Any | undefined {
  const about = allowed.map((domain) => ruleOf(rules, (pattern) => covers(pattern, domain)))
  return about.includes(undefined) ? undefined : about[0]
}

/** The first ask rule that matches something the search may find. */
export function askRuleForSearch<Any extends Rule>(
  rules: readonly Any[],
  { allowed, blocked }: SearchSubject,
): Any | undefined {
  return ruleOf(rules, (pattern) =>
    allowed.length > 0
      ? allowed.some((domain) => overlapsSearch(domain, pattern))
      : !blocked.some((domain) => hostMatches(domain, fixedEndOf(pattern))),
  )
}

/** Whether allow rules cover every domain of the search. Only a bare rule covers a search without domains. */
export function isSearchAllowed(rules: readonly Rule[], { allowed }: SearchSubject): boolean {
  const isAllowed = (domain: string): boolean => ruleOf(rules, (pattern) => covers(pattern, domain)) !== undefined
  return allowed.length > 0 && allowed.every(isAllowed)
}

/** What deny rules leave of a search. */
export interface SearchBounds {
  /** Domains whose results are excluded, with all their subdomains; they cover at least everything that is denied. */
  readonly blocked: readonly string[]
  /** Whether a rule denies results of this host. */
  readonly denies: (host: string) => boolean
  /**
   * Whether a search of this domain and its subdomains, or without a domain, may find denied results despite `blocked`.
   * A service receives `blocked` only if it receives no allowed domains.
   */
  readonly mayFindDenied: (domain?: string) => boolean
}

export function searchBounds(deny: readonly Rule[]): SearchBounds {
  const patterns = deny.flatMap((rule) => domainOf(rule) ?? [])
  return {
    // A service does not support an asterisk within a name, so more is blocked than the rule says.
    blocked: [...new Set(patterns.map((pattern) => fixedEndOf(pattern)))].filter((domain) => domain !== ''),
    denies: (host) => patterns.some((pattern) => hostMatches(pattern, normalizeHost(host))),
    mayFindDenied: (domain) =>
      patterns.some((pattern) => (domain === undefined ? fixedEndOf(pattern) === '' : overlapsSearch(domain, pattern))),
  }
}
