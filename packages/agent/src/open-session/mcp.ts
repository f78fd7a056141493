import { ConfigurationError, type JsonObject, type QueryOptions } from '@halting/core'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { readOptionFile } from './option-file.ts'
import { homeFolder } from '@halting/journal/files'
import type { Settings } from '@halting/policy/settings'
import { type McpServerEntry, readMcpServer } from '../mcp/config.ts'
import { openServers as open, serversOf, type SessionServers as AgentServers } from '../mcp/session-servers.ts'
import { pluginServers } from '../mcp/plugin-servers.ts'
import { SignIns } from '../mcp/sign-in/sign-ins.ts'
import { signInsFolder } from '@halting/policy'
import type { Plugin } from '../plugins/plugin.ts'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { createKeyRedactor } from '@halting/models'
import type { Toolbox } from './toolbox.ts'

// Loaded only if a session has servers.

type McpFlags = Pick<SessionChoices, 'mcpConfig' | 'strictMcpConfig'>

/**
 * The effective servers, one per name.
 * @throws ConfigurationError for an invalid `mcpConfig`.
 */
export async function serverEntries(
  { mcpConfig = [], strictMcpConfig }: McpFlags,
  { mcpServers = [] }: Settings,
  ports: Pick<SessionPorts, 'env' | 'cwd' | 'nameOf'>,
  /** The environment of commands, without API keys of models. */
  toolEnv: SessionPorts['env'],
  /** Creates a server that, according to `mcpConfig`, is in the host's process. */
  inHost?: (name: string, server: JsonObject) => McpServerEntry,
  plugins: readonly Plugin[] = [],
): Promise<readonly McpServerEntry[]> {
  const { env } = ports
  const entryOf = (name: string, server: JsonObject): McpServerEntry =>
    server['type'] === 'sdk' && inHost !== undefined
      ? inHost(name, server)
      : { name, server: readMcpServer(server, env), scope: 'given' }
  const entries = new Map<string, McpServerEntry>()
  for (const source of mcpConfig)
    for (const [name, server] of Object.entries(await serversGiven(source, ports)))
      if (!entries.has(name)) entries.set(name, entryOf(name, server))
  if (strictMcpConfig === true) return [...entries.values()]
  return [...serversOf([...entries.values()], mcpServers, { env, commandEnv: toolEnv }), ...pluginServers(plugins, env)]
}

async function serversGiven(
  source: string,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<Readonly<Record<string, JsonObject>>> {
  const name = nameOf('mcpConfig')
  const isJson = source.trimStart().startsWith('{')
  const what = isJson ? `The value of ${name}` : `The value of ${name} (${source})`
  const wrong = (problem: string): ConfigurationError =>
    new ConfigurationError(`${what} ${problem}. Use a file, or JSON: {"mcpServers": {"name": {"command": "…"}}}.`)
  const text = isJson ? source : await readOptionFile(source, cwd, `${name} takes a file, or JSON`)
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw wrong('is not valid JSON')
  }
  const servers = isJsonObject(content) ? content['mcpServers'] : undefined
  if (!isJsonObject(servers)) throw wrong('has no mcpServers')
  const stranger = Object.entries(servers).find(([, server]) => !isJsonObject(server))
  if (stranger !== undefined) throw wrong(`has a server that is not an object: ${stranger[0]}`)
  // Type assertion: each server was checked.
  return servers as Readonly<Record<string, JsonObject>>
}

/** The servers of a run of the program. */
export interface SessionServers extends Omit<AgentServers, 'begin'> {
  /** Waits as long as the first request does; then returns the fields of `init`, and reports problems as notices. */
  begin(): Promise<NonNullable<QueryOptions['init']>>
}

export interface ServersSession {
  readonly entries: readonly McpServerEntry[]
  readonly toolbox: Toolbox
  readonly settings: Settings
  readonly ports: Pick<SessionPorts, 'cwd' | 'env' | 'version' | 'note' | 'wordNotice'>
  readonly contextWindow: number | undefined
  /** Asks the user for input that a server requests. */
  readonly elicit?: NonNullable<Parameters<typeof open>[0]['elicit']> | undefined
  /** A tool that is used by the program and not offered to the model. */
  readonly ownTool?: string | undefined
}

/** Starts connecting to all servers, without waiting. */
export function openServers({
  entries,
  toolbox,
  settings,
  ports,
  contextWindow,
  elicit,
  ownTool,
}: ServersSession): SessionServers {
  const { workspace, permissions } = toolbox
  const redacts = settings.redactSecrets === true
  const redactKeys = createKeyRedactor(ports.env)
  const { cwd, env } = ports
  const signIns = new SignIns(signInsFolder({ cwd, env, home: homeFolder(env) }))
  const version = ports.version()
  const options = elicit === undefined ? {} : { elicit }
  const servers = open({
    entries,
    workspace,
    permissions,
    redacts,
    redactKeys,
    contextWindow,
    version,
    signIns,
    ownTool,
    onUnanswered: (text) => ports.note(ports.wordNotice({ kind: 'server', text })),
    ...options,
  })
  return {
    ...servers,
    async begin() {
      const { init, problems } = await servers.begin()
      for (const problem of problems) ports.note(ports.wordNotice({ kind: 'server', text: problem }))
      return init
    },
    async prompt(text, signal) {
      try {
        return await servers.prompt(text, signal)
      } catch (thrown) {
        throw new ConfigurationError(messageOf(thrown))
      }
    },
  }
}
