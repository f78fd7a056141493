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

/** How to reach a service; the same for every protocol. */
export interface ServiceOptions {
  /** Sent as the service's key header. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
  /** Source of keys, used instead of a fixed key; see `commandCredentials` for a key helper. */
  readonly credentials?: CredentialSource | undefined
  /** Address of the service. */
  readonly baseUrl?: string | undefined
  /** Additional headers; they override the built-in ones of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Maximum silence of a stream in milliseconds (default: 300,000). */
  readonly idleTimeoutMs?: number | undefined
  /**
   * Maximum time until the response starts, and then between two events other than `ping`, in milliseconds (default:
   * 600,000).
   */
  readonly requestTimeoutMs?: number | undefined
  /** Maximum time between the stop reason and the end of the stream in milliseconds (default: 10,000). */
  readonly endTimeoutMs?: number | undefined
  /** Maximum number of characters in one event, or in a response that is not streamed (default: 64 million). */
  readonly maxEventLength?: number | undefined
  /**
   * Makes the requests. Default: `node:http` with the proxy of the environment, or the host's `fetch` in browsers and
   * edge runtimes. The body is lent: copy it to use it after the call.
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
 * Creates a model with a redactor for its secrets.
 * @throws ConfigurationError if the model name is a key, and redacted errors of `make`.
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
 * Checks a model name before any message shows it.
 * @throws ConfigurationError if it is a key of the environment, or looks like one. Names of unknown services are
 * checked more strictly.
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
 * Merges our headers with those of the user, which take precedence.
 * @throws ConfigurationError for a header that cannot be sent.
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
 * Returns the address of a path under a base URL.
 * @throws ConfigurationError for an invalid base URL.
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
