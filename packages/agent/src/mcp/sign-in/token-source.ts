import { type AuthProvider, OAuthError, OAuthErrorCode, refreshAuthorization } from '@modelcontextprotocol/client'
import { NeedsSignIn } from '../needs-sign-in.ts'
import { signInFetch } from './sign-in-fetch.ts'
import type { SignIn, SignIns } from './sign-ins.ts'

export interface TokenSourceOptions {
  readonly url: string
  readonly signIns: SignIns
  /** Appended to the error message if the sign-in has expired. */
  readonly advice: string
}

/** A token is refreshed this long before it expires. */
const marginMs = 30_000
const maxMs = 20_000

/**
 * Provides the access token for a server, refreshed when it expires. Never asks the user: without a valid sign-in, the
 * server requires a new one.
 */
export function tokenSource({ url, signIns, advice }: TokenSourceOptions): AuthProvider {
  let lastToken: string | undefined
  const show = ({ tokens }: SignIn): string => (lastToken = tokens.access_token)
  return {
    async token() {
      const found = await signIns.find(url)
      if (found === undefined) return undefined
      const isOver = found.expiresAtMs !== undefined && found.expiresAtMs - marginMs < Date.now()
      return show(isOver && found.tokens.refresh_token !== undefined ? await renewed(found, signIns, advice) : found)
    },
    async onUnauthorized() {
      const found = await signIns.find(url)
      if (found === undefined) throw new NeedsSignIn(advice)
      // Another process may have refreshed the token since then.
      if (found.tokens.access_token === lastToken) show(await renewed(found, signIns, advice))
    },
  }
}

/** One process refreshes the token and the others use its result: many servers accept a refresh token only once. */
function renewed(stale: SignIn, signIns: SignIns, advice: string): Promise<SignIn> {
  const { url } = stale
  return signIns.locked(url, async () => {
    const found = await signIns.find(url)
    if (found === undefined) throw new NeedsSignIn(advice)
    if (found.tokens.access_token !== stale.tokens.access_token) return found
    const { refresh_token: refreshToken } = found.tokens
    if (refreshToken === undefined) throw new NeedsSignIn(advice)
    const made = await renew(found, refreshToken)
    if (made === 'refused') {
      await signIns.forget(url)
      throw new NeedsSignIn(advice)
    }
    await signIns.store(made)
    return made
  })
}

async function renew(found: SignIn, refreshToken: string): Promise<SignIn | 'refused'> {
  const { url, authorizationServer, metadata, client, resource } = found
  try {
    const tokens = await refreshAuthorization(authorizationServer, {
      ...(metadata !== undefined && { metadata }),
      clientInformation: client,
      refreshToken,
      ...(resource !== undefined && { resource }),
      fetchFn: signInFetch(url, AbortSignal.timeout(maxMs)),
    })
    const { expires_in: seconds } = tokens
    const { expiresAtMs: _, ...rest } = found
    return {
      ...rest,
      tokens: { ...tokens, refresh_token: tokens.refresh_token ?? refreshToken },
      ...(seconds !== undefined && { expiresAtMs: Date.now() + seconds * 1_000 }),
    }
  } catch (thrown) {
    if (thrown instanceof OAuthError && isFinal(thrown.code)) return 'refused'
    // The server's message may contain the secrets that were sent.
    throw new Error('its sign-in could not be renewed: the server that gave it did not answer as it should', {
      cause: thrown,
    })
  }
}

const final: readonly string[] = [
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]

function isFinal(code: string): boolean {
  return final.includes(code)
}
