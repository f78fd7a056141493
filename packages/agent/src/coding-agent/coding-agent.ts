import { randomUUID } from 'node:crypto'
import {
  type JsonObject,
  type Model,
  noProgress,
  outputSchema,
  type OutputSchema,
  ConfigurationError,
  type Prices,
} from '@halting/core'
import { AgentBuilder, type AgentConfiguration } from '@halting/core/compat'
import { contextLayers, sharedAbort, defaultMaxTurns, messageOf } from '@halting/core/adapters'
import { verificationOf } from '../checks/verification.ts'
import { createCarryOver } from '../context/carry-over.ts'
import type { SettingsHooks } from '../hooks/settings-hooks.ts'
import type { SessionTotals } from '../hooks/session-totals.ts'
import type { BriefingPlaces } from '../instructions/places.ts'
import type { McpServerConfig } from '../mcp/config.ts'
import { homeFolder } from '@halting/journal/files'
import { type LoadedSettings, loadSettings, type Settings } from '@halting/policy/settings'
import type { SessionAgents } from '../agents/session-agents.ts'
import type { SessionChoices } from '../open-session/choices.ts'
import type { ChosenSession } from '../open-session/chosen-session.ts'
import { goalOptions } from '../open-session/goals.ts'
import { ceilingsOf, withLimits, withServiceWait } from '../open-session/chosen-limits.ts'
import { countedLimits, withoutUndefined } from '../open-session/limits.ts'
import { RunLimit } from '../open-session/run-limit.ts'
import type { Models } from '../open-session/models.ts'
import { modelSettingsOf } from '../open-session/model-settings.ts'
import { PartsOpening } from '../open-session/parts.ts'
import { standingOptions } from '../open-session/standing.ts'
import { noPlugins } from '../open-session/plugins.ts'
import type { SessionPorts } from '../open-session/ports.ts'
import type { Toolbox } from '../open-session/toolbox.ts'
import { chosenSettings, type RunSettings } from '../open-session/run-settings.ts'
import type { SessionFrontend } from '../open-session/session-options.ts'
import { CodingAgentBuilder, type OpenedSession } from './builder.ts'
import { checkedFolder } from './check-options.ts'
import type { SessionWorkspace } from './open-workspace.ts'
import type { AnswerOf, AnswerSchema, CodingAgentOptions, GivenServer } from './options.ts'
import { ActiveRuns } from './session-agent.ts'
import { sessionOptions } from './session-options.ts'
import { namedSession, type NamedSession, SessionOnDisk, prepareUnstoredFolder } from './session-on-disk.ts'
import { nameOfOption, noticeText } from './notice-text.ts'
import { environmentWith, trustedBy, untrustedNotes, withoutStore } from './settings-of.ts'
import type { Environment } from '../tools/limits.ts'
import type { AiSdkModels } from '../providers/ai-sdk-models.ts'
import { withFormerName } from '../agents/former-name.ts'

/**
 * Creates a coding agent for a folder, like the one of the terminal program: its tools, permission rules, hooks,
 * servers, instructions and session come from the existing settings files. In an untrusted folder, deny rules, ask
 * rules and instructions apply, but nothing that runs commands or loosens rules; `notes` list what is ignored. Without
 * `canUseTool` nobody is asked: a call that no rule or mode allows is denied. Commands run in a sandbox only if
 * `sandbox` or the settings request it.
 * @throws ConfigurationError for invalid settings or options and for an unknown session.
 * @throws SandboxError if a requested sandbox is not available.
 */
