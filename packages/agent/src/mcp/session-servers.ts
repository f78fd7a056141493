import type { AnyTool, JsonObject, QueryEngine, QueryOptions } from '@halting/core'
import { isAgentTool } from '@halting/core/adapters'
import type { RulePermissions } from '@halting/policy'
import type { NamedServer } from '@halting/policy/settings'
import { redactedTool } from '../redact/redacted-tools.ts'
import { redactSecrets } from '@halting/core/redact'
import type { Environment } from '../tools/limits.ts'
import type { Workspace } from '../tools/workspace.ts'
import { type McpServerEntry, readMcpServer } from './config.ts'
import type { PromptCommand } from './prompts.ts'
import type { McpServerStatus, ServersReplaced } from './server-list.ts'
import { McpServers, type McpOptions } from './servers.ts'

/** Options of the MCP servers of a session. */
export interface SessionServersOptions extends Pick<McpOptions, 'elicit' | 'onUnanswered' | 'signIns'> {
  /** The servers. */
  readonly entries: readonly McpServerEntry[]
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The permission rules of the session. */
  readonly permissions: RulePermissions
  /** Whether secrets of known forms are removed from what tools show. */
  readonly redacts: boolean
  /** Removes the program's own keys from the results of tools. */
  readonly redactKeys: (text: string) => string
  /** Size of the model's context window in tokens; undefined if unknown. */
  readonly contextWindow: number | undefined
  /** The version of this program, for servers. */
  readonly version?: string
  /** A tool that is used by the program and not offered to the model. */
  readonly ownTool?: string | undefined
}

/** The servers of a session. */
export interface SessionServers {
  /** Options of the runs of the session. */
  readonly options: Required<Pick<QueryOptions, 'moreTools'>>
  /**
   * Waits as long as the first request does. Then returns the fields of `init`, the servers that are not connected,
   * and the omitted items of the connected servers.
   */
  begin(): Promise<{
    /** Fields for `system/init`. */
    readonly init: NonNullable<QueryOptions['init']>
    /** Notes for the user, one sentence each. */
    readonly problems: readonly string[]
  }>
  /** Offers the engine's model the current tools, and later changes. */
  attach(engine: Pick<QueryEngine, 'set'>): void
  /** The current tools. */
  tools(): readonly AnyTool[]
  /** Returns the content of a prompt. Rejects if the server has no such prompt. */
  prompt(text: string, signal: AbortSignal): ReturnType<McpServers['prompt']>
  /** Prompts, as commands. */
  prompts(): readonly PromptCommand[]
  /** The state of each server after it has connected or failed. */
  settled(): Promise<readonly McpServerStatus[]>
  /** The current state of each server. */
  statuses(): readonly McpServerStatus[]
  /** Replaces the dynamic servers. Resolves when each server has connected or failed. */
  replace(entries: readonly McpServerEntry[]): Promise<ServersReplaced>
  /** @throws Error if the server does not connect, or if no server has this name */
  reconnect(name: string): Promise<void>
  /**
   * Enables or disables a server.
   * @throws as `reconnect` does
   */
  toggle(
    name: string,
    how: {
      /** Whether to enable the server. */
      readonly isOn: boolean
    },
  ): Promise<void>
  /**
   * Calls a tool for the program itself and returns its text.
   * @throws Error that says why there is no answer
   */
  ask(toolName: string, input: JsonObject, signal: AbortSignal): Promise<string>
  /** Disconnects all servers. */
  end(): Promise<void>
}

interface ServerEnvironments {
  /** Environment for the user's servers. */
  readonly env: Environment
  /** Environment for servers of the project: without API keys of models. */
  readonly commandEnv: Environment
}

/** Returns the effective servers: the given servers, and those of the settings with other names. */
export function serversOf(
  ownEntries: readonly McpServerEntry[],
  ofSettings: readonly NamedServer[],
  { env, commandEnv }: ServerEnvironments,
): readonly McpServerEntry[] {
  const taken = new Set(ownEntries.map(({ name }) => name))
  return [
    ...ownEntries,
    ...ofSettings
      .filter(({ name }) => !taken.has(name))
      .map(({ name, server, scope }) => ({
        name,
        server: readMcpServer(server, scope === 'project' ? commandEnv : env),
        scope: scope === 'project' ? ('project' as const) : ('user' as const),
      })),
  ]
}

/** Starts connecting to all servers, without waiting. */
export function openServers(options: SessionServersOptions): SessionServers {
  const { entries, workspace, permissions, redacts, redactKeys, contextWindow, version, elicit, signIns, ownTool } =
    options
  const servers = new McpServers({
    servers: entries,
    cwd: workspace.cwd,
    directories: workspace.directories,
    env: workspace.env,
    sandbox: workspace.sandbox,
    fitImage: workspace.fitImage,
    hides: (name) => name === ownTool || permissions.toolsHiddenByDeny([name]).length > 0,
    ...(version !== undefined && { version }),
    signIns,
    ...(elicit !== undefined && { elicit }),
    ...(options.onUnanswered !== undefined && { onUnanswered: options.onUnanswered }),
    ...(contextWindow !== undefined && { contextWindow }),
  })
  const redacted = new WeakMap<AnyTool, AnyTool>()
  const withoutSecrets = (tool: AnyTool): AnyTool => {
    if (isAgentTool(tool)) return tool
    const made =
      redacted.get(tool) ?? redactedTool(tool, redacts ? (text) => redactSecrets(redactKeys(text)) : redactKeys)
    redacted.set(tool, made)
    return made
  }
  /** At most one engine is attached: after a rewind, the session has another engine. */
  let attached: Pick<QueryEngine, 'set'> | undefined
  const show = (): void => attached?.set({ tools: servers.names })
  servers.onChange(show)
  const moreTools = (name: string): AnyTool | undefined => {
    const tool = servers.tool(name)
    return tool === undefined ? tool : withoutSecrets(tool)
  }
  return {
    options: { moreTools },
    async begin() {
      await servers.ready()
      return {
        init: {
          mcp_servers: servers.statuses.map(({ name, status }) => ({ name, status })),
          slash_commands: servers.prompts.map(({ name }) => name),
        },
        problems: servers.statuses.flatMap(problemOf),
      }
    },
    attach(engine) {
      attached = engine
      show()
    },
    tools: () => servers.names.flatMap((name) => moreTools(name) ?? []),
    prompt: (text, signal) => servers.prompt(text, signal),
    prompts: () => servers.prompts,
    async settled() {
      await servers.settled()
      return servers.statuses
    },
    statuses: () => servers.statuses,
    replace: (others) => servers.replace(others),
    reconnect: (name) => servers.reconnect(name),
    toggle: (name, how) => servers.toggle(name, how),
    ask: (name, input, signal) => servers.ask(name, input, signal),
    end: () => servers.dispose(),
  }
}

function problemOf({ name, status, problem, leftOut = [] }: McpServerStatus): readonly string[] {
  if (status === 'connected') return leftOut.map((part) => `MCP server ${name}: ${part}.`)
  if (status === 'disabled') return []
  const why = status === 'pending' ? 'it has not answered yet; its tools are added when it does' : (problem ?? status)
  return [`MCP server ${name} is not available: ${why}.`]
}
