import { messageOf } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { ModelErrorInit } from '@halting/core/adapters'
import { ConnectionFailure } from './coded-error.ts'

type Wording = (place: { readonly host: string; readonly origin: string; readonly code: string }) => ModelErrorInit

/** No connection was established, so no request was sent and billed. */
const notSent = { kind: 'connection', billed: 'nothing', neverConnected: true } as const
/** Retrying without a change would fail the same way. */
const notUsable = { ...notSent, retryable: false } as const

const noAddress: Wording = ({ host, code }) => ({
  ...notSent,
  message: `No address is known for ${host} (${code}). Check the network, the DNS and the base URL.`,
})
const closed: Wording = ({ host, code }) => ({
  kind: 'connection',
  message: `${host} closed the connection (${code}). If it happens again, check for a proxy that closes connections.`,
})
const unreachable: Wording = ({ host, code }) => ({
  ...notSent,
  message: `${host} cannot be reached (${code}). Check the network, and whether a VPN or a firewall is in the way.`,
})
const tooSlow: Wording = ({ host, code }) => ({
  kind: 'timeout',
  message: `${host} did not answer in time (${code}). Check the network, and for a proxy or a firewall in the way.`,
})
const neverReached: Wording = (place) => ({ ...tooSlow(place), billed: 'nothing', neverConnected: true })
const longHeaders: Wording = ({ host, code }) => ({
  kind: 'connection',
  message: `${host} sent headers that are too long for Node (${code}). Set NODE_OPTIONS=--max-http-header-size=65536.`,
})
const noHttp: Wording = ({ host, code }) => ({
  kind: 'connection',
  message: `${host} sent something that is not HTTP (${code}). Is the base URL right, and is there a proxy in between?`,
})
const untrusted: Wording = ({ host, code }) => ({
  ...notUsable,
  message:
    `The certificate of ${host} is not trusted (${code}). ` +
    'Behind a proxy that decrypts TLS, set NODE_EXTRA_CA_CERTS to its certificate.',
})
const notTls: Wording = ({ origin, code }) => ({
  ...notUsable,
  message: `${origin} does not speak TLS (${code}). Should the base URL begin with http://?`,
})

const noHandshake: Wording = ({ host, code }) => ({
  ...notSent,
  message:
    `${host} closed the connection during the TLS handshake (${code}). ` +
    'Is the base URL right, and is there a proxy or a firewall in between?',
})

const wordings: { readonly [code: string]: Wording } = {
  ENOTFOUND: noAddress,
  EAI_AGAIN: noAddress,
  ECONNREFUSED: ({ origin }) => ({
    ...notSent,
    message: `Nothing listens at ${origin} (ECONNREFUSED). Is the service running, and is the base URL right?`,
  }),
  ECONNRESET: closed,
  EPIPE: closed,
  UND_ERR_SOCKET: closed,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ENETDOWN: unreachable,
  ETIMEDOUT: tooSlow,
  ERR_CONNECT_TIMEOUT: neverReached,
  UND_ERR_CONNECT_TIMEOUT: neverReached,
  UND_ERR_HEADERS_TIMEOUT: tooSlow,
  UND_ERR_BODY_TIMEOUT: tooSlow,
  HPE_HEADER_OVERFLOW: longHeaders,
  UND_ERR_HEADERS_OVERFLOW: longHeaders,
  ERR_CONTENT_DECODING: ({ host, code }) => ({
    kind: 'connection',
    message: `The response of ${host} cannot be decompressed (${code}). If it happens again, check for a proxy that closes connections.`,
  }),
  CERT_HAS_EXPIRED: ({ host }) => ({
    ...notUsable,
    message: `The certificate of ${host} has expired (CERT_HAS_EXPIRED). Check the clock of this machine first.`,
  }),
  CERT_NOT_YET_VALID: ({ host }) => ({
    ...notUsable,
    message: `The certificate of ${host} is not valid yet (CERT_NOT_YET_VALID). Check the clock of this machine.`,
  }),
  ERR_TLS_CERT_ALTNAME_INVALID: ({ host }) => ({
    ...notUsable,
    message: `The certificate at ${host} is for another name (ERR_TLS_CERT_ALTNAME_INVALID). Is the base URL right?`,
  }),
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  EPROTO: notTls,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: noHandshake,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: noHandshake,
  ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: noHandshake,
  ERR_SSL_TLSV1_ALERT_ACCESS_DENIED: noHandshake,
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: noHandshake,
  ERR_SSL_UNSUPPORTED_PROTOCOL: noHandshake,
}

