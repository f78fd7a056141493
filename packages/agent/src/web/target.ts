import { isIP } from 'node:net'
import { matchesWildcard } from '@halting/core/adapters'
import { isDomainDenied, isPlainHost, isPublicAddress, normalHost } from '@halting/policy'

/** An address that may be asked, or why it may not. */
export type Target =
  | { readonly kind: 'target'; readonly url: URL; readonly host: string; readonly isPrivate: boolean }
  | { readonly kind: 'refused'; readonly why: string }

/** What a person decided about hosts. */
export interface Reach {
  /** Hosts of this machine or a private network that may be fetched, `*` allowed. None when absent. */
  readonly privateHosts?: readonly string[]
  /** Domains that are not fetched, whatever rules allow. */
  readonly deniedDomains?: readonly string[]
}

const longestUrl = 2_000

/**
 * What a URL leads to. `http` becomes `https`, but for hosts that a person named as private ones.
 * An address that is written as a number or in octal is what the URL standard makes of it.
 */
export function targetOf(given: string | URL, { privateHosts = [], deniedDomains = [] }: Reach = {}): Target {
  const refused = (why: string): Target => ({ kind: 'refused', why })
  if (String(given).length > longestUrl) return refused(`a URL has ${longestUrl} characters at most`)
  let url: URL
  try {
    url = new URL(given)
  } catch {
    return refused('it is no URL: write it whole, such as https://example.com/page')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('only https:// and http:// are fetched')
  if (url.username !== '' || url.password !== '') return refused('a URL with a name or a password in it is not fetched')
  const host = normalHost(url.hostname)
  if (!isPlainHost(host)) return refused('its host is not written as resolvers read it')
  if (isDomainDenied(host, deniedDomains)) return refused('settings deny its domain (sandbox.network.deniedDomains)')
  const isPrivate = privateHosts.some((named) => matchesWildcard(normalHost(named), host))
  if (!isPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return refused(privateAddress)
  if (!isPrivate && isIP(host) === 0 && !host.includes('.')) return refused(privateAddress)
  if (!isPrivate) url.protocol = 'https:'
  url.hash = ''
  return { kind: 'target', url, host, isPrivate }
}

export const privateAddress =
  'it leads to this machine or a private network (a person can name hosts that may be fetched all the same in HALTING_PRIVATE_HOSTS)'
