import type { McpServerEntry } from '@halting/agent/mcp'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import type { Control } from './control.ts'
import { HostServer, type Manifest } from './host-server.ts'

/** The MCP servers of the host, as named in `initialize`. */
export interface HostServerOptions {
  readonly sdkServers: readonly string[]
  readonly sdkServerConfigs: JsonObject
  readonly sdkServerManifests: JsonObject
}

/** Permission rules that a host declares for its own servers. */
export interface ServerRules {
  readonly ask: readonly string[]
  readonly deny: readonly string[]
}

/** The MCP servers in the process of the host, by name. Each lives as long as the session. */
export class HostServers {
  readonly #control: Pick<Control, 'request'>
  readonly #servers = new Map<string, HostServer>()

  constructor(control: Pick<Control, 'request'>) {
    this.#control = control
  }

  /** The servers that `initialize` named. */
  begin({ sdkServers, sdkServerConfigs, sdkServerManifests }: HostServerOptions): readonly McpServerEntry[] {
    return sdkServers.map((name) => this.entry(name, sdkServerConfigs[name], readManifest(sdkServerManifests[name])))
  }

  /** The servers that `mcp_set_servers` names. @throws UsageError for an invalid set. */
  async entries(value: Json | undefined, env: Program['env']): Promise<readonly McpServerEntry[]> {
    if (!isJsonObject(value)) throw new UsageError('mcp_set_servers needs servers: {"name": {"command": "…"}}.')
    const { readMcpServer } = await import('@halting/agent/mcp')
    return Object.entries(value).map(([name, server]): McpServerEntry => {
      if (!isJsonObject(server)) return { name, server: { problem: 'it must be an object' } }
      return server['type'] === 'sdk' ? this.entry(name, server) : { name, server: readMcpServer(server, env) }
    })
  }

  /** A message that one of these servers sends unasked. @throws UsageError, and Error if no client is connected to it. */
  receive({ server_name: name, message }: JsonObject): void {
    const server = typeof name === 'string' ? this.#servers.get(name) : undefined
    if (server === undefined) throw new UsageError(`The host has no MCP server ${JSON.stringify(name ?? null)}.`)
    if (!isJsonObject(message)) throw new UsageError('mcp_message needs a message, a JSON-RPC object.')
    server.receive(message)
  }

  /** One of these servers, by its name. */
  entry(name: string, config: Json | undefined, manifest?: Manifest): McpServerEntry {
    const instance = this.#servers.get(name) ?? new HostServer(name, this.#control, manifest)
    this.#servers.set(name, instance)
    const toolMs = isJsonObject(config) ? config['timeout'] : undefined
    // A shorter timeout is ignored: no call could finish in it.
    const isTime = typeof toolMs === 'number' && Number.isFinite(toolMs) && toolMs >= 1_000
    return { name, server: { type: 'sdk', instance }, scope: 'dynamic', ...(isTime && { toolMs }) }
  }
}

function readManifest(value: Json | undefined): Manifest | undefined {
  if (!isJsonObject(value)) return undefined
  const { initializeResult, toolsListResult } = value
  if (!isJsonObject(initializeResult)) return undefined
  return { initializeResult, ...(isJsonObject(toolsListResult) && { toolsListResult }) }
}

/** Permission policies of single tools (`always_ask`, `always_deny`) as rules. An unknown policy asks. */
export async function rulesOfServers(configs: JsonObject): Promise<ServerRules> {
  if (Object.keys(configs).length === 0) return { ask: [], deny: [] }
  const { mcpToolName } = await import('@halting/agent/mcp')
  const ask: string[] = []
  const deny: string[] = []
  for (const [server, config] of Object.entries(configs)) {
    const tools = isJsonObject(config) ? config['tools'] : undefined
    if (!Array.isArray(tools)) continue
    for (const tool of tools as readonly Json[]) {
      const { name, permission_policy: policy } = isJsonObject(tool) ? tool : {}
      if (typeof name !== 'string' || policy === undefined || policy === 'always_allow') continue
      if (policy === 'always_deny') deny.push(mcpToolName(server, name))
      else ask.push(mcpToolName(server, name))
    }
  }
  return { ask, deny }
}
