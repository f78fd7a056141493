import { newUuid } from '@halting/journal/files'
import { endSession } from '../coding-agent/end-session.ts'
import type { SessionAgents } from '../agents/session-agents.ts'
import { agentsOf } from './agents.ts'
import { briefingOf } from './briefing.ts'
import type { SessionChoices } from './choices.ts'
import { type ChosenSession, externalSession } from './chosen-session.ts'
import type { SessionHooks } from './hooks.ts'
import type { SessionServers } from './mcp.ts'
import { type GoalChoices, protectRulesOf } from './goals.ts'
import { onlyPackagesOf } from '../providers/ai-sdk-models.ts'
import { type Models, openModels } from './models.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import { mayNameFileOrCommand } from './prepare.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import { confineCommands } from './sandbox.ts'
import type { SessionFrontend, SessionListener } from './session-options.ts'
import { openToolbox, type Toolbox } from './toolbox.ts'
import { createKeyRedactor } from '@halting/models'
import { absolutePath } from '@halting/policy/files'
import type { Settings } from '@halting/policy/settings'
import { checkpointsFolder, hiddenFromCheckpoints } from '../checkpoints/checkpoints-folder.ts'
import { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { toolEnvironment } from './tool-environment.ts'
import { sessionScope } from './session-scope.ts'
import { mcpToolName, type RulePermissions } from '@halting/policy'
import { searchServerNames, type SearchServer, type WebSearchPort } from '../web/search-port.ts'

/** The parts of a session, before anything is on disk and before it has hooks. */
export interface SessionPieces {
  readonly chosen: ChosenSession
  readonly toolbox: Toolbox
  readonly briefing: Briefing | undefined
  readonly models: Models
  readonly servers: SessionServers | undefined
  readonly agents: SessionAgents | undefined
}

interface PartsOptions<Choices extends SessionChoices> {
  // Spec R-CMD-5.
  /** The choices before settings were applied: these choices precede those of a command. */
  readonly initialChoices: SessionChoices
  readonly run: RunSettings<Choices>
  readonly ports: SessionPorts
  readonly frontend: SessionFrontend
}

/**
 * Opens the parts of a session one after another, for `openSession` and for `codingAgent`: workspace and rules,
 * instructions, models, the sandbox, servers, subagents. `end` closes all opened parts.
 */
export class PartsOpening<Choices extends SessionChoices = SessionChoices> {
  readonly run: RunSettings<Choices>
  readonly ports: SessionPorts
  readonly frontend: SessionFrontend
  readonly #initialChoices: SessionChoices
  #models: Models | undefined
  #toolbox: Toolbox | undefined
  #servers: SessionServers | undefined
  #listener: SessionListener | undefined
  /** Ended with the session, while its sandbox still exists. */
  hooks: SessionHooks | undefined

  constructor({ initialChoices, run, ports, frontend }: PartsOptions<Choices>) {
    this.run = run
    this.ports = ports
    this.frontend = frontend
    this.#initialChoices = initialChoices
  }

  /** The chosen goals; goals of a program are in the frontend. */
  get goals(): GoalChoices {
    const { until } = this.frontend
    return { ...this.run.choices, ...(until !== undefined && { until }) }
  }

  get listener(): SessionListener | undefined {
    return this.#listener
  }

  async end(): Promise<void> {
    const onStopped = (commands: readonly string[]): void => this.notify([{ kind: 'commands_stopped', commands }])
    try {
      if (this.#toolbox === undefined) return
      const { workspace } = this.#toolbox
      await endSession({ workspace, servers: this.#servers, hooks: this.hooks, onStopped })
    } finally {
      await Promise.all([this.#models?.close(), this.#listener?.end()])
    }
  }

  async parts(): Promise<SessionPieces> {
    const { run, frontend, ports } = this
    const { choices } = run
    const chosen = await this.#chosen()
    const checkpoints = checkpointsOf(run, chosen, ports)
    const toolbox = await this.#openToolbox(chosen, checkpoints)
    this.#toolbox = toolbox
    toolbox.workspace.onConfined = (notice) => this.notify([notice])
    this.#listener = await frontend.openListener?.(toolbox, ports)
    const briefing = await briefingOf(run, ports, toolbox, frontend.skills)
    this.notify(briefing?.warnings.map((text) => ({ kind: 'instructions', text })))
    if (choices.verbose === true) this.notify(briefing?.read)
    const forModel = this.#withPackages(await this.#withModelOfCommand(briefing))
    const models = await (frontend.openModels?.() ?? openModels(forModel, ports, frontend.aroundModel))
    this.#models = models
    for (const warning of models.warnings) ports.note(warning)
    if (!models.keepsFiles) checkpoints?.turnOff()
    await confineCommands(run, toolbox, ports)
    const servers = (this.#servers = await this.#openServers(toolbox, models))
    toolbox.workspace.webSearch = webSearchOf(run.settings.webSearch, toolbox.permissions, servers)
    if (servers !== undefined) await frontend.onServers?.(servers)
    const agents = await agentsOf(forModel, ports, toolbox, models, briefing)
    this.notify(agents?.warnings.map((text) => ({ kind: 'agents', text })))
    return { chosen, toolbox, briefing, models, servers, agents }
  }

  notify(notices: readonly SessionNotice[] = []): void {
    const { note, wordNotice } = this.ports
    for (const notice of notices) note(wordNotice(notice))
  }

  async #chosen(): Promise<ChosenSession> {
    const { kept: externalStorage, chooseSession } = this.frontend
    if (externalStorage !== undefined) return externalSession(externalStorage)
    if (chooseSession !== undefined) return chooseSession(this.ports)
    const { sessionId, noSessionPersistence } = this.run.choices
    return {
      sessionId: sessionId ?? newUuid(),
      kind: noSessionPersistence === true ? 'unkept' : 'new',
      isNamed: sessionId !== undefined,
      readableFolders: [],
    }
  }

  async #openToolbox(chosen: ChosenSession, checkpoints: ReturnType<typeof checkpointsOf>): Promise<Toolbox> {
    const { plugins } = this.run
    const { cwd } = this.ports
    const answersQuestions = this.isAnswered
    const { planInstructions, kept: externalStorage, toolset, confinesEdits } = this.frontend
    const writers = answersQuestions ? await import('./permission-writer.ts') : undefined
    const rules = await protectRulesOf(this.goals, this.run.settings, cwd)
    return openToolbox(this.run, this.ports, {
      ...chosen,
      ...(rules !== undefined && { protect: rules.deny }),
      plugins,
      ...(checkpoints !== undefined && { checkpoints }),
      ...(planInstructions !== undefined && { planInstructions }),
      ...(toolset !== undefined && { toolset }),
      ...(confinesEdits !== undefined && { confinesEdits }),
      ...(writers !== undefined && {
        answersQuestions,
        ...(externalStorage === undefined ? await writers.permissionWriter(this.run, cwd) : writers.sessionOnlyWriter),
      }),
    })
  }

  #withPackages(run: RunSettings<Choices>): RunSettings<Choices> {
    const { packagesOf } = this.frontend
    return packagesOf === undefined ? run : { ...run, settings: onlyPackagesOf(run.settings, packagesOf) }
  }

  async #withModelOfCommand(briefing: Briefing | undefined): Promise<RunSettings<Choices>> {
    const [run, prompt] = [this.run, this.frontend.firstPrompt]
    if (prompt === undefined || this.namesModel || !mayNameFileOrCommand.test(prompt)) return run
    const { modelOfCommand } = await import('./prompt-content.ts')
    const model = await modelOfCommand(prompt, run, briefing, this.ports)
    return model === undefined ? run : { ...run, choices: { ...run.choices, model } }
  }

  // Spec R-CMD-5.
  /** Whether the command line names the model. It takes precedence over a command's model. */
  get namesModel(): boolean {
    return this.#initialChoices.model !== undefined || this.#initialChoices.script !== undefined
  }

  /** Connects to the servers of the session, if there are any. */
  async #openServers(toolbox: Toolbox, { model }: Models): Promise<SessionServers | undefined> {
    const { choices, settings, plugins } = this.run
    const { servers: own, elicit, permissionTool: ownTool, inHost } = this.frontend
    const ports = this.ports
    const contextWindow = choices.contextWindow ?? model.contextWindow
    const place = { toolbox, settings, ports, contextWindow, elicit, ownTool }
    const onDemand = async (): Promise<SessionServers | undefined> => {
      if (own === undefined) return undefined
      const { serversOnDemand } = await import('./servers-on-demand.ts')
      return serversOnDemand(async () => (await import('./mcp.ts')).openServers({ ...place, entries: [] }))
    }
    const programServers = own ?? []
    const hasPluginServers = plugins.all.some((plugin) => Object.keys(plugin.servers).length > 0)
    const hasServers = choices.mcpConfig !== undefined || settings.mcpServers !== undefined || hasPluginServers
    if (!hasServers && programServers.length === 0) return onDemand()
    const { openServers, serverEntries } = await import('./mcp.ts')
    const named = new Set(programServers.map(({ name }) => name))
    const found = await serverEntries(choices, settings, ports, toolbox.workspace.env, inHost, plugins.all)
    const entries = [...programServers, ...found.filter(({ name }) => !named.has(name))]
    return entries.length === 0 ? onDemand() : openServers({ ...place, entries })
  }

  /** Whether a user or a program can answer questions. */
  get isAnswered(): boolean {
    const { answersQuestions, canUseTool, permissionTool } = this.frontend
    return answersQuestions || canUseTool !== undefined || permissionTool !== undefined
  }
}

/**
 * Stores files before they are changed; undefined if the user disabled checkpoints, or if the session is not stored.
 */
function checkpointsOf(
  {
    choices: { noFileCheckpoints, addDir = [] },
    settings: { permissions },
  }: {
    /** The choices of the session. */
    readonly choices: Pick<SessionChoices, 'noFileCheckpoints' | 'addDir'>
    /** The settings of the session. */
    readonly settings: Pick<Settings, 'permissions'>
  },
  { sessionId, kind }: ChosenSession,
  ports: SessionPorts,
): FileCheckpoints | undefined {
  const { cwd, env, hiddenVariables, wordNotice, note } = ports
  if (
    noFileCheckpoints === true ||
    kind === 'unkept' ||
    kind === 'elsewhere' ||
    (noFileCheckpoints === undefined && env['CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING'] === '1')
  )
    return undefined
  const place = { ...sessionScope(ports), sessionId }
  return new FileCheckpoints({
    folder: checkpointsFolder(place),
    hidden: hiddenFromCheckpoints(place),
    cwd,
    directories: [...addDir, ...(permissions?.additionalDirectories ?? [])].map((path) => absolutePath(path, cwd)),
    // Git may run programs that a project configures.
    env: toolEnvironment(env, hiddenVariables),
    redact: createKeyRedactor(env),
    onProblem: (problem) => note(wordNotice({ kind: 'checkpoints_stopped', problem })),
  })
}

/** The provider of web searches for a session, by the setting `webSearch`. */
function webSearchOf(
  setting: Settings['webSearch'] = 'auto',
  permissions: Pick<RulePermissions, 'searchBounds'>,
  servers: Pick<SessionServers, 'options' | 'ask'> | undefined,
): WebSearchPort {
  const bounds: WebSearchPort['bounds'] = (rights) => permissions.searchBounds(rights)
  if (typeof setting === 'object') return { by: searchServerOf(setting.mcp, servers), bounds }
  return { by: setting === 'off' ? 'off' : 'service', bounds }
}

function searchServerOf(name: string, servers: Pick<SessionServers, 'options' | 'ask'> | undefined): SearchServer {
  const { server, tool } = searchServerNames(name)
  const toolName = mcpToolName(server, tool)
  return {
    name,
    schema: () => servers?.options.moreTools(toolName)?.inputSchema,
    async ask(input, signal) {
      if (servers === undefined) throw new Error('the session has no MCP servers')
      return servers.ask(toolName, input, signal)
    },
  }
}
