import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { redactedTool, redactSecrets, type Settings } from '@halting/agent'
import { type McpServerEntry, McpServers, type McpServerStatus, readMcpServer } from '@halting/agent/mcp'
import { isAgentTool, isJsonObject, messageOf } from '@halting/core/adapters'
import type { AnyTool, JsonObject, QueryEngine, QueryOptions } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { oneLine, told } from '../io/figures.ts'
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
): Promise<readonly McpServerEntry[]> {
  const entries = new Map<string, McpServerEntry>()
  for (const given of mcpConfig)
    for (const [name, server] of Object.entries(await serversGiven(given, cwd)))
      if (!entries.has(name)) entries.set(name, { name, server: readMcpServer(server, env) })
  for (const { name, server, scope } of strictMcpConfig === true ? [] : mcpServers)
    if (!entries.has(name))
      entries.set(name, { name, server: readMcpServer(server, scope === 'project' ? toolEnv : env) })
  return [...entries.values()]
}

async function serversGiven(given: string, cwd: string): Promise<Readonly<Record<string, JsonObject>>> {
  const isJson = given.trimStart().startsWith('{')
  const what = isJson ? 'What --mcp-config gives' : `What --mcp-config gives (${given})`
  const wrong = (problem: string): UsageError =>
    new UsageError(`${what} ${problem}. It takes a file, or JSON: {"mcpServers": {"name": {"command": "…"}}}.`)
  let content: unknown
  try {
    content = JSON.parse(isJson ? given : (await readFile(resolve(cwd, given), 'utf8')).replace(/^\uFEFF/, ''))
  } catch (thrown) {
    throw wrong(thrown instanceof SyntaxError ? 'is no JSON' : `cannot be read: ${messageOf(thrown)}`)
  }
  const servers = isJsonObject(content) ? content['mcpServers'] : undefined
  if (!isJsonObject(servers)) throw wrong('has no mcpServers')
  const stranger = Object.entries(servers).find(([, server]) => !isJsonObject(server))
  if (stranger !== undefined) throw wrong(`has a server that is no object: ${stranger[0]}`)
  // True: each was looked at.
  return servers as Readonly<Record<string, JsonObject>>
}

/** The servers of a run of the program. */
export interface SessionServers {
  readonly options: Required<Pick<QueryOptions, 'moreTools'>>
  /** Waits as long as the first request does; then says what `init` tells, and what is wrong on stderr. */
  begin(): Promise<NonNullable<QueryOptions['init']>>
  /** Shows the engine's model the tools there are, and those that come. */
  attach(engine: QueryEngine): void
  /** What a prompt stands for. @throws UsageError for one that its server does not have */
  prompt(text: string, signal: AbortSignal): ReturnType<McpServers['prompt']>
  /** How each is once it has answered or failed. */
  settled(): Promise<readonly McpServerStatus[]>
  end(): Promise<void>
}

export interface ServersSession {
  readonly entries: readonly McpServerEntry[]
  readonly toolbox: Toolbox
  readonly settings: Settings
  readonly program: Program
  readonly contextWindow: number | undefined
}

/** Connects to all at once, and waits for none. */
export function openServers({ entries, toolbox, settings, program, contextWindow }: ServersSession): SessionServers {
  const { workspace, permissions } = toolbox
  const servers = new McpServers({
    servers: entries,
    cwd: workspace.cwd,
    directories: workspace.directories,
    env: workspace.env,
    sandbox: workspace.sandbox,
    fitImage: workspace.fitImage,
    version: versionOf(program),
    hides: (name) => permissions.toolsHiddenByDeny([name]).length > 0,
    ...(contextWindow !== undefined && { contextWindow }),
  })
  const redacted = new WeakMap<AnyTool, AnyTool>()
  const withoutSecrets = (tool: AnyTool): AnyTool => {
    if (isAgentTool(tool)) return tool
    const made = redacted.get(tool) ?? redactedTool(tool, redactSecrets)
    redacted.set(tool, made)
    return made
  }
  return {
    options: {
      moreTools(name) {
        const tool = servers.tool(name)
        return tool === undefined || settings.redactSecrets !== true ? tool : withoutSecrets(tool)
      },
    },
    async begin() {
      await servers.ready()
      for (const { name, status, problem } of servers.statuses) {
        if (status === 'connected') continue
        const why = status === 'pending' ? 'it has not answered yet; its tools come when it does' : (problem ?? status)
        program.output.err(told(oneLine(`the MCP server ${name} is not there: ${why}.`, Infinity)))
      }
      return {
        mcp_servers: servers.statuses.map(({ name, status }) => ({ name, status })),
        slash_commands: servers.promptNames,
      }
    },
    attach(engine) {
      const show = (): void => engine.set({ tools: servers.names })
      show()
      servers.onChange(show)
    },
    async prompt(text, signal) {
      try {
        return await servers.prompt(text, signal)
      } catch (thrown) {
        throw new UsageError(messageOf(thrown))
      }
    },
    async settled() {
      await servers.settled()
      return servers.statuses
    },
    end: () => servers.dispose(),
  }
}
