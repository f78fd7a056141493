import { messageOf } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { Credential, CredentialSource } from './credential-source.ts'
import { checkHeader } from './headers.ts'
import { isSameCredential, createSharedSource, keyError } from './shared-source.ts'

/** A credential with the headers of one request. */
interface Key {
  readonly headers: Readonly<Record<string, string>>
  readonly credential: Credential
}

/**
 * The credentials of one model.
 *
 * K1: a 401 causes one refresh. A credential that came from a refresh and is rejected at once is not refreshed again.
 * K2: requests that were rejected with the same credential share one refresh.
 */
export interface KeyRing {
  /** @throws ModelError if no credential is available. */
  current(signal: AbortSignal): Promise<Key>
  /** Reports that a request with the key ended without a 401. */
  noteUse(key: Key): void
  /** Returns the error to throw for a 401; it is retryable if another credential is available now. */
  renew(key: Key, error: ModelError, signal: AbortSignal): Promise<ModelError>
}

/** Returns the header for an API key. */
export type KeyHeader = (apiKey: string) => readonly [name: string, value: string]

/** Creates credentials that never change. */
export function fixedKeys(credential: Credential, keyHeader: KeyHeader): KeyRing {
  const key = keyOf(credential, keyHeader)
  return { current: () => Promise.resolve(key), noteUse() {}, renew: (_key, error) => Promise.resolve(error) }
}

/** Creates credentials that a source supplies and renews after a rejection, each within `timeoutMs`. */
export function renewableKeys(source: CredentialSource, keyHeader: KeyHeader, timeoutMs: number): KeyRing {
  const ask = createSharedSource(source, timeoutMs)
  let renewal: Renewal | undefined

  const askForKey = async (refused: Credential | null, signal: AbortSignal): Promise<Key> => {
    const credential = await ask(refused, signal)
    try {
      return keyOf(credential, keyHeader)
    } catch (thrown) {
      throw keyError(messageOf(thrown), thrown)
    }
  }
  return {
    async current(signal) {
      if (renewal?.isUntried === true) return renewal.key
      const key = await askForKey(null, signal)
      // A source that still returns the rejected credential has returned a newer one since.
      return renewal !== undefined && isSameCredential(key.credential, renewal.refused) ? renewal.key : key
    },
    noteUse({ credential }) {
      if (renewal !== undefined && isSameCredential(credential, renewal.key.credential)) renewal.isUntried = false
    },
    async renew({ credential }, error, signal) {
      const again = (): ModelError => new ModelError({ ...error.toRecord(), retryable: true, cause: error })
      if (renewal !== undefined && isSameCredential(credential, renewal.refused)) return again()
      if (renewal?.isUntried === true && isSameCredential(credential, renewal.key.credential)) {
        renewal = undefined
        return error
      }
      const key = await askForKey(credential, signal)
      if (isSameCredential(key.credential, credential)) return error
      renewal = { refused: credential, key, isUntried: true }
      return again()
    },
  }
}

interface Renewal {
  readonly refused: Credential
  readonly key: Key
  /** No request with this key has ended yet. */
  isUntried: boolean
}

function keyOf(credential: Credential, keyHeader: KeyHeader): Key {
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
  return { headers, credential }
}