export async function codingAgent<const Schema extends AnswerSchema = JsonObject>(
  options: CodingAgentOptions<Schema>,
): Promise<CodingAgentBuilder<AnswerOf<Schema>>> {
  const cwd = checkedFolder(options)
  const { env: outer = process.env } = options
  const onNote = safeListener(options.onNote)
  const places: BriefingPlaces = { cwd, env: outer, home: homeFolder(outer), sources: options.settingSources }
  const loaded = await loadSettings({
    ...places,
    given: options.settings === undefined ? undefined : JSON.stringify(options.settings),
    chosen: chosenSettings(options, nameOfOption),
    trustedBy: trustedBy(options, outer),
    defaultLimits: { maxTurns: { value: defaultMaxTurns, from: 'the default' } },
  })
  const notes = [...loaded.warnings, ...untrustedNotes(loaded), ...withoutStore(options, loaded)]
  const env = environmentWith(loaded.settings, outer, notes)
  const opened = new Opening({ options: { ...options, onNote }, places: { ...places, env }, loaded, notes })
  try {
    return await opened.builder()
  } catch (thrown) {
    await opened.undo()
    throw thrown
  } finally {
    // Also after a failure to open: the notes so far may explain the failure.
    for (const note of notes) onNote(note)
  }
}

/** Whether runs check changes that nobody verified. */
function verificationOption(
  { verification: mode = 'tell' }: Pick<CodingAgentOptions, 'verification'>,
  toolbox: Toolbox,
): Pick<AgentConfiguration, 'verification'> {
  const verification = verificationOf(mode, toolbox)
  return verification === undefined ? {} : { verification }
}

/** Errors of a listener do not affect the session. */
function safeListener(onNote: CodingAgentOptions['onNote']): (note: string) => void {
  return (note) => {
    try {
      onNote?.(note)
    } catch {
      // The session continues.
    }
  }
}

interface OpeningInput<Schema extends AnswerSchema> {
  readonly options: CodingAgentOptions<Schema>
  readonly places: BriefingPlaces
  readonly loaded: LoadedSettings
  readonly notes: string[]
}

/** Opens the parts like `openSession`, and creates a builder from them instead of a session. */
class Opening<Schema extends AnswerSchema> {
  readonly #input: OpeningInput<Schema>
  readonly #opening: PartsOpening
  readonly #interruption: OpenedSession['interruption'] = {}
  #isOpen = false
  #named: NamedSession | undefined
  #output: OutputSchema | undefined
  #serversInit: OpenedSession['init'] | undefined

  constructor(input: OpeningInput<Schema>) {
    this.#input = input
    const { options, places, loaded } = input
    const { env, cwd } = places
    const trust = trustedBy(options, env)
    const rules = { choicesMayRaise: true, nameOf: nameOfOption }
    const limited = withLimits(choicesOf(options, loaded), loaded.settings, rules, input.notes)
    const waiting = withServiceWait(limited.choices, loaded.settings, rules, input.notes)
    const { choices } = waiting
    const run: RunSettings = { ...loaded, ...limited, ...waiting, env, plugins: noPlugins, trustedBy: trust }
    const ports: SessionPorts = {
      cwd,
      env,
      // The client version for servers, if the program does not set one.
      version: () => '0',
      trustedBy: trust,
      hiddenVariables: [],
      nameOf: nameOfOption,
      wordNotice: noticeText,
      note: (text) => this.#note(text),
    }
    this.#opening = new PartsOpening({ initialChoices: choices, run, ports, frontend: this.#frontend() })
  }

  async undo(): Promise<void> {
    await this.#opening.end()
  }

