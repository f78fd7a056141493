import { homeFolder } from '@halting/policy/files'
import { signInsFolder } from '@halting/policy'
import type { Settings } from '@halting/policy/settings'
import {
  type McpServerEntry,
  openServers as open,
  pluginServers,
  readMcpServer,
  serversOf,
  type SessionServers as AgentServers,
  SignIns,
} from '@halting/agent/mcp'
import type { Plugin } from '@halting/agent/instructions'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject, QueryOptions } from '@halting/core'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { oneLine, told } from '../io/figures.ts'
import { givenFile } from '../io/given-file.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { versionOf } from '../version.ts'
import type { Toolbox } from './toolbox.ts'

// Loaded where a session has servers, and only there.

type McpFlags = Pick<Flags, 'mcpConfig' | 'strictMcpConfig'>

/** The servers that count, the most urgent of each name. @throws UsageError for a `--mcp-config` that cannot be read. */
export async function serverEntries(
  { mcpConfig = [], strictMcpConfig }: McpFlags,
  { mcpServers = [] }: Settings,
  { env, cwd }: Pick<Program, 'env' | 'cwd'>,
  /** What commands get: the keys of models are not in it. */
  toolEnv: Program['env'],
  /** A server that `--mcp-config` says to be in the process of whoever drives the program. */
  inHost?: (name: string, server: JsonObject) => McpServerEntry,
  plugins: readonly Plugin[] = [],
): Promise<readonly McpServerEntry[]> {
  const entryOf = (name: string, server: JsonObject): McpServerEntry =>
    server['type'] === 'sdk' && inHost !== undefined
      ? inHost(name, server)
      : { name, server: readMcpServer(server, env), scope: 'given' }
  const entries = new Map<string, McpServerEntry>()
  for (const given of mcpConfig)
    for (const [name, server] of Object.entries(await serversGiven(given, cwd)))
      if (!entries.has(name)) entries.set(name, entryOf(name, server))
  if (strictMcpConfig === true) return [...entries.values()]
  return [...serversOf([...entries.values()], mcpServers, { env, commandEnv: toolEnv }), ...pluginServers(plugins, env)]
}

async function serversGiven(given: string, cwd: string): Promise<Readonly<Record<string, JsonObject>>> {
  const isJson = given.trimStart().startsWith('{')
  const what = isJson ? 'What --mcp-config gives' : `What --mcp-config gives (${given})`
  const wrong = (problem: string): UsageError =>
    new UsageError(`${what} ${problem}. It takes a file, or JSON: {"mcpServers": {"name": {"command": "…"}}}.`)
  const text = isJson ? given : await givenFile(given, cwd, '--mcp-config takes a file, or JSON')
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw wrong('is no JSON')
  }
  const servers = isJsonObject(content) ? content['mcpServers'] : undefined
  if (!isJsonObject(servers)) throw wrong('has no mcpServers')
  const stranger = Object.entries(servers).find(([, server]) => !isJsonObject(server))
  if (stranger !== undefined) throw wrong(`has a server that is no object: ${stranger[0]}`)
  // True: each was looked at.
  return servers as Readonly<Record<string, JsonObject>>
}

/** The servers of a run of the program. */
export interface SessionServers extends Omit<AgentServers, 'begin'> {
  /** Waits as long as the first request does; then says what `init` tells, and what is wrong on stderr. */
  begin(): Promise<NonNullable<QueryOptions['init']>>
}

export interface ServersSession {
  readonly entries: readonly McpServerEntry[]
  readonly toolbox: Toolbox
  readonly settings: Settings
  readonly program: Program
  readonly contextWindow: number | undefined
  /** Asks a person what a server wants to know. */
  readonly elicit?: NonNullable<Parameters<typeof open>[0]['elicit']> | undefined
  /** A tool that is for the program, and not for the model. */
  readonly ownTool?: string | undefined
}

/** Connects to all at once, and waits for none. */
export function openServers({
  entries,
  toolbox,
  settings,
  program,
  contextWindow,
  elicit,
  ownTool,
}: ServersSession): SessionServers {
  const { workspace, permissions } = toolbox
  const redacts = settings.redactSecrets === true
  const redactKeys = createKeyRedactor(program.env)
  const { cwd, env } = program
  const signIns = new SignIns(signInsFolder({ cwd, env, home: homeFolder(env) }))
  const version = versionOf(program)
  const asked = elicit === undefined ? {} : { elicit }
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
    ...asked,
  })
  return {
    ...servers,
    async begin() {
      const { init, problems } = await servers.begin()
      for (const problem of problems) program.output.err(told(oneLine(problem, Infinity)))
      return init
    },
    async prompt(text, signal) {
      try {
        return await servers.prompt(text, signal)
      } catch (thrown) {
        throw new UsageError(messageOf(thrown))
      }
    },
  }
}
