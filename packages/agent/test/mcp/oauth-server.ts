import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * An MCP server on loopback that requires authentication, and its authorization server. Each test checks what they
 * received.
 */
export interface OAuthPair {
  /** The MCP server's address. */
  readonly url: string
  readonly authorizationServer: string
  /** `Authorization` of each request to the MCP server. */
  readonly shown: (string | undefined)[]
  /** Bodies of requests to the authorization server, by path. */
  readonly asked: { readonly path: string; readonly body: URLSearchParams }[]
  /** Valid tokens. */
  readonly valid: Set<string>
  /** Its behaviour, which may be changed while it is running. */
  readonly ways: Ways
}

export interface Ways {
  tokenSeconds?: number
  /** The sign-in page: admits, refuses, or answers with its own state. */
  page: 'lets in' | 'refuses' | 'answers with another state' | 'names another issuer'
  refresh: 'once each' | 'refused' | 'broken'
  /** A redirect target for every request to the MCP server. */
  redirects?: string
  /** The token endpoint in the metadata. */
  tokenEndpoint?: string
  authorizationEndpoint?: string
  /** Whether the authorization server has no metadata. */
  hasNoMetadata?: boolean
  /** Methods of the MCP server that need a token (default: all). */
  locks?: readonly string[]
  /** The scope that a tool call needs, and the scope that the server announces for the rest. */
  scopes?: { readonly first: string; readonly call: string }
  /** A client that the authorization server knows, with its secret; it registers no other. */
  known?: { readonly id: string; readonly secret: string }
  /** Its answer to a code. */
  saysToCode?: { readonly status: number; readonly text: string }
}

