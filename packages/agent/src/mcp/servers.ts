import { homedir } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { sharedAbort } from '@halting/core/adapters'
import type { AnyTool, ContentBlock, JsonObject, Tool } from '@halting/core'
import { createFitImage, type FitImage } from '../media/fit-image.ts'
import type { Sandbox } from '@halting/policy/sandbox'
import { ProcessTable } from '../tools/process-table.ts'
import type { McpServerEntry } from './config.ts'
import { type Elicit, Elicitations } from './elicitations.ts'
import { charactersPerToken, type McpLimits, mcpLimitsFrom } from './limits.ts'
import { mcpToolName, uniqueToolName } from '@halting/policy'
import { type PromptCommand, promptCommandsOf, promptNamed } from './prompts.ts'
import { createListResources, createReadResource } from './resource-tools.ts'
import { ServerHandle } from './server-handle.ts'
import { type McpServerStatus, ServerList, type ServersReplaced, type ConnectableEntry } from './server-list.ts'
import { withProgress } from '../tools/progress-reports.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import { serverTool, type ServerToolOptions } from './server-tool.ts'
import { createToolSearch } from './tool-search.ts'

/** Options of `McpServers`. */
export interface McpOptions {
  /** The servers in order, each name once. */
  readonly servers: readonly McpServerEntry[]
  /** Working directory of server processes. */
  readonly cwd: string
  /** The folders that servers receive as roots (default: `cwd`). */
  readonly directories?: readonly string[]
  /** The base environment of servers (default: that of this process). */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Limits of servers. Omitted ones have their defaults. */
  readonly limits?: Partial<McpLimits>
  /** Confines the processes of servers. */
  readonly sandbox?: Sandbox | undefined
  /** Adapts images to the limits of a service. If absent, images are passed on unchanged. */
  readonly fitImage?: FitImage
  /**
   * The model's context window, in tokens. If tools take more than a tenth of the window, the model finds them by a
   * search.
   */
  readonly contextWindow?: number
  /** Whether a tool is not offered, for example because a bare deny rule removes it. */
  readonly hides?: (toolName: string) => boolean
  /** Asks the user on behalf of a server. If absent, every request is declined. */
  readonly elicit?: Elicit
  /** Called once per question that was declined because `elicit` is missing. */
  readonly onUnanswered?: (sentence: string) => void
  /** The version of this program, for servers. */
  readonly version?: string
  /** The user's sign-ins, for servers that require a sign-in. If absent, only a header with a token works. */
  readonly signIns?: SignIns | undefined
}

/** Maximum share of the context window for tools; beyond this share, tools are found by a search. */
const maxOfWindow = 0.1
const usualWindow = 200_000

/**
 * The servers of a session, all connected in parallel. Q1: no server delays another server or the session: every wait
 * is bounded. Q2: `names` lists what the model currently sees; `tool` returns each of these, and nothing else. Q3:
 * nothing of any server is left after `dispose`.
 */
export class McpServers {
  readonly #options: McpOptions
  readonly #limits: McpLimits
  readonly #processes: ProcessTable
  readonly #list: ServerList
  readonly #listeners = new Set<() => void>()
  readonly #toolOptions: ServerToolOptions
  #tools: ReadonlyMap<string, Tool> = new Map()
  /** The server of each tool, and the server's name for the tool. */
  #origins: ReadonlyMap<string, { readonly handle: ServerHandle; readonly ownName: string }> = new Map()
  /** Tools that a search has found; they remain visible to the model. */
  readonly #discovered = new Set<string>()
  #isSearching = false
  /** The last reported list, as JSON. */
  #reported = '[]'
  readonly #own: ReadonlyMap<string, AnyTool>

