import { anySignal } from '@halting/core/adapters'
import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { settledWithin } from '../../time-limit.ts'
import { boundedFetch } from '../bounded-fetch.ts'
import { signInFetch } from './sign-in-fetch.ts'

/** A server's request for authentication. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL
  readonly scope?: string
}

const maxMs = 20_000
const maxBytes = 1024 * 1024

/**
 * Sends requests like a session, but without a token, until the server requires authentication: some servers allow any
 * client to connect and require authentication only when tools are listed. A server that also allows listing may still
 * require authentication at a call, and says so in its metadata.
 * @throws Error if the server requires no authentication
 */
export async function challengeOf(url: string, signal: AbortSignal): Promise<Challenge> {
  const within = anySignal([signal, AbortSignal.timeout(maxMs)])
  const ask = boundedFetch(maxBytes)
  let challenge: Challenge | undefined
  /** Whether the last request was answered. */
  let isIn = false
  const asking: typeof fetch = async (input, init) => {
    const response = await ask(input, { ...init, redirect: 'manual' })
    if (init?.method === 'POST') isIn = response.ok
    if (response.status === 401) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      challenge ??= { ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }), ...(scope !== undefined && { scope }) } // prettier-ignore
    }
    return response
  }
  const options = { signal: within, timeout: maxMs }
  const client = new Client(
    { name: 'halting', version: '0' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: maxMs / 4 } },
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  )
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: asking }), options)
    // Only the status of the response matters.
    if (client.getServerCapabilities()?.tools !== undefined) await client.request({ method: 'tools/list' }, options)
  } catch (thrown) {
    if (signal.aborted) throw thrown
  } finally {
    await settledWithin(client.close(), 1_000)
  }
  if (challenge !== undefined) return challenge
  if (isIn && !(await hasMetadata(url, signal))) throw new Error('it lets everybody in: there is nothing to sign in to')
  return {}
}

async function hasMetadata(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    await discoverOAuthProtectedResourceMetadata(url, {}, signInFetch(url, signal))
    return true
  } catch {
    return false
  }
}
