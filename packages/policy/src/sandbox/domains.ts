import { BlockList, isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { matchesWildcard } from '@halting/core/adapters'

/** Domains that may be reached, and domains that may not. */
export interface DomainLists {
  /** Domains that may be reached. */
  readonly allowed: readonly string[]
  /** Domains that may not be reached, even if `allowed` names them. */
  readonly denied: readonly string[]
}

/** `example.com` is that name only, `*.example.com` every subdomain, `*` every name. A denied domain is never allowed. */
export function isDomainAllowed(host: string, { allowed, denied }: DomainLists): boolean {
  const name = normalizeHost(host)
  return !isDomainDenied(host, denied) && allowed.some((pattern) => matchesDomain(name, normalizePattern(pattern)))
}

/** A deny rule may have an asterisk anywhere, as in `api-*.example.com`. In an allow rule that would allow more than most people intend. */
export function isDomainDenied(host: string, denied: readonly string[]): boolean {
  const name = normalizeHost(host)
  return denied.map(normalizePattern).some((pattern) => matchesDomain(name, pattern) || matchesWildcard(pattern, name))
}

/** Whether a name can match both patterns. */
export function domainsOverlap(one: string, other: string): boolean {
  const [left, right] = [normalizePattern(one), normalizePattern(other)]
  return matchesWildcard(left, right) || matchesWildcard(right, left)
}

function matchesDomain(name: string, pattern: string): boolean {
  // An IP address is not a subdomain: `*` does not match it.
  if (isIP(name) !== 0) return name === pattern
  if (pattern === '*') return true
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1
    : name === pattern
}

/** Whether resolvers use the name as written. They convert others to a name that was not judged: `gi\u00ADst` is `gist`. */
export function isExactHost(host: string): boolean {
  return isIP(host) !== 0 || /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(host)
}

/** The canonical form of a host: lower case, without brackets and without a trailing dot. */
export function normalizeHost(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}

/** The canonical form of a host pattern of a person. A pattern that no host can have matches none. */
function normalizePattern(given: string): string {
  const pattern = normalizeHost(given)
  return asciiDomain(pattern) ?? pattern
}

/** The ASCII form of a name: `münchen.de` is `xn--mnchen-3ya.de`. Undefined for an invalid name. */
export function asciiDomain(domain: string): string | undefined {
  const isAscii = (part: string): boolean => !/[^\0-\x7F]/.test(part)
  const parts = domain.split('.')
  // In an internationalized label, `*` cannot stand for a part of it, as its ASCII form differs.
  if (parts.some((part) => !isAscii(part) && part.includes('*'))) return undefined
  const resolved = parts.map((part) => (isAscii(part) ? part : domainToASCII(part)))
  return resolved.includes('') ? undefined : resolved.join('.')
}

/**
 * The ASCII form of the domain in a rule such as `WebFetch(domain:NAME)`, or why it is invalid. A URL is invalid: no host has such a name, so the
 * rule would match nothing.
 */
export function domainOfRule(
  spec: string,
  example: string,
): { readonly domain: string } | { readonly problem: string } {
  const given = /^domain:(\S+)$/.exec(spec)?.[1]?.toLowerCase().replace(/\.$/, '')
  if (given === undefined || given === '')
    return { problem: `${example.slice(0, example.indexOf('('))} takes domain:name, such as ${example}` }
  if (/[/:@#]/.test(given.replace(/^\[[\da-f:.]+\]$/, '')))
    return { problem: `the domain must be a host name without https://, port and path, such as ${example}` }
  const domain = asciiDomain(given)
  return domain === undefined ? { problem: 'the domain is not a valid host name' } : { domain }
}

const reserved4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The host of an Azure virtual machine answers at this address.
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
// Of IPv6 only 2000::/3 remains, without embedded IPv4 addresses and ranges that the internet does not use.
const reserved6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

/** Created when the first address is checked, as starting the program does not need it. */
function addressLists(): { readonly reserved: BlockList; readonly global6: BlockList } {
  if (blockLists !== undefined) return blockLists
  const [reserved, global6] = [new BlockList(), new BlockList()]
  for (const [network, bits] of reserved4) reserved.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of reserved6) reserved.addSubnet(network, bits, 'ipv6')
  global6.addSubnet('2000::', 3, 'ipv6')
  blockLists = { reserved, global6 }
  return blockLists
}
let blockLists: ReturnType<typeof addressLists> | undefined

/** Whether an address belongs to the internet, not to this machine or its networks. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const { reserved, global6 } = addressLists()
  if (isIPv4(address)) return !reserved.check(address, 'ipv4')
  return global6.check(address, 'ipv6') && !reserved.check(address, 'ipv6')
}
