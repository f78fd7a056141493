import { headersOf, urlUnder } from '../service/endpoint.ts'
import type { KeyHeader } from '../service/credentials.ts'
import type { ServiceOptions } from '../service/endpoint.ts'

/** Options of an endpoint of the Messages API. */
export interface EndpointOptions extends ServiceOptions {
  /** Names for `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined
}

export interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** The header of a key of the Messages API. */
export const messagesKeyHeader: KeyHeader = (apiKey) => ['x-api-key', apiKey]

const defaultBaseUrl = 'https://api.anthropic.com'

/** Whether an address is that of the API of Anthropic, and not that of a gateway or of another service. */
export function isAnthropicUrl(url: string): boolean {
  return new URL(url).hostname === new URL(defaultBaseUrl).hostname
}

/**
 * Where requests go and what stands above each of them.
 * @throws ConfigurationError for a base URL or a header that no request can be made with.
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
