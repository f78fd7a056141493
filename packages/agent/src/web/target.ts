import { isIP } from 'node:net'
import { matchesWildcard } from '@halting/core/adapters'
import { isDomainDenied, isExactHost, isPublicAddress, normalizeHost } from '@halting/policy'
import * as texts from './web-fetch-texts.ts'

/** A URL that may be requested, or why it may not. */
export type Target =
  | { readonly kind: 'target'; readonly url: URL; readonly host: string; readonly isPrivate: boolean }
  | { readonly kind: 'refused'; readonly why: string }

/** The user's decisions about hosts. */
export interface Reach {
  /** Hosts of this machine or a private network that may be fetched, `*` allowed (default: none). */
  readonly privateHosts?: readonly string[]
  /** Domains that are never fetched, whatever rules allow. */
  readonly deniedDomains?: readonly string[]
}

const longestUrl = 2_000

/**
 * Checks a URL. `http` becomes `https`, except for hosts that the user listed as private. Numeric and octal addresses
 * are normalized by the URL standard.
 */
export function targetOf(rawUrl: string | URL, { privateHosts = [], deniedDomains = [] }: Reach = {}): Target {
  const refused = (why: string): Target => ({ kind: 'refused', why })
  if (String(rawUrl).length > longestUrl) return refused(texts.longUrl(longestUrl))
  let url: URL
  try {
    url = new URL(rawUrl)
  } catch {
    return refused(texts.invalidUrl)
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(texts.wrongScheme)
  if (url.username !== '' || url.password !== '') return refused(texts.urlWithCredentials)
  const host = normalizeHost(url.hostname)
  if (!isExactHost(host)) return refused(texts.invalidHost)
  if (isDomainDenied(host, deniedDomains)) return refused(texts.deniedDomain)
  const isPrivate = privateHosts.some((named) => matchesWildcard(normalizeHost(named), host))
  if (!isPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return refused(texts.privateAddress)
  if (!isPrivate && isIP(host) === 0 && !host.includes('.')) return refused(texts.privateAddress)
  if (!isPrivate) url.protocol = 'https:'
  url.hash = ''
  return { kind: 'target', url, host, isPrivate }
}
