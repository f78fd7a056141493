import { ConfigurationError } from '@halting/core'

export interface EndpointOptions {
  /** Sent as `x-api-key`. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
  /** Where `/v1/messages` is found; `https://api.anthropic.com` when absent. */
  readonly baseUrl?: string | undefined
  /** Further headers; they go before our own of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Names for `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined
}

export interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const defaultBaseUrl = 'https://api.anthropic.com'

/**
 * Where requests go and what stands above each of them.
 * @throws ConfigurationError for a base URL or a header that no request can be made with. Values are not repeated in
 * the message: they may be secrets.
 */
export function endpointOf(options: EndpointOptions): Endpoint {
  const headers: Record<string, string> = {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'user-agent': 'halting',
  }
  if (options.apiKey !== undefined) headers['x-api-key'] = options.apiKey.trim()
  if (options.authToken !== undefined) headers.authorization = `Bearer ${options.authToken.trim()}`
  const betas = [...(options.betas ?? [])]
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    const lower = name.toLowerCase()
    if (lower === 'anthropic-beta') betas.unshift(value)
    else headers[lower] = value.trim()
  }
  if (betas.length > 0) headers['anthropic-beta'] = betas.join(',')
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
  return { url: messagesUrl(options.baseUrl ?? defaultBaseUrl), headers }
}

function messagesUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConfigurationError(
      `The base URL "${baseUrl}" is not the address of a service. Write it like ${defaultBaseUrl}.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigurationError(
      `The base URL of ${url.host} holds a user name or password. Send it as a header (ANTHROPIC_CUSTOM_HEADERS).`,
    )
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/messages`
  url.hash = ''
  return url.href
}

function checkHeader(name: string, value: string): void {
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
    throw new ConfigurationError(
      `"${name}" is no name for a header. ANTHROPIC_CUSTOM_HEADERS holds one "Name: value" a line.`,
    )
  }
  if (!/^[\t\u{20}-\u{7e}\u{80}-\u{ff}]*$/u.test(value)) {
    const source = name === 'x-api-key' ? 'the API key' : name === 'authorization' ? 'the token' : `the header ${name}`
    throw new ConfigurationError(`A character in ${source} cannot be sent. Was it copied with a line break or a quote?`)
  }
}