  async builder(): Promise<CodingAgentBuilder<AnswerOf<Schema>>> {
    const { options, places, loaded, notes } = this.#input
    const { settings } = loaded
    const named = (this.#named = await namedSession(options, places))
    const { toolbox, models, briefing, servers, agents } = await this.#opening.parts()
    const { workspace, permissions, resultFiles, ownFolders } = toolbox
    const session: SessionWorkspace = { workspace, permissions, resultFiles, ownFolders }
    const { model } = models
    const redactKeys = (await import('@halting/models')).createKeyRedactor(places.env)
    const made = await sessionOptions({
      ...session,
      tools: toolbox.tools,
      agentTool: agents?.tool,
      briefing,
      toolProfile: settings.toolProfile,
      redacts: settings.redactSecrets === true,
      redactKeys,
      system: options.system,
      appended: options.appendSystem,
    })
    const onDisk = options.persistSession === false ? undefined : new SessionOnDisk(places, named, redactKeys)
    const ownHooks = { hooks: [...made.hooks, ...(options.hooks ?? [])], stopHooks: options.stopHooks ?? [] }
    const hooks = await this.#hooks(session, { named, onDisk, model }, ownHooks)
    const configuration: AgentConfiguration = {
      ...made,
      context: contextLayers({ carryOver: createCarryOver(workspace, permissions) }),
      prices: models.prices,
      ...(await goalOptions(this.#opening.goals, settings, toolbox)),
      ...(options.standing === undefined && (await this.#standing(models, named))),
      ...optionsOfTheLoop(options, made.tools),
      ...this.#limits(models, agents),
      ...verificationOption(options, toolbox),
      userContext: { ...made.userContext, ...options.userContext },
      ...ownHooks,
      ...hooks?.options,
      model,
      guards: [noProgress()],
      ...(this.#output !== undefined && { output: this.#output }),
    }
    const opened: OpenedSession = {
      ...session,
      sessionId: named.sessionId,
      onDisk,
      removeFiles: onDisk === undefined ? prepareUnstoredFolder({ ...places, sessionId: named.sessionId }) : undefined,
      shell: hooks?.shell,
      totals: hooks?.totals,
      interruption: this.#interruption,
      servers,
      init: {
        cwd: places.cwd,
        permissionMode: permissions.mode,
        ...briefing?.init,
        ...this.#serversInit,
        ...(agents !== undefined && { agents: agents.names }),
        slash_commands: [...(briefing?.init.slash_commands ?? []), ...(this.#serversInit?.slash_commands ?? [])],
      },
      notes,
      onNote: options.onNote,
      atEnd: options.background ?? settings.background ?? 'wait',
      version: '@halting/agent',
      state: 'open',
      hasChosenGoals: options.until !== undefined,
      over: sharedAbort(),
      runs: new ActiveRuns(),
      ended: undefined,
      after: new Set(),
    }
    this.#isOpen = true
    return new CodingAgentBuilder<AnswerOf<Schema>>(configuration, opened)
  }

  /** Returns the limits of the options, with those of the settings as defaults. */
  #limits(models: Models, agents: SessionAgents | undefined): Partial<AgentConfiguration> {
    const { run } = this.#opening
    const { limitCeilings } = this.#input.options
    const limit = new RunLimit(run, models, agents)
    const notice = limit.noticeOf(limit.unpriced)
    if (notice !== undefined) this.#note(noticeText(notice))
    return {
      ...countedLimits(run.choices),
      ...limit.bounds,
      limitCeilings: { ...limitCeilings, ...ceilingsOf(run.settings) },
    }
  }

  /** Differences from the terminal program: the source of model, tools and servers, and who answers questions. */
  #frontend(): SessionFrontend {
    const { options } = this.#input
    const { tools = [], codingTools, canUseTool, onAsk, elicit } = options
    const servers = Object.entries(options.mcpServers ?? {}).map(([name, server]) => ({
      name,
      server: completeServer(server),
    }))
    return {
      // `toolset` determines who answers: permissions that a user grants are not stored in settings.
      answersQuestions: false,
      chooseSession: async () => this.#chosen(),
      openModels: async () => this.#models(),
      toolset: {
        tools,
        names: codingTools,
        asks: canUseTool !== undefined || onAsk !== undefined,
        hasPerson: canUseTool !== undefined,
      },
      onServers: async (opened) => void (this.#serversInit = await opened.begin()),
      ...(servers.length > 0 && { servers }),
      ...(elicit !== undefined && { elicit }),
      ...(options.until !== undefined && { until: options.until }),
    }
  }

  #chosen(): ChosenSession {
    const { sessionId, isResumed } = this.#named ?? { sessionId: randomUUID(), isResumed: false }
    const isStored = this.#input.options.persistSession !== false
    return { sessionId, kind: isStored ? (isResumed ? 'kept' : 'new') : 'unkept', isNamed: true, readableFolders: [] }
  }

  async #models(): Promise<Models> {
    const { options, places, loaded } = this.#input
    const { modelFromEnvironment } = await import('@halting/models')
    const { AiSdkModels } = await import('../providers/ai-sdk-models.ts')
    const packages = new AiSdkModels({ settings: loaded.settings, env: places.env, cwd: places.cwd })
    const model = await modelOf(options, places.env, loaded.settings, packages)
    // Checks the options before a server or a hook of the session starts; sends no request.
    AgentBuilder.base({ ...optionsOfTheLoop(options), model, tools: options.tools ?? [] }).build()
    this.#output = await outputOf(options.outputSchema)
    return {
      model,
      ...(options.fallbackModel !== undefined && { fallbackModel: options.fallbackModel }),
      modelNamed: (name) =>
        packages.has(name)
          ? packages.model(name)
          : modelFromEnvironment(name, places.env, modelSettingsOf({ settings: loaded.settings, env: places.env })),
      prices: options.prices ?? (await pricesOf(loaded.settings)),
      apiKeySource: 'none',
      keepsFiles: true,
      warnings: [],
      loaded: this.#opening.run,
      close: async () => undefined,
    }
  }

  #standing(models: Models, { sessionId }: NamedSession): ReturnType<typeof standingOptions> {
    const { run, ports } = this.#opening
    return standingOptions(run, models, { ...ports, sessionId })
  }

  async #hooks(
    { workspace, permissions }: SessionWorkspace,
    about: { readonly named: NamedSession; readonly onDisk: SessionOnDisk | undefined; readonly model: Model },
    ownHooks: Pick<AgentConfiguration, 'hooks' | 'stopHooks'>,
  ): Promise<(SettingsHooks & { readonly totals: SessionTotals }) | undefined> {
    const { options, places, loaded } = this.#input
    if (Object.keys(loaded.settings.hooks ?? {}).length === 0) return undefined
    const { settingsHooks } = await import('../hooks/settings-hooks.ts')
    const { SessionTotals } = await import('../hooks/session-totals.ts')
    const { named, onDisk, model } = about
    const { maxBudgetUsd = null } = optionsOfTheLoop(options)
    const totals = new SessionTotals({ spending: () => ({ maxBudgetUsd, costUsd: 0 }) })
    const hooks = settingsHooks(
      {
        settings: loaded.settings.hooks,
        permissions,
        whenAsked: options.canUseTool === undefined && options.onAsk === undefined ? 'deny' : 'ask',
        warn: (warning) => void this.#input.notes.push(warning),
        sessionId: named.sessionId,
        transcriptPath: new SessionOnDisk(places, named).path,
        cwd: places.cwd,
        // The environment excludes API keys, like the environment of commands.
        env: workspace.env,
        sandbox: () => workspace.sandbox,
        model: model.id,
        source: named.isResumed ? 'resume' : 'startup',
        note: (text) => this.#note(text),
        interrupt: () => this.#interruption.now?.(),
        sessionFigures: (run) => totals.figures(run),
        ...(onDisk !== undefined && { flush: () => onDisk.flush() }),
      },
      ownHooks,
    )
    return hooks && { ...hooks, totals }
  }

  /** Collects notices while the session is opened; passes on later notices as they arrive. */
  #note(note: string): void {
    const { notes, options } = this.#input
    if (this.#isOpen) options.onNote?.(note)
    else notes.push(note)
  }
}

/** Converts the options to session choices. Values that a program passes as objects are in the frontend. */
function choicesOf<Schema extends AnswerSchema>(
  options: CodingAgentOptions<Schema>,
  { settings }: LoadedSettings,
): SessionChoices {
  return withoutUndefined<SessionChoices>({
    model: typeof options.model === 'string' ? options.model : undefined,
    settingSources: options.settingSources,
    permissionMode: options.permissionMode,
    // Only the program sets modes.
    allowDangerouslySkipPermissions: true,
    allowedTools: options.allowedTools,
    disallowedTools: options.disallowedTools,
    addDir: options.additionalDirectories,
    tools: options.codingTools,
    toolProfile: options.toolProfile,
    sandbox: options.sandbox,
    protect: options.protect,
    agents: options.agents === undefined ? undefined : JSON.stringify(options.agents),
    maxSubagents: options.maxSubagents,
    ignoreStandingBudgets: options.ignoreStandingBudgets,
    contextWindow: options.contextWindow,
    maxTurns: options.maxTurns,
    maxRunUsd: options.maxRunUsd,
    maxBudgetUsd: options.maxBudgetUsd,
    maxTokens: options.maxTotalTokens,
    maxDuration: options.maxDurationMs,
    maxToolCalls: options.maxToolCalls,
    waitForLimits: options.waitForLimitsMs,
    noFileCheckpoints: settings.fileCheckpointingEnabled === false,
  })
}

async function outputOf(schema: AnswerSchema | undefined): Promise<OutputSchema | undefined> {
  // `outputSchema` checks whether the value is a schema.
  if (schema === undefined) return undefined
  // A schema without a JSON Schema is rejected with advice on what to pass instead.
  if ('~standard' in schema) return (outputSchema as (given: unknown) => OutputSchema)(schema)
  if (typeof schema['check'] === 'function') return schema as OutputSchema
  const { jsonSchemaOutput } = await import('../json-schema/index.ts')
  return jsonSchemaOutput(schema as JsonObject)
}

function completeServer(server: GivenServer): McpServerConfig {
  if ('command' in server) return { args: [], env: {}, ...server, type: 'stdio' }
  return 'url' in server ? { type: 'http', headers: {}, ...server } : server
}

type AiSdkLoader = Pick<AiSdkModels, 'has' | 'load'>

/**
 * The given model, or the model that the options, the environment or the settings name.
 * @throws ConfigurationError if it is not available.
 */
async function modelOf(
  { model: chosen }: Pick<CodingAgentOptions, 'model'>,
  env: Environment,
  settings: Settings,
  packages: AiSdkLoader,
): Promise<Model> {
  if (typeof chosen === 'object') return chosen
  const { model: ofSettings, apiKeyHelper } = settings
  const { modelFromEnvironment } = await import('@halting/models')
  const isNamed = chosen !== undefined || (env['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  // Another program appends the window size to the name.
  const named = ofSettings === 'default' ? undefined : ofSettings?.replace(/\[\d+m\]$/, '')
  const name = isNamed ? (chosen ?? env['ANTHROPIC_MODEL']?.trim()) : named
  if (name !== undefined && packages.has(name)) return packages.load(name)
  try {
    return modelFromEnvironment(name, env, modelSettingsOf({ settings, env }))
  } catch (thrown) {
    if (apiKeyHelper === undefined) throw thrown
    throw new ConfigurationError(
      `${messageOf(thrown)} apiKeyHelper of the settings is not run from code: give a model that has its key, such as by commandCredentials of @halting/models.`,
    )
  }
}

/** Prices, including those of the settings. */
async function pricesOf(settings: Settings): Promise<Prices> {
  const { createPrices } = await import('@halting/models')
  const { priceOverridesOf } = await import('../providers/ai-sdk-models.ts')
  return createPrices(priceOverridesOf(settings))
}

/** Returns the options of the loop. The other options were applied earlier. */
function optionsOfTheLoop<Schema extends AnswerSchema>(
  options: CodingAgentOptions<Schema>,
  tools: AgentConfiguration['tools'] = [],
): Partial<AgentConfiguration> {
  const {
    cwd: _cwd,
    model: _model,
    system: _system,
    tools: _tools,
    codingTools: _codingTools,
    toolProfile: _toolProfile,
    appendSystem: _appendSystem,
    outputSchema: _outputSchema,
    settingSources: _settingSources,
    settings: _settings,
    trust: _trust,
    permissionMode: _permissionMode,
    allowedTools: _allowedTools,
    disallowedTools: _disallowedTools,
    additionalDirectories: _additionalDirectories,
    until: _until,
    protect: _protect,
    verification: _verification,
    sandbox: _sandbox,
    ignoreStandingBudgets: _ignoreStandingBudgets,
    background: _background,
    agents: _agents,
    mcpServers: _mcpServers,
    elicit: _elicit,
    sessionId: _sessionId,
    resume: _resume,
    persistSession: _persistSession,
    env: _env,
    onNote: _onNote,
    ...loop
  } = options
  return { ...loop, ...withFormerName(tools, loop.toolAliases) }
}
