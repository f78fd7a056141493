import { resolve } from 'node:path'
import {
  AgentBuilder,
  type AgentConfiguration,
  ConfigurationError,
  type JsonObject,
  type Model,
  noProgress,
  outputSchema,
  type OutputSchema,
} from '@halting/core'
import { contextLayers, messageOf, sharedAbort } from '@halting/core/adapters'
import type { AgentDefinition } from '../agents/definition.ts'
import { sessionAgents, type SessionAgents } from '../agents/session-agents.ts'
import { checkpointsFolder, hiddenFromCheckpoints } from '../checkpoints/checkpoints-folder.ts'
import { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { createCarryOver } from '../context/carry-over.ts'
import type { Briefing } from '../instructions/briefing.ts'
import { type BriefingPlaces, hasBriefing } from '../instructions/places.ts'
import type { McpServerConfig } from '../mcp/config.ts'
import type { SessionServers } from '../mcp/session-servers.ts'
import { memoryOf } from '../memory/places.ts'
import { homeFolder } from '@halting/policy/files'
import { signInsFolder } from '@halting/policy'
import { type LoadedSettings, loadSettings } from '@halting/policy/settings'
import { createCodingTools } from '../tools/coding-tools.ts'
import { createPersonTools } from '../tools/person-tools.ts'
import type { Environment } from '../tools/limits.ts'
import { CodingAgentBuilder, type OpenedSession } from './builder.ts'
import { checkedFolder } from './check-options.ts'
import { commandEnvironment } from './command-environment.ts'
import { optionsOfTheLoop } from './options-of-the-loop.ts'
import { openWorkspace, type SessionWorkspace } from './open-workspace.ts'
import type { AnswerOf, AnswerSchema, CodingAgentOptions, GivenServer } from './options.ts'
import { RunsGoingOn } from './session-agent.ts'
import { sessionOptions } from './session-options.ts'
import { modelOf, pricesOf } from './models-of.ts'
import { namedSession, type NamedSession, SessionOnDisk, unkeptFolder } from './session-of.ts'
import { environmentWith, trustedBy, untrusted } from './settings-of.ts'

/**
 * A coding agent in a folder, as the terminal program is one: its tools, permission rules, hooks, servers, instructions and session, by the
 * settings files that are there. Of a folder that nobody trusted, deny and ask rules and instructions count, and nothing that runs or loosens;
 * `notes` say what does not count. Without `canUseTool` nobody is asked: a call that no rule or mode allows is denied. Commands are
 * held in a sandbox where `sandbox` or the settings want that, and only there.
 *
 * @throws ConfigurationError for settings that are not right, a session that is not there, and values that cannot be served.
 * @throws SandboxError where a sandbox is wanted and cannot be had.
 */
export async function codingAgent<const Schema extends AnswerSchema = JsonObject>(
  options: CodingAgentOptions<Schema>,
): Promise<CodingAgentBuilder<AnswerOf<Schema>>> {
  const cwd = checkedFolder(options)
  const { env: outer = process.env } = options
  const onNote = listening(options.onNote)
  const places: BriefingPlaces = { cwd, env: outer, home: homeFolder(outer), sources: options.settingSources }
  const loaded = await loadSettings({
    ...places,
    given: options.settings === undefined ? undefined : JSON.stringify(options.settings),
    trustedBy: trustedBy(options, outer),
  })
  const notes = [...loaded.warnings, ...untrusted(loaded)]
  const env = environmentWith(loaded.settings, outer, notes)
  const opened = new Opening({ options: { ...options, onNote }, places: { ...places, env }, loaded, notes })
  try {
    const builder = await opened.builder()
    for (const note of notes) onNote?.(note)
    return builder
  } catch (thrown) {
    await opened.undo()
    throw thrown
  }
}

/** What a listener throws is its own affair. */
function listening(onNote: CodingAgentOptions['onNote']): (note: string) => void {
  return (note) => {
    try {
      onNote?.(note)
    } catch {
      // The session goes on.
    }
  }
}

interface Given<Schema extends AnswerSchema> {
  readonly options: CodingAgentOptions<Schema>
  readonly places: BriefingPlaces
  readonly loaded: LoadedSettings
  readonly notes: string[]
}

/** What is opened one after another, and ended again where one of them fails. */
class Opening<Schema extends AnswerSchema> {
  readonly #given: Given<Schema>
  #workspace: SessionWorkspace['workspace'] | undefined
  #servers: SessionServers | undefined
  readonly #interruption: OpenedSession['interruption'] = {}

  constructor(given: Given<Schema>) {
    this.#given = given
  }

  async undo(): Promise<void> {
    await this.#servers?.end()
    await this.#workspace?.dispose()
  }

  async builder(): Promise<CodingAgentBuilder<AnswerOf<Schema>>> {
    const { options, places, loaded, notes } = this.#given
    const { settings } = loaded
    const { keyVariables } = await import('@halting/models')
    const named = await namedSession(options, places)
    const commandEnv = commandEnvironment(places.env, { keys: keyVariables(), passed: settings.passEnvironment ?? [] })
    const session = this.#openWorkspace(named, commandEnv)
    const { workspace, permissions } = session
    this.#workspace = workspace
    const model = await modelOf(options, places.env, settings)
    // Looked at before a server or a hook of the session is started; nothing is asked.
    AgentBuilder.base({ ...optionsOfTheLoop(options), model, tools: options.tools ?? [] }).build()
    const output = await this.#output()
    const briefing = await this.#briefing(session)
    notes.push(...(briefing?.warnings ?? []))
    await this.#holdCommands(session)
    const { servers, init: serversInit } = await this.#connect(session, commandEnv, model)
    const { tools, mayStartAgents } = this.#tools(session)
    const agents = mayStartAgents ? await this.#agents(session, model, briefing) : undefined
    notes.push(...(agents?.warnings ?? []))
    const { createKeyRedactor } = await import('@halting/models')
    const redactKeys = createKeyRedactor(places.env)
    const made = await sessionOptions({
      ...session,
      tools,
      agentTool: agents?.tool,
      briefing,
      redacts: settings.redactSecrets === true,
      redactKeys,
      system: options.system,
      appended: options.appendSystem,
    })
    const onDisk = options.persistSession === false ? undefined : new SessionOnDisk(places, named, redactKeys)
    const given = { hooks: [...made.hooks, ...(options.hooks ?? [])], stopHooks: options.stopHooks ?? [] }
    const hooks = await this.#hooks(session, { named, onDisk, model }, given)
    const configuration: AgentConfiguration = {
      ...made,
      context: contextLayers({ carryOver: createCarryOver(workspace, permissions) }),
      prices: options.prices ?? (await pricesOf(settings)),
      ...optionsOfTheLoop(options),
      userContext: { ...made.userContext, ...options.userContext },
      ...given,
      ...hooks?.options,
      model,
      guards: [noProgress()],
      ...(output !== undefined && { output }),
    }
    const opened: OpenedSession = {
      ...session,
      sessionId: named.sessionId,
      onDisk,
      removeFiles: onDisk === undefined ? unkeptFolder({ ...places, sessionId: named.sessionId }) : undefined,
      shell: hooks?.shell,
      interruption: this.#interruption,
      servers,
      init: {
        cwd: places.cwd,
        permissionMode: permissions.mode,
        ...briefing?.init,
        ...serversInit,
        ...(agents !== undefined && { agents: agents.names }),
        slash_commands: [...(briefing?.init.slash_commands ?? []), ...(serversInit?.slash_commands ?? [])],
      },
      notes,
      onNote: options.onNote,
      atEnd: options.background ?? settings.background ?? 'wait',
      version: '@halting/agent',
      state: 'open',
      over: sharedAbort(),
      runs: new RunsGoingOn(),
      ended: undefined,
      after: new Set(),
    }
    return new CodingAgentBuilder<AnswerOf<Schema>>(configuration, opened)
  }

  #openWorkspace({ sessionId }: NamedSession, env: Environment): SessionWorkspace {
    const { options, places, loaded } = this.#given
    const isKept = options.persistSession !== false && loaded.settings.fileCheckpointingEnabled !== false
    const place = { ...places, sessionId }
    return openWorkspace({
      places,
      sessionId,
      settings: loaded.settings,
      env,
      additionalDirectories: (options.additionalDirectories ?? []).map((path) => resolve(places.cwd, path)),
      mode: options.permissionMode,
      // It is the program that sets modes, and nobody else.
      mayBypass: true,
      allow: options.allowedTools ?? [],
      deny: options.disallowedTools ?? [],
      whenAsked: options.canUseTool === undefined && options.onAsk === undefined ? 'deny' : 'ask',
      checkpoints: isKept
        ? new FileCheckpoints({
            folder: checkpointsFolder(place),
            hidden: hiddenFromCheckpoints(place),
            cwd: places.cwd,
            env,
            onProblem: (problem) => this.#note(`what files were is not kept any more: ${problem}`),
          })
        : undefined,
    })
  }

  async #output(): Promise<OutputSchema | undefined> {
    // What a schema is, and whether it is one, is looked at by who makes the check of it.
    const schema: AnswerSchema | undefined = this.#given.options.outputSchema
    if (schema === undefined) return undefined
    // One that gives no JSON Schema is refused, with what to give in its place.
    if ('~standard' in schema) return (outputSchema as (given: unknown) => OutputSchema)(schema)
    if (typeof schema['check'] === 'function') return schema as OutputSchema
    const { jsonSchemaOutput } = await import('../json-schema/index.ts')
    return jsonSchemaOutput(schema as JsonObject)
  }

  async #briefing({ workspace, permissions }: SessionWorkspace): Promise<Briefing | undefined> {
    const { options, places, loaded } = this.#given
    const memory = memoryOf(places, loaded.settings)
    if (!hasBriefing(places) && memory === undefined) return undefined
    const { readBriefing } = await import('../instructions/briefing.ts')
    return readBriefing({
      places,
      workspace,
      permissions,
      trustedBy: trustedBy(options, places.env),
      showsSkills: options.codingTools === undefined || options.codingTools.includes('Skill'),
      memory,
    })
  }

  async #holdCommands({ workspace, permissions, ownFolders }: SessionWorkspace): Promise<void> {
    const { options, places, loaded } = this.#given
    if (options.sandbox !== true && loaded.settings.sandbox === undefined) return
    const { holdCommands } = await import('../sandbox/hold-commands.ts')
    await holdCommands({
      workspace,
      permissions,
      ownFolders,
      settings: loaded.settings,
      isWanted: options.sandbox === true,
      home: places.home,
      env: places.env,
      onMade: (path) => this.#note(`a command in the sandbox has made ${path}, which programs obey outside of it`),
      onRefused: (host, why) => this.#note(`the sandbox refused the network: ${host}: ${why}`),
    })
  }

  #tools({ workspace, permissions }: SessionWorkspace): {
    readonly tools: NonNullable<CodingAgentOptions['tools']>
    readonly mayStartAgents: boolean
  } {
    const { tools: own = [], codingTools: wanted, canUseTool, maxSubagents } = this.#given.options
    const ofPerson = canUseTool === undefined ? [] : createPersonTools()
    const coding = [...createCodingTools(workspace), ...ofPerson]
    const names = [...coding.map(({ name }) => name), 'Agent', 'Skill']
    const stranger = wanted?.find((name) => !names.includes(name))
    if (stranger !== undefined)
      throw new ConfigurationError(`codingTools takes names of ${names.join(', ')}; there is no ${stranger}.`)
    const ownNames = own.map(({ name }) => name)
    const hidden = new Set(permissions.toolsHiddenByDeny([...names, ...ownNames]))
    const isShown = (name: string): boolean =>
      !ownNames.includes(name) && !hidden.has(name) && (wanted?.includes(name) ?? true)
    return {
      tools: [...coding.filter(({ name }) => isShown(name)), ...own.filter(({ name }) => !hidden.has(name))],
      mayStartAgents: maxSubagents !== 0 && isShown('Agent'),
    }
  }

  async #agents(
    { workspace, permissions }: SessionWorkspace,
    model: Model,
    briefing: Briefing | undefined,
  ): Promise<SessionAgents> {
    const { options, places } = this.#given
    const { modelFromEnvironment } = await import('@halting/models')
    return sessionAgents({
      places,
      workspace,
      permissions,
      trustedBy: trustedBy(options, places.env),
      given: options.agents === undefined ? [] : await givenAgents(options.agents, places.cwd),
      models: [model, ...(options.fallbackModel === undefined ? [] : [options.fallbackModel])],
      modelNamed: (name) => modelFromEnvironment(name, places.env),
      instructions: briefing?.system ?? '',
    })
  }

  async #connect(
    { workspace, permissions }: SessionWorkspace,
    commandEnv: Environment,
    { contextWindow }: Model,
  ): Promise<{ readonly servers?: SessionServers; readonly init?: OpenedSession['init'] }> {
    const { options, places, loaded, notes } = this.#given
    const named = Object.entries(options.mcpServers ?? {}).map(([name, server]) => ({
      name,
      server: wholeServer(server),
    }))
    const { mcpServers = [], redactSecrets } = loaded.settings
    if (named.length === 0 && mcpServers.length === 0) return {}
    const { openServers, serversOf } = await import('../mcp/session-servers.ts')
    const { SignIns } = await import('../mcp/sign-in/sign-ins.ts')
    const { createKeyRedactor } = await import('@halting/models')
    const servers = openServers({
      entries: serversOf(named, mcpServers, { env: places.env, commandEnv }),
      workspace,
      permissions,
      redacts: redactSecrets === true,
      redactKeys: createKeyRedactor(places.env),
      contextWindow: options.contextWindow ?? contextWindow,
      signIns: new SignIns(signInsFolder(places)),
      ...(options.elicit !== undefined && { elicit: options.elicit }),
    })
    this.#servers = servers
    const { init, problems } = await servers.begin()
    notes.push(...problems)
    return { servers, init }
  }

  async #hooks(
    { workspace, permissions }: SessionWorkspace,
    about: { readonly named: NamedSession; readonly onDisk: SessionOnDisk | undefined; readonly model: Model },
    given: Pick<AgentConfiguration, 'hooks' | 'stopHooks'>,
  ): Promise<ReturnType<(typeof import('../hooks/settings-hooks.ts'))['settingsHooks']>> {
    const { options, places, loaded } = this.#given
    if (Object.keys(loaded.settings.hooks ?? {}).length === 0) return undefined
    const { settingsHooks } = await import('../hooks/settings-hooks.ts')
    const { named, onDisk, model } = about
    return settingsHooks(
      {
        settings: loaded.settings.hooks,
        permissions,
        whenAsked: options.canUseTool === undefined && options.onAsk === undefined ? 'deny' : 'ask',
        warn: (warning) => void this.#given.notes.push(warning),
        sessionId: named.sessionId,
        transcriptPath: new SessionOnDisk(places, named).path,
        cwd: places.cwd,
        // Without keys, as commands have it.
        env: workspace.env,
        sandbox: () => workspace.sandbox,
        model: model.id,
        source: named.goesOn ? 'resume' : 'startup',
        note: (text) => this.#note(text),
        interrupt: () => this.#interruption.now?.(),
        ...(onDisk !== undefined && { flush: () => onDisk.flush() }),
      },
      given,
    )
  }

  /** What comes later is told as it comes. */
  #note(note: string): void {
    this.#given.options.onNote?.(note)
  }
}

function wholeServer(server: GivenServer): McpServerConfig {
  if ('command' in server) return { args: [], env: {}, ...server, type: 'stdio' }
  return 'url' in server ? { type: 'http', headers: {}, ...server } : server
}

/** @throws ConfigurationError for what describes no agent. */
async function givenAgents(agents: JsonObject, cwd: string): Promise<readonly AgentDefinition[]> {
  const { agentsOfJson } = await import('../instructions/index.ts')
  try {
    return agentsOfJson(JSON.stringify(agents), cwd)
  } catch (thrown) {
    throw new ConfigurationError(
      `What agents gives ${messageOf(thrown)}. It takes { name: { description: '…', prompt: '…' } }.`,
    )
  }
}
