import { randomBytes } from 'node:crypto'
import {
  auth,
  type AuthorizationServerMetadata,
  computeScopeUnion,
  type OAuthClientInformationContext,
  type StoredOAuthClientInformation,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
} from '@modelcontextprotocol/client'
import type { JsonObject } from '@halting/core'
import { anySignal, isJsonObject } from '@halting/core/adapters'
import { challengeOf } from './challenge.ts'
import { isLoopback, listenOnLoopback } from './loopback.ts'
import { checkAddress, signInFetch } from './sign-in-fetch.ts'
import type { SignIns } from './sign-ins.ts'

/** Options of `signIn`. */
export interface SignInOptions {
  /** The server's own address. */
  readonly url: string
  /** Stores the sign-in. */
  readonly signIns: SignIns
  /** Shows the user the sign-in page, for example in a browser. */
  readonly show: (url: URL) => void | Promise<void>
  /** Cancels the sign-in. */
  readonly signal: AbortSignal
  /** Id of a client that the server already knows. Default: this program registers itself. */
  readonly clientId?: string | undefined
  /** Secret of that client; absent for a public client. */
  readonly clientSecret?: string | undefined
  /** Port of the browser redirect (default: any free port). */
  readonly port?: number | undefined
  /** Time limit for the user in milliseconds (default: 5 minutes). */
  readonly waitMs?: number
}

const usualWaitMs = 5 * 60_000

/**
 * Signs the user in at a server by OAuth 2.1. The authorization code is returned to this machine and is useless
 * without the verifier created by this program (PKCE). Stores the result.
 * @throws Error with a message for the user
 */
export async function signIn(options: SignInOptions): Promise<void> {
  const { url, signIns, show, clientId, clientSecret, port, waitMs = usualWaitMs } = options
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw new Error('the sign-in would be sent in clear text: https:// is required')
  const signal = anySignal([options.signal, AbortSignal.timeout(waitMs)])
  const state = randomBytes(32).toString('base64url')
  const loopback = await listenOnLoopback({ port, state })
  try {
    const fetchFn = askedOnce(signInFetch(url, signal))
    const flow = new Flow(loopback.redirectUrl, state, clientId, clientSecret)
    const challenge = await challengeOf(url, signal)
    const before = await signIns.find(url)
    // Retains the scopes granted before, and adds those that the server has requested since.
    const scope = computeScopeUnion(challenge.scope, before?.tokens.scope ?? before?.scope, before?.wantedScope)
    const request = { serverUrl: url, fetchFn, ...challenge, ...(scope !== undefined && { scope }) }
    await auth(flow, request)
    const page = flow.page()
    checkAddress(page, url)
    await show(page)
    const callback = await loopback.answer(signal)
    if (callback.kind === 'refused') throw new Error(`it was refused (${callback.error.slice(0, 100)})`)
    const { code, iss } = callback
    flow.checkIssuer(iss)
    await auth(flow, { ...request, authorizationCode: code, ...(iss !== undefined && { iss }) })
    const made = flow.made()
    const { expires_in: seconds } = made.tokens
    const expiry = seconds === undefined ? {} : { expiresAtMs: Date.now() + seconds * 1_000 }
    const askedScope = page.searchParams.get('scope') ?? undefined
    await signIns.locked(url, () => signIns.store({ url, ...made, ...expiry, scope: askedScope }))
  } finally {
    await loopback.close()
  }
}

/**
 * Sends a failed registration or code exchange only once. The client would retry, log the response to the console, and
 * include parts of a malformed response, such as a token, in errors.
 */
function askedOnce(fetchFn: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await fetchFn(input, init)
    if ((init?.method ?? 'GET') === 'GET') return response
    const text = await response.text()
    const { origin } = new URL(input instanceof Request ? input.url : input)
    const content = objectIn(text)
    const error = content?.['error']
    if (!response.ok || error !== undefined) {
      const why = typeof error === 'string' && /^[\w-]{1,60}$/.test(error) ? error : `HTTP ${response.status}`
      throw new Error(`${origin} refused it (${why})`)
    }
    if (content === undefined) throw new Error(`${origin} did not answer with JSON`)
    return new Response(text, response)
  }
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const content: unknown = JSON.parse(text)
    return isJsonObject(content) ? content : undefined
  } catch {
    return undefined
  }
}

interface Made {
  readonly authorizationServer: string
  readonly metadata: AuthorizationServerMetadata | undefined
  readonly resource: string | undefined
  readonly client: StoredOAuthClientInformation
  readonly tokens: OAuthTokens
}

/** A sign-in in progress. Nothing is written to disk before it has succeeded. */
class Flow implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly #state: string
  #client: StoredOAuthClientInformation | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''
  #page: URL | undefined
  #discovered: OAuthDiscoveryState | undefined
  #resource: string | undefined

  constructor(redirectUrl: string, state: string, clientId: string | undefined, secret: string | undefined) {
    this.redirectUrl = redirectUrl
    this.#state = state
    if (clientId !== undefined)
      this.#client = { client_id: clientId, ...(secret !== undefined && { client_secret: secret }) }
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'halting',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  state(): string {
    return this.#state
  }

  clientInformation(context?: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    // A client that was registered beforehand is used only at the first authorization server.
    if (this.#client !== undefined && context !== undefined)
      this.#client = { ...this.#client, issuer: this.#client.issuer ?? context.issuer }
    return this.#client
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens
  }

  redirectToAuthorization(url: URL): void {
    this.#page = url
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(discovered: OAuthDiscoveryState): void {
    this.#discovered = discovered
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered
  }

  saveResourceUrl(resource: string): void {
    this.#resource = resource
  }

  /**
   * Returns the page for the user.
   * @throws Error
   */
  page(): URL {
    if (this.#page === undefined) throw new Error('it does not say where to sign in')
    return this.#page
  }

  /**
   * Rejects an answer of another authorization server, to which a page may have redirected. The client compares
   * issuers only if the server has metadata.
   * @throws Error
   */
  checkIssuer(issuer: string | undefined): void {
    const { authorizationServerMetadata: metadata, authorizationServerUrl: expected } = this.#discovered ?? {}
    if (issuer === undefined || metadata !== undefined || expected === undefined) return
    if (!URL.canParse(issuer) || new URL(issuer).href !== new URL(expected).href)
      throw new Error('the answer names another issuer than the server that was asked')
  }

  /**
   * Returns the completed sign-in.
   * @throws Error if the sign-in failed
   */
  made(): Made {
    const [client, tokens, discovered] = [this.#client, this.#tokens, this.#discovered]
    if (client === undefined || tokens === undefined || discovered === undefined) throw new Error('it gave no token')
    const { authorizationServerUrl: authorizationServer, authorizationServerMetadata: metadata } = discovered
    return { authorizationServer, metadata, resource: this.#resource, client, tokens }
  }
}
