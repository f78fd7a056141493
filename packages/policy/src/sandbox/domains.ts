import { BlockList, isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { matchesWildcard } from '@halting/core/adapters'

/** Domains that may be reached, and domains that may not. */
export interface DomainLists {
  /** Domains that may be reached. */
  readonly allowed: readonly string[]
  /** Domains that may not be reached, also where `allowed` names them. */
  readonly denied: readonly string[]
}

/** `example.com` is that name alone, `*.example.com` every name below it, `*` every name. A denied one is never allowed. */
export function isDomainAllowed(host: string, { allowed, denied }: DomainLists): boolean {
  const name = normalizeHost(host)
  return !isDomainDenied(host, denied) && allowed.some((pattern) => matchesDomain(name, normalizePattern(pattern)))
}

/** A rule may deny `api-*.example.com`. To allow that is more than most mean by it. */
export function isDomainDenied(host: string, denied: readonly string[]): boolean {
  const name = normalizeHost(host)
  return denied.map(normalizePattern).some((pattern) => matchesDomain(name, pattern) || matchesWildcard(pattern, name))
}

/** Whether a name that fits one pattern may fit the other. */
export function domainsOverlap(one: string, other: string): boolean {
  const [left, right] = [normalizePattern(one), normalizePattern(other)]
  return matchesWildcard(left, right) || matchesWildcard(right, left)
}

function matchesDomain(name: string, pattern: string): boolean {
  // An address is no name below another one: `*` does not mean it.
  if (isIP(name) !== 0) return name === pattern
  if (pattern === '*') return true
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1
    : name === pattern
}

/** Whether a name is written as resolvers read it. Others they make another name of, which was not judged: `gi\u00ADst` is `gist`. */
export function isExactHost(host: string): boolean {
  return isIP(host) !== 0 || /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(host)
}

/** A host in the form in which hosts are compared: in lower case, without brackets and without a dot at its end. */
export function normalizeHost(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}

/** What a person wrote of hosts, as hosts are judged. What no host can have fits none. */
function normalizePattern(given: string): string {
  const pattern = normalizeHost(given)
  return asciiDomain(pattern) ?? pattern
}

/** A name as it is resolved: `münchen.de` is `xn--mnchen-3ya.de`. Undefined for one that no host can have. */
export function asciiDomain(domain: string): string | undefined {
  const isAscii = (part: string): boolean => !/[^\0-\x7F]/.test(part)
  const parts = domain.split('.')
  // In a name that is written otherwise when it is resolved, `*` stands for no part of what was written.
  if (parts.some((part) => !isAscii(part) && part.includes('*'))) return undefined
  const resolved = parts.map((part) => (isAscii(part) ? part : domainToASCII(part)))
  return resolved.includes('') ? undefined : resolved.join('.')
}

/**
 * The domain that a rule such as `WebFetch(domain:NAME)` names, as it is resolved, or why it names none. An address of a page is
 * none: no host has such a name, so that a rule with it would hold for nothing.
 */
export function domainOfRule(
  spec: string,
  example: string,
): { readonly domain: string } | { readonly problem: string } {
  const given = /^domain:(\S+)$/.exec(spec)?.[1]?.toLowerCase().replace(/\.$/, '')
  if (given === undefined || given === '')
    return { problem: `${example.slice(0, example.indexOf('('))} takes domain:name, such as ${example}` }
  if (/[/:@#]/.test(given.replace(/^\[[\da-f:.]+\]$/, '')))
    return { problem: `its domain is to be the name of a host, without https://, port and path, such as ${example}` }
  const domain = asciiDomain(given)
  return domain === undefined ? { problem: 'its domain is none that a host can have' } : { domain }
}

const reserved4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The host of a virtual machine in Azure answers at this one.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const
// What is left of IPv6 is 2000::/3, without the ways to write an IPv4 address in it and what no host of the internet has.
const reserved6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

/** Made when the first address is judged: no start needs them. */
function addressLists(): { readonly reserved: BlockList; readonly global6: BlockList } {
  if (lists !== undefined) return lists
  const [reserved, global6] = [new BlockList(), new BlockList()]
  for (const [network, bits] of reserved4) reserved.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of reserved6) reserved.addSubnet(network, bits, 'ipv6')
  global6.addSubnet('2000::', 3, 'ipv6')
  lists = { reserved, global6 }
  return lists
}
let lists: ReturnType<typeof addressLists> | undefined

/** Whether an address is one of the internet, and not of this machine or the networks that it stands in. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const { reserved, global6 } = addressLists()
  if (isIPv4(address)) return !reserved.check(address, 'ipv4')
  return global6.check(address, 'ipv6') && !reserved.check(address, 'ipv6')
}