  constructor(options: McpOptions) {
    const { servers, env = process.env, fitImage = createFitImage() } = options
    this.#options = options
    this.#limits = mcpLimitsFrom(env, options.limits)
    this.#toolOptions = { limits: this.#limits, fitImage }
    this.#processes = new ProcessTable(this.#limits.killGraceMs)
    this.#list = new ServerList(
      servers,
      (entry) => this.#connect(entry),
      () => this.#changed(),
    )
    const search = createToolSearch(
      () => this.#handles.map(({ name }) => name),
      () => [...this.#tools.values()].filter(({ name }) => this.#options.hides?.(name) !== true),
      (names) => this.#show(names),
    )
    this.#own = new Map<string, AnyTool>(
      [
        search,
        createListResources(() => this.#withResources(), this.#toolOptions),
        createReadResource(() => this.#withResources(), this.#toolOptions),
      ].map((tool) => [tool.name, tool]),
    )
  }

  get #handles(): readonly ServerHandle[] {
    return this.#list.handles
  }

  #connect({ name, server, toolMs = this.#limits.toolMs }: ConnectableEntry): ServerHandle {
    const {
      cwd,
      directories = [cwd],
      env = process.env,
      sandbox,
      signIns,
      elicit,
      onUnanswered,
      version = '0',
    } = this.#options
    const { killGraceMs, messageBytes } = this.#limits
    const limits = { ...this.#limits, toolMs }
    const place = {
      name,
      signIns,
      cwd,
      env: { HOME: homedir(), ...env },
      processes: this.#processes,
      killGraceMs,
      messageBytes,
      sandbox,
      directories,
      limits,
      version,
      elicitations: new Elicitations({ server: name, limits, elicit, onUnanswered }),
    }
    return new ServerHandle(name, server, place, () => this.#changed())
  }

  /**
   * Resolves when every server has connected or failed; otherwise two seconds after the first answer, and after five
   * seconds at the latest. Reports later changes to `onChange`.
   */
  async ready(): Promise<void> {
    const { waitMs, waitAfterFirstMs } = this.#limits
    const handles = this.#handles
    const all = Promise.all(handles.map(({ settled }) => settled))
    const over = sharedAbort()
    // A server that answers later must not start a timer, which would keep the program running.
    const after = (ms: number): Promise<void> => wait(ms, undefined, { signal: over.signal }).catch(() => undefined)
    const first = Promise.any(
      handles.map(async (handle) => {
        await handle.settled
        if (handle.status !== 'connected') throw new Error('not connected')
      }),
    ).then(
      () => after(Math.min(waitAfterFirstMs, waitMs)),
      () => undefined,
    )
    await Promise.race([all, first, after(waitMs)])
    over.abort()
  }

  /** Resolves when the first attempt of every server is over. */
  async settled(): Promise<void> {
    await Promise.all(this.#handles.map(({ settled }) => settled))
  }

  /** The current state of the servers, in order. */
  get statuses(): readonly McpServerStatus[] {
    return this.#list.statuses
  }

  /** Replaces the dynamic servers; see `ServerList`. */
  replace(entries: readonly McpServerEntry[]): Promise<ServersReplaced> {
    return this.#list.replace(entries)
  }

  /** @throws Error if it does not connect */
  reconnect(name: string): Promise<void> {
    return this.#list.reconnect(name)
  }

  /** @throws as `reconnect` does */
  toggle(
    name: string,
    how: {
      /** Whether to enable the server. */
      readonly isOn: boolean
    },
  ): Promise<void> {
    return this.#list.toggle(name, how)
  }

  /** Names of the tools that the model can see, for `set({ tools })`. */
  get names(): readonly string[] {
    const all = [...this.#tools.keys()]
    const tools = this.#isSearching ? all.filter((name) => this.#discovered.has(name)) : all
    const hasResources = this.#withResources().length > 0
    return [
      ...(this.#isSearching ? ['ToolSearch'] : []),
      ...(hasResources ? ['ListMcpResources', 'ReadMcpResource'] : []),
      ...tools,
    ].filter((name) => this.#options.hides?.(name) !== true)
  }

  /** The tool with a name, for the option `moreTools`. */
  readonly tool = (name: string): AnyTool | undefined => this.#own.get(name) ?? this.#tools.get(name)

  /**
   * Calls a tool for the program itself, not for the model.
   * @throws Error that says why there is no answer
   */
  async ask(toolName: string, input: JsonObject, signal: AbortSignal): Promise<string> {
    const origin = this.#origins.get(toolName)
    if (origin === undefined) {
      const known = [...this.#origins.keys()].join(', ') || 'none'
      throw new Error(`There is no tool ${toolName} of a server that is connected. There are: ${known}.`)
    }
    const { handle, ownName } = origin
    const { content, isError } = await handle.ask(signal, (client) =>
      client.callTool({ name: ownName, arguments: { ...input } }, { signal, timeout: handle.limits.toolMs }),
    )
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    if (isError === true) throw new Error(text.slice(0, 1_000))
    return text
  }

  /**
   * Calls the listener when `names`, or a tool in that list, has changed. Returns a function that removes the
   * listener.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Prompts of the servers as slash commands, without the slash. */
  get prompts(): readonly PromptCommand[] {
    return this.#handles.flatMap((handle) => promptCommandsOf(handle))
  }

  /**
   * Returns the content of a prompt such as `/mcp__server__name word "two words"`; undefined if the text names no
   * server. Waits for a server that is still connecting.
   * @throws Error that describes the error in the text
   */
  async prompt(text: string, signal: AbortSignal): Promise<string | readonly ContentBlock[] | undefined> {
    return promptNamed(text, this.#handles, this.#toolOptions, signal)
  }

  /** Ends every connection and every process. Resolves when all of them have ended. */
  async dispose(): Promise<void> {
    this.#listeners.clear()
    await this.#list.end()
    await this.#processes.dispose()
  }

  /** Servers for the resource tools. Listing and reading query the server, so denied servers are skipped. */
  #withResources(): readonly ServerHandle[] {
    return this.#handles.filter(
      ({ name, offered }) =>
        offered.hasResources && this.#options.hides?.(mcpToolName(name, 'ReadMcpResource')) !== true,
    )
  }

  #show(names: readonly string[]): void {
    for (const name of names) this.#discovered.add(name)
    this.#report()
  }

  #changed(): void {
    const tools = new Map<string, Tool>()
    const origins = new Map<string, { readonly handle: ServerHandle; readonly ownName: string }>()
    for (const handle of this.#handles) {
      const seen = new Set<string>()
      for (const offered of handle.offered.tools) {
        // Of duplicate names in one server, only the first counts.
        if (seen.has(offered.name)) continue
        seen.add(offered.name)
        const name = uniqueToolName(handle.name, offered.name, (taken) => tools.has(taken))
        if (tools.has(name)) continue
        origins.set(name, { handle, ownName: offered.name })
        tools.set(
          name,
          withProgress(serverTool(name, offered, handle, { ...this.#toolOptions, limits: handle.limits })),
        )
      }
    }
    // Tools that the model has seen remain, even if the model must search for others from now on.
    if (!this.#isSearching && isLarge(tools.values(), this.#options.contextWindow)) {
      this.#isSearching = true
      for (const name of this.#tools.keys()) this.#discovered.add(name)
    }
    this.#tools = tools
    this.#origins = origins
    this.#report()
  }

  /** Reports only actual changes, not a server that reconnects with the same tools. */
  #report(): void {
    const listed = this.names.map((name) => {
      const tool = this.tool(name)
      return [name, tool?.description, tool?.inputSchema]
    })
    const now = JSON.stringify(listed)
    if (now === this.#reported) return
    this.#reported = now
    for (const listener of this.#listeners) listener()
  }
}

function isLarge(tools: Iterable<AnyTool>, window: number = usualWindow): boolean {
  let characters = 0
  for (const { name, description, inputSchema } of tools)
    characters += JSON.stringify({ name, description, input_schema: inputSchema }).length
  return characters / charactersPerToken > window * maxOfWindow
}
