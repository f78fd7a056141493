import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { expandVariables } from '../expand-variables.ts'

/** A program that is started, and talked to over its stdin and stdout. */
export interface StdioServer {
  readonly type: 'stdio'
  /** Path or name of the program. */
  readonly command: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** Beside the environment that every server gets. */
  readonly env: Readonly<Record<string, string>>
}

/** A server that is reached by HTTP: streamable HTTP, or the older form with events alone. */
export interface HttpServer {
  /** Streamable HTTP, or the older form with events. */
  readonly type: 'http' | 'sse'
  /** Address of the server. */
  readonly url: string
  /** Further headers of each request. */
  readonly headers: Readonly<Record<string, string>>
  /** How this program is known there, for `signIn`; it registers itself when absent. */
  readonly oauth?: RegisteredClient
}

/** A program that was registered at a server beforehand. Its secret is in no file of servers. */
export interface RegisteredClient {
  /** Id that the server knows the program by. */
  readonly clientId?: string
  /** Of 127.0.0.1, where the browser comes back to. */
  readonly callbackPort?: number
}

/** A server in this process: what the SDKs call an `McpServer`, or anything else that connects to a transport. */
export interface InProcessServer {
  readonly type: 'sdk'
  /** The server. */
  readonly instance: McpInstance
}

/** The part of a server of the SDKs that is used here. */
export interface McpInstance {
  // The SDKs' own type of a transport has changed between their versions.
  /** Connects the server to a transport. */
  connect(transport: never): Promise<void>
  /** Ends the connection. */
  close?(): Promise<void>
}

/** How to reach an MCP server: a process, an HTTP address, or an object in this process. */
export type McpServerConfig = StdioServer | HttpServer | InProcessServer

/** A server by its name, or why it cannot be connected to. */
export interface McpServerEntry {
  /** Name of the server. */
  readonly name: string
  /** How it is reached. */
  readonly server:
    | McpServerConfig
    | {
        /** Why it cannot be connected to. */
        readonly problem: string
      }
  /** Who named it; `dynamic`: a host, which may take it away again. */
  readonly scope?: 'user' | 'project' | 'given' | 'plugin' | 'dynamic'
  /** The time of one call of its tools, in place of the usual one. */
  readonly toolMs?: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads a server as files give it, with `${VAR}` and `${VAR:-default}` put in. What is wrong is a value: the other servers run. */
export function readMcpServer(given: JsonObject, env: Environment): McpServerEntry['server'] {
  const { type, command, url } = given
  try {
    const kind = kindOf(type, command, url)
    const expand = (text: string): string => expanded(text, env)
    if (kind === 'stdio') {
      return {
        type: kind,
        command: expand(filled('command', command)),
        args: texts('args', given['args'] ?? []).map(expand),
        env: mapped('env', given['env'] ?? {}, expand),
      }
    }
    const address = expand(filled('url', url))
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
      return { problem: 'its url must begin with http:// or https://' }
    const { username, password } = new URL(address)
    // Nothing asks with it, and the error of that would tell it.
    if (username !== '' || password !== '')
      return { problem: 'its url contains a user name or password; put them in a header' }
    const oauth = registeredClient(given['oauth'], expand)
    return {
      type: kind,
      url: address,
      headers: headersIn(mapped('headers', given['headers'] ?? {}, expand)),
      ...(oauth !== undefined && { oauth }),
    }
  } catch (thrown) {
    if (thrown instanceof Misread) return { problem: thrown.message }
    throw thrown
  }
}

class Misread extends Error {}

function registeredClient(given: unknown, expand: (text: string) => string): RegisteredClient | undefined {
  if (given === undefined || given === null) return undefined
  if (!isJsonObject(given)) throw new Misread('its oauth must be an object, such as {"clientId": "…"}')
  const { clientId, callbackPort, clientSecret } = given
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

/** What is told of one that cannot be sent has its value in it, which may be a key. */
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
    throw new Misread(`the variable ${name} is not set; \${${name}:-default} says what to take then`)
  })
}
