import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { expandVariables } from '../expand-variables.ts'

/** A server program that is started and then used over its stdin and stdout. */
export interface StdioServer {
  readonly type: 'stdio'
  /** Path or name of the program. */
  readonly command: string
  /** Arguments of the program. */
  readonly args: readonly string[]
  /** Variables to add to the environment that every server receives. */
  readonly env: Readonly<Record<string, string>>
}

/** A server over HTTP: streamable HTTP, or the older SSE transport. */
export interface HttpServer {
  /** Streamable HTTP, or the older SSE transport. */
  readonly type: 'http' | 'sse'
  /** Address of the server. */
  readonly url: string
  /** Further headers of each request. */
  readonly headers: Readonly<Record<string, string>>
  /** The registration of this program at the server, for `signIn`. Default: this program registers itself. */
  readonly oauth?: RegisteredClient
}

/** A client that was registered at a server beforehand. No server file contains its secret. */
export interface RegisteredClient {
  /** The client id. */
  readonly clientId?: string
  /** Port on 127.0.0.1 to which the browser is redirected. */
  readonly callbackPort?: number
}

/** A server in this process: an `McpServer` of the SDKs, or anything else that connects to a transport. */
export interface InProcessServer {
  readonly type: 'sdk'
  /** The server. */
  readonly instance: McpInstance
}

/** The part of an SDK server that is used here. */
export interface McpInstance {
  // The SDKs' transport type differs between versions.
  /** Connects the server to a transport. */
  connect(transport: never): Promise<void>
  /** Closes the connection. */
  close?(): Promise<void>
}

/** How to reach an MCP server: a process, an HTTP address, or an object in this process. */
export type McpServerConfig = StdioServer | HttpServer | InProcessServer

/** A named server, or why it cannot be used. */
export interface McpServerEntry {
  /** Name of the server. */
  readonly name: string
  /** How to reach the server. */
  readonly server:
    | McpServerConfig
    | {
        /** Why the server cannot be used. */
        readonly problem: string
      }
  /** Where the server is configured; `dynamic`: by a host, which may remove the server. */
  readonly scope?: 'user' | 'project' | 'given' | 'plugin' | 'dynamic'
  /** Time limit of one tool call, which replaces the default. */
  readonly toolMs?: number
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads a server from a file, with `${VAR}` and `${VAR:-default}` expanded. Errors are returned as values, so that the
 * other servers work.
 */
export function readMcpServer(fields: JsonObject, env: Environment): McpServerEntry['server'] {
  const { type, command, url } = fields
  try {
    const kind = kindOf(type, command, url)
    const expand = (text: string): string => expanded(text, env)
    if (kind === 'stdio') {
      return {
        type: kind,
        command: expand(filled('command', command)),
        args: texts('args', fields['args'] ?? []).map(expand),
        env: mapped('env', fields['env'] ?? {}, expand),
      }
    }
    const address = expand(filled('url', url))
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
      return { problem: 'its url must begin with http:// or https://' }
    const { username, password } = new URL(address)
    // `fetch` rejects such a URL with an error that would reveal the password.
    if (username !== '' || password !== '')
      return { problem: 'its url contains a user name or password; put them in a header' }
    const oauth = registeredClient(fields['oauth'], expand)
    return {
      type: kind,
      url: address,
      headers: headersIn(mapped('headers', fields['headers'] ?? {}, expand)),
      ...(oauth !== undefined && { oauth }),
    }
  } catch (thrown) {
    if (thrown instanceof Misread) return { problem: thrown.message }
    throw thrown
  }
}

class Misread extends Error {}

function registeredClient(fields: unknown, expand: (text: string) => string): RegisteredClient | undefined {
  if (fields === undefined || fields === null) return undefined
  if (!isJsonObject(fields)) throw new Misread('its oauth must be an object, such as {"clientId": "…"}')
  const { clientId, callbackPort, clientSecret } = fields
  if (clientSecret !== undefined)
    throw new Misread('its oauth has a clientSecret: give it in the variable MCP_CLIENT_SECRET to halting mcp login')
  if (
    callbackPort !== undefined &&
    !(Number.isInteger(callbackPort) && Number(callbackPort) > 0 && Number(callbackPort) < 65_536)
  )
    // prettier-ignore
    throw new Misread('its oauth.callbackPort must be a port, 1 to 65535')
  return {
    ...(clientId !== undefined && { clientId: expand(filled('oauth.clientId', clientId)) }),
    ...(callbackPort !== undefined && { callbackPort: Number(callbackPort) }),
  }
}

const kinds: Readonly<Record<string, 'stdio' | 'http' | 'sse'>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sse: 'sse',
}

function kindOf(type: unknown, command: unknown, url: unknown): 'stdio' | 'http' | 'sse' {
  if (type === undefined) {
    if (command !== undefined) return 'stdio'
    if (url !== undefined) return 'http'
    throw new Misread('it has neither a command nor a url')
  }
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (kind !== undefined) return kind
  throw new Misread(`its type ${JSON.stringify(type)} is not one of stdio, http, sse`)
}

function filled(field: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && !value.includes('\0')) return value
  throw new Misread(`its ${field} must be a text that is not empty`)
}

function texts(field: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\0'))) return value
  throw new Misread(`its ${field} must be a list of texts`)
}

function mapped(field: string, value: unknown, expand: (text: string) => string): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) throw new Misread(`its ${field} must be an object of texts`)
  const entries = Object.entries(value).map(([name, text]) => {
    if (!/^[^=\0\r\n]+$/.test(name)) throw new Misread(`its ${field} has a name that cannot be set`)
    if (typeof text !== 'string' && typeof text !== 'number' && typeof text !== 'boolean')
      throw new Misread(`its ${field}.${name} must be a text`)
    if (String(text).includes('\0')) throw new Misread(`its ${field}.${name} must be a text without NUL`)
    return [name, expand(String(text))] as const
  })
  return Object.fromEntries(entries)
}

/** An error about an invalid header would contain its value, which may be a key. */
function headersIn(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Misread('its headers have a name that cannot be sent')
    if (/[^\t\x20-\x7E\x80-\xFF]/.test(value.trim()))
      throw new Misread(`its headers.${name} has a character that cannot be sent, such as a line end`)
  }
  return headers
}

function expanded(text: string, env: Environment): string {
  return expandVariables(text, env, (name) => {
    throw new Misread(`the variable ${name} is not set; \${${name}:-default} sets a default`)
  })
}