const form = async (request: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

/** A server on loopback that ends with the test. Returns its origin. */
export async function served(
  listener: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<string> {
  const server = createServer((request, response) => void listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on TCP has such an address.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function oauthPair(given: Partial<Ways> = {}): Promise<OAuthPair> {
  const ways: Ways = { page: 'lets in', refresh: 'once each', ...given }
  const shown: (string | undefined)[] = []
  const asked: OAuthPair['asked'] = []
  const valid = new Set<string>()
  const refreshes = new Set<string>()
  const codes = new Map<
    string,
    { readonly challenge: string; readonly resource: string; readonly redirect: string; readonly scope: string }
  >()
  const clients = new Map<string, readonly string[]>()
  /** By token. */
  const granted = new Map<string, string>()
  const random = (): string => randomBytes(12).toString('hex')
  let url = ''
  let issuer = ''

  issuer = await served(async (request, response) => {
    const at = new URL(request.url ?? '/', issuer)
    const text = await form(request)
    const json = (status: number, value: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const issue = (scope = ''): void => {
      const [access, refresh] = [`access-${random()}`, `refresh-${random()}`]
      granted.set(access, scope)
      valid.add(access)
      refreshes.add(refresh)
      json(200, {
        access_token: access,
        refresh_token: refresh,
        token_type: 'Bearer',
        ...(ways.tokenSeconds !== undefined && { expires_in: ways.tokenSeconds }),
      })
    }
    if (at.pathname === '/.well-known/oauth-authorization-server' && ways.hasNoMetadata !== true)
      return json(200, {
        issuer,
        authorization_endpoint: ways.authorizationEndpoint ?? `${issuer}/authorize`,
        token_endpoint: ways.tokenEndpoint ?? `${issuer}/token`,
        ...(ways.known === undefined && { registration_endpoint: `${issuer}/register` }),
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ways.known === undefined ? ['none'] : ['client_secret_basic'],
        authorization_response_iss_parameter_supported: true,
      })
    if (at.pathname === '/register') {
      const body = JSON.parse(text) as { readonly redirect_uris: readonly string[] }
      const client_id = `client-${random()}`
      clients.set(client_id, body.redirect_uris)
      return json(201, { ...body, client_id })
    }
    if (at.pathname === '/authorize') {
      const { searchParams: query } = at
      const redirect = query.get('redirect_uri') ?? ''
      const isRegistered = clients.get(query.get('client_id') ?? '')?.includes(redirect) === true
      const isKnown = ways.known === undefined ? isRegistered : query.get('client_id') === ways.known.id
      if (!isKnown || query.get('code_challenge_method') !== 'S256') return json(400, { error: 'invalid_request' })
      const back = new URL(redirect)
      back.searchParams.set('state', ways.page === 'answers with another state' ? 'mine' : (query.get('state') ?? ''))
      back.searchParams.set('iss', ways.page === 'names another issuer' ? 'https://elsewhere.example' : issuer)
      if (ways.page === 'refuses') back.searchParams.set('error', 'access_denied')
      else {
        const code = random()
        codes.set(code, {
          challenge: query.get('code_challenge') ?? '',
          resource: query.get('resource') ?? '',
          redirect,
          scope: query.get('scope') ?? '',
        })
        back.searchParams.set('code', code)
      }
      return void response.writeHead(302, { location: back.href }).end()
    }
    if (at.pathname === '/token') {
      const body = new URLSearchParams(text)
      asked.push({ path: at.pathname, body })
      const { known } = ways
      const proof = known === undefined ? undefined : Buffer.from(`${known.id}:${known.secret}`).toString('base64')
      if (proof !== undefined && request.headers.authorization !== `Basic ${proof}`)
        return json(401, { error: 'invalid_client' })
      if (body.get('grant_type') === 'refresh_token') {
        if (ways.refresh === 'broken') return json(500, {})
        const isGood = ways.refresh === 'once each' && refreshes.delete(body.get('refresh_token') ?? '')
        return isGood ? issue() : json(400, { error: 'invalid_grant', error_description: 'it was used' })
      }
      const { saysToCode: said } = ways
      if (said !== undefined) return void response.writeHead(said.status, { 'content-type': 'application/json' }).end(said.text) // prettier-ignore
      const code = codes.get(body.get('code') ?? '')
      codes.delete(body.get('code') ?? '')
      const verifier = createHash('sha256').update(body.get('code_verifier') ?? '').digest('base64url') // prettier-ignore
      const isGood = code !== undefined && code.challenge === verifier && body.get('redirect_uri') === code.redirect
      return isGood && code.resource === url && body.get('resource') === url
        ? issue(code.scope)
        : json(400, { error: 'invalid_grant' })
    }
    json(404, {})
  })

  const origin = await served(async (request, response) => {
    const text = await form(request)
    const json = (status: number, value: object, headers: Record<string, string> = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
    if (request.url?.startsWith('/.well-known/oauth-protected-resource') === true)
      return json(200, { resource: url, authorization_servers: [issuer], scopes_supported: ['tools'] })
    shown.push(request.headers.authorization)
    if (ways.redirects !== undefined) return void response.writeHead(307, { location: ways.redirects }).end()
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const { locks, scopes } = ways
    const asksFor =
      request.method === 'POST' ? String((JSON.parse(text) as { readonly method?: string }).method) : 'GET'
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    const isLocked = locks === undefined || locks.includes(asksFor)
    if (isLocked && (token === undefined || !valid.has(token)))
      return json(401, {}, { 'www-authenticate': `Bearer ${metadata}${scopes === undefined ? '' : `, scope="${scopes.first}"`}` }) // prettier-ignore
    const has = (granted.get(token ?? '') ?? '').split(' ')
    if (scopes !== undefined && asksFor === 'tools/call' && !has.includes(scopes.call))
      return json(403, {}, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scopes.call}", ${metadata}` }) // prettier-ignore
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(text) as { readonly id?: number; readonly method: string; readonly params?: { readonly protocolVersion?: string } } // prettier-ignore
    if (id === undefined) return void response.writeHead(202).end()
    const results: Record<string, object> = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'locked', version: '1' } },
      'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'somebody who is known' }] },
    } // prettier-ignore
    const result = results[method]
    return json(200, result === undefined ? { jsonrpc: '2.0', id, error: { code: -32_601, message: 'none' } } : { jsonrpc: '2.0', id, result }) // prettier-ignore
  })
  url = `${origin}/mcp`
  return { url, authorizationServer: issuer, shown, asked, valid, ways }
}

/** A browser whose user is already signed in there. */
export async function browse(page: URL): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(page)
  return { status: response.status, text: await response.text() }
}
