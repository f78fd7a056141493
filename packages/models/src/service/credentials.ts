import { messageOf, ModelError } from '@halting/core'
import { checkHeader } from './headers.ts'

/** What proves who asks. */
export interface Credential {
  /** Sent as the service's key header. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
}

/**
 * Gives the credential to use now. `refused` is the one that the service has just answered 401 to: then a new one is
 * wanted, from a key helper or an OAuth refresh. It is asked before each request: caching is its own business.
 * What it throws ends the run, as `authentication_failed`.
 */
export type CredentialSource = (asked: {
  readonly refused: Credential | null
  readonly signal: AbortSignal
}) => Credential | Promise<Credential>

/** A credential as one request carried it. */
interface Key {
  readonly headers: Readonly<Record<string, string>>
  readonly credential: Credential
  /** True for one that took the place of a refused one. */
  readonly isRenewed: boolean
}

/**
 * The credentials of one model.
 *
 * K1: a 401 is answered by one refresh: a credential that came from a refresh and was never taken is not refreshed.
 * K2: requests that were refused with the same credential share one refresh.
 */
export interface KeyRing {
  /** @throws ModelError when there is no credential to be had. */
  current(signal: AbortSignal): Promise<Key>
  /** The service took the key: it is proven. */
  accepted(key: Key): void
  /** The error to throw for a 401: worth a try again when there is another credential now. */
  refused(key: Key, error: ModelError, signal: AbortSignal): Promise<ModelError>
}

/** Which header an API key goes into. */
export type KeyHeader = (apiKey: string) => readonly [name: string, value: string]

/** Credentials that never change. */
export function fixedKeys(credential: Credential, keyHeader: KeyHeader): KeyRing {
  const key = keyOf(credential, keyHeader, false)
  return { current: () => Promise.resolve(key), accepted() {}, refused: (_key, error) => Promise.resolve(error) }
}

/** Credentials that a source gives, and gives anew when they were refused. */
export function renewableKeys(source: CredentialSource, keyHeader: KeyHeader): KeyRing {
  let renewal: Renewal | undefined

  const ask = async (refused: Credential | null, signal: AbortSignal): Promise<Key> => {
    try {
      return keyOf(await source({ refused, signal }), keyHeader, refused !== null)
    } catch (thrown) {
      signal.throwIfAborted()
      throw new ModelError({
        kind: 'authentication_failed',
        message: `No key could be had: ${messageOf(thrown)}`,
        billed: 'nothing',
        cause: thrown,
      })
    }
  }
  const renew = async (refused: Credential, signal: AbortSignal): Promise<Key> => {
    if (renewal !== undefined && areSame(renewal.refused, refused)) return renewal.key
    const begun: Renewal = { refused, key: ask(refused, signal), isProven: false }
    renewal = begun
    // One that failed is nothing to go on with: the next 401 asks again.
    begun.key.catch(() => (renewal = renewal === begun ? undefined : renewal))
    return begun.key
  }
  return {
    async current(signal) {
      if (renewal !== undefined && !renewal.isProven) return renewal.key
      const key = await ask(null, signal)
      // A source that goes on giving what was refused has handed out something newer since.
      return renewal !== undefined && areSame(key.credential, renewal.refused) ? renewal.key : key
    },
    accepted({ isRenewed }) {
      if (isRenewed && renewal !== undefined) renewal.isProven = true
    },
    async refused({ credential, isRenewed }, error, signal) {
      if (isRenewed && renewal?.isProven !== true) {
        renewal = undefined
        return error
      }
      const renewed = await renew(credential, signal)
      if (areSame(renewed.credential, credential)) return error
      return new ModelError({ ...error.toRecord(), retryable: true, cause: error })
    },
  }
}

interface Renewal {
  readonly refused: Credential
  readonly key: Promise<Key>
  /** The service has taken it. */
  isProven: boolean
}

function areSame(a: Credential, b: Credential): boolean {
  return a.apiKey === b.apiKey && a.authToken === b.authToken
}

function keyOf(credential: Credential, keyHeader: KeyHeader, isRenewed: boolean): Key {
  const { apiKey, authToken } = credential
  const headers: Record<string, string> = {}
  if (apiKey !== undefined) {
    const [name, value] = keyHeader(apiKey.trim())
    checkHeader(name, value, 'the API key')
    headers[name] = value
  }
  if (authToken !== undefined) {
    headers.authorization = `Bearer ${authToken.trim()}`
    checkHeader('authorization', headers.authorization, 'the token')
  }
  return { headers, credential, isRenewed }
}