/** Converts an error of a transport or a body into a message that a person can act on. */
export function networkError(thrown: unknown, url: string): ModelError {
  if (!(thrown instanceof ConnectionFailure)) return errorOf(thrown, url, wordingOf)
  const { stage, cause } = thrown
  return stage === 'connected' ? errorOf(cause, url, wordingOfBroken) : unsent(errorOf(cause, url, wordingOfUnmade))
}

function errorOf(thrown: unknown, url: string, wordingFor: typeof wordingOf): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { host, origin } = new URL(url)
  const { code, message } = rootCauseOf(thrown)
  const wording = wordingFor(code, message)
  if (wording !== undefined) return new ModelError({ ...wording({ host, origin, code }), cause: thrown })
  // The `fetch` standard blocks ports of other protocols.
  if (message === 'bad port') {
    return new ModelError({
      ...notUsable,
      message: `The port of ${host} is blocked for HTTP requests. Is the base URL right?`,
    })
  }
  if (isProgramError(thrown, code)) {
    return new ModelError({ kind: 'unknown', message: `The request could not be made: ${message}`, cause: thrown })
  }
  const description = code === '' || message.includes(code) ? message : `${message} (${code})`
  return new ModelError({
    kind: 'connection',
    message: `The connection to ${host} failed: ${description}.`,
    cause: thrown,
  })
}

function wordingOf(code: string, message: string): Wording | undefined {
  if (message.includes('before secure TLS connection was established')) return noHandshake
  if (Object.hasOwn(wordings, code)) return wordings[code]
  // Node's parser has about thirty codes.
  return code.startsWith('HPE_') ? noHttp : undefined
}

/** Returns the wording for an established connection: a code that means "not connected" means "closed" here. */
function wordingOfBroken(code: string, message: string): Wording | undefined {
  const wording = wordingOf(code, message)
  if (wording === undefined) return undefined
  return (place) => {
    const worded = wording(place)
    return worded.billed === 'nothing' ? closed(place) : worded
  }
}

/** Returns the wording for a connection that was not established: a reset interrupts the handshake. */
function wordingOfUnmade(code: string, message: string): Wording | undefined {
  return code === 'ECONNRESET' || code === 'EPIPE' ? noHandshake : wordingOf(code, message)
}

function unsent(error: ModelError): ModelError {
  if (error.billed === 'nothing') return error
  const { billed, neverConnected } = notSent
  return new ModelError({ ...error.toRecord(), billed, neverConnected, cause: error.cause })
}

/** Whether the program made a mistake, such as a custom `fetch` that throws: retrying does not help. */
function isProgramError(thrown: unknown, code: string): boolean {
  if (!(thrown instanceof Error) || thrown.cause !== undefined) return false
  // Node's errors for invalid arguments, such as a header with a line break.
  if (code !== '') return thrown instanceof TypeError && code.startsWith('ERR_')
  const isFetchs = thrown.message === 'fetch failed' || thrown.message === 'terminated'
  return !isFetchs && ['TypeError', 'ReferenceError', 'RangeError', 'SyntaxError'].includes(thrown.name)
}

/**
 * Finds the root cause: `fetch` says 'fetch failed' and has the reason in `cause`; a host with several addresses has a
 * list of errors.
 */
function rootCauseOf(thrown: unknown): { readonly code: string; readonly message: string } {
  let error = thrown
  let code = ''
  for (let depth = 0; depth < 8 && error instanceof Error; depth++) {
    if ('code' in error && typeof error.code === 'string') code = error.code
    const next: unknown = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error.cause
    if (!(next instanceof Error)) break
    error = next
  }
  return { code, message: messageOf(error) }
}
