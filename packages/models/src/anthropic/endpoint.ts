import { headersOf, urlUnder } from '../service/endpoint.ts'
import type { KeyHeader } from '../service/credentials.ts'
import type { ServiceOptions } from '../service/endpoint.ts'

/** Options of an endpoint of the Messages API. */
export interface EndpointOptions extends ServiceOptions {
  /** Names for the header `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined
}

export interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the key header of the Messages API. */
export const messagesKeyHeader: KeyHeader = (apiKey) => ['x-api-key', apiKey]

const defaultBaseUrl = 'https://api.anthropic.com'

/** Whether an address is that of Anthropic's API, not of a gateway or another service. */
export function isAnthropicUrl(url: string): boolean {
  return new URL(url).hostname === new URL(defaultBaseUrl).hostname
}

/**
 * Returns address and headers of requests.
 * @throws ConfigurationError for an invalid base URL or header.
 */
export function endpointOf(
  { baseUrl = defaultBaseUrl, betas = [], headers = {} }: EndpointOptions,
  path = '/v1/messages',
): Endpoint {
  const named = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'anthropic-beta')
  const users = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'anthropic-beta')
  const all = [...users.map(([, value]) => value), ...betas]
  return {
    url: urlUnder(baseUrl, path, defaultBaseUrl),
    headers: headersOf(
      { 'anthropic-version': '2023-06-01', ...(all.length > 0 && { 'anthropic-beta': all.join(',') }) },
      Object.fromEntries(named),
    ),
  }
}
