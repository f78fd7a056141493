import { ConfigurationError } from '@halting/core'
import { defaultRequestTimeoutMs } from '../http/deadlines.ts'
import { fetchTransport } from '../http/fetch-transport.ts'
import { nodeTransport } from '../http/node-transport.ts'
import type { Transport } from '../http/transport.ts'
import { fixedKeys, renewableKeys } from './credentials.ts'
import type { CredentialSource } from './credential-source.ts'
import type { KeyHeader, KeyRing } from './credentials.ts'
import { checkHeader } from './headers.ts'
import { createRedactor } from './redactor.ts'
import type { Redactor } from './redactor.ts'
import { hasKeyPrefix, mayBeKey, shownUrl } from './secret-shapes.ts'
import { secretsOf, secretsOfEnvironment } from './secrets.ts'

/** How a service is reached; the same for every protocol. */
export interface ServiceOptions {
  /** Sent as the service's key header. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
  /** Gives the key instead, and another one when that is refused; see `commandCredentials` for a key helper. */
  readonly credentials?: CredentialSource | undefined
  /** Where the service is found. */
  readonly baseUrl?: string | undefined
  /** Further headers; they go before our own of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Most that a stream may be silent, in milliseconds; 300,000 when absent. */
  readonly idleTimeoutMs?: number | undefined
  /** Most that may pass until the answer begins, and then between two events other than `ping`; 600,000 when absent. */
  readonly requestTimeoutMs?: number | undefined
  /** Most that may pass between the reason why a reply ended and the end of its stream; 10,000 when absent. */
  readonly endTimeoutMs?: number | undefined
  /** Most characters that one event of a stream, or an answer that comes whole, may have; 64 million when absent. */
  readonly maxEventLength?: number | undefined
  /**
   * Makes the requests. Without it `node:http` does, through the proxy that the environment names; in browsers and on the edge the `fetch` of the host.
   * A body is lent: one that is kept beyond the call, to send it again by itself, must be copied.
   */
  readonly fetch?: typeof globalThis.fetch | undefined
}

export function transportOf({ fetch }: Pick<ServiceOptions, 'fetch'>): Transport {
  return fetch === undefined ? nodeTransport : fetchTransport(fetch)
}

/** @throws ConfigurationError for a key that cannot be sent. */
export function keyRingOf(options: ServiceOptions, keyHeader: KeyHeader): KeyRing {
  const { apiKey, authToken, credentials, requestTimeoutMs = defaultRequestTimeoutMs } = options
  if (credentials !== undefined) return renewableKeys(credentials, keyHeader, requestTimeoutMs)
  return fixedKeys({ apiKey, authToken }, keyHeader)
}

/**
 * Makes a model with what keeps its secrets out of whatever it tells.
 * @throws ConfigurationError for a model's name that is a key, and what `make` throws, without secrets.
 */
export function withRedactor<Made>(
  options: ServiceOptions & { readonly model: string; readonly id?: string | undefined },
  make: (redactor: Redactor) => Made,
): Made {
  const redactor = createRedactor(secretsOf(options))
  for (const name of [options.model, options.id ?? '']) {
    if (hasKeyPrefix(name) || redactor.knows(name)) throw new ConfigurationError(keyAsName)
  }
  try {
    return make(redactor)
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown
    const message = redactor.text(thrown.message)
    throw message === thrown.message ? thrown : new ConfigurationError(message)
  }
}

/**
 * For a name that somebody wrote, before anything is told of it.
 * @throws ConfigurationError when it is a key: one of the environment, or by its shape. Names of an unknown service are looked at more closely.
 */
export function refuseKeyAsName(
  name: string,
  {
    env,
    isKnownService,
  }: { readonly env: Readonly<Record<string, string | undefined>>; readonly isKnownService: boolean },
): void {
  const isKey = isKnownService ? hasKeyPrefix(name) : mayBeKey(name)
  if (isKey || createRedactor(secretsOfEnvironment(env)).knows(name)) throw new ConfigurationError(keyAsName)
}

const keyAsName =
  'The model name looks like an API key, so it is not shown here. Set the key in its variable, such as ANTHROPIC_API_KEY.'

/**
 * Our own headers with those of the user over them.
 * @throws ConfigurationError for one that cannot be sent.
 */
export function headersOf(
  own: Readonly<Record<string, string>>,
  users: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'user-agent': 'halting',
    ...own,
  }
  for (const [name, value] of Object.entries(users)) headers[name.toLowerCase()] = value.trim()
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
  return headers
}

/**
 * The address of a path under a base URL.
 * @throws ConfigurationError for a base URL that no request can be made to.
 */
export function urlUnder(baseUrl: string, path: string, example: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConfigurationError(
      `The base URL "${shownUrl(baseUrl)}" is not the address of a service. Write it like ${example}.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigurationError(
      `The base URL of ${url.host} contains a user name or password. Send it as a header instead.`,
    )
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`
  url.hash = ''
  return url.href
}
