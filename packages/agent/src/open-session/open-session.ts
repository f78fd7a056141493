import type { SessionChoices } from './choices.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import { randomUUID } from 'node:crypto'
import type { SessionJournal } from '../session/session-journal.ts'
import { backgroundOf } from '../tools/background.ts'
import { endSession } from '../coding-agent/end-session.ts'
import { createSession } from '../live-session/create-session.ts'
import type { Session } from '../live-session/session.ts'
import type { SessionParts } from '../live-session/parts.ts'
import type { QueryOptions } from '@halting/core'
import type { CanUseTool } from '@halting/core/adapters'
import { wantedAfter } from './after.ts'
import type { AfterTheRun } from './after-run.ts'
import { agentsOf } from './agents.ts'
import { backgroundOptions } from './background.ts'
import { briefingOf } from './briefing.ts'
import { checkpointsOf } from './checkpoints.ts'
import type { SessionFrontend, SessionListener, SessionOptions } from './session-options.ts'
import type { SessionHooks } from './hooks.ts'
import { initOf } from './init-of.ts'
import { type ChosenSession, closeJournalOf, forkOf, keptElsewhere, openJournalOf } from './chosen-session.ts'
import type { LiveSession } from './live-session.ts'
import type { SessionServers } from './mcp.ts'
import { checkModelName } from './model-names.ts'
import { type Models, openModels } from './models.ts'
import { MoreTools } from './more-tools.ts'
import { queryOptionsOf } from './query-options.ts'
import { ownHooks, withoutOwnHooks } from './own-hooks.ts'
import { namesSomething, preparedWith } from './prepare.ts'
import { pluginsInit, pluginsWithHooks } from './plugins.ts'
import type { Briefing } from './read-briefing.ts'
import { type RunSettings, settingsOf } from './run-settings.ts'
import { confineCommands } from './sandbox.ts'
import { followMode, openToolbox, type Toolbox } from './toolbox.ts'
import { whose } from './whose.ts'
import type { Written } from './written.ts'

/**
 * Opens a session in a folder: the one place where choices, settings and the environment become tools, permission rules, models, servers, hooks,
 * instructions, subagents, a journal and the session object. Every frontend opens sessions with it. If a part cannot be opened, those before it
 * are closed again.
 * @throws ConfigurationError, PermissionRuleError and SandboxError for what cannot be served.
 */
export async function openSession<Choices extends SessionChoices>(
  options: SessionOptions<Choices>,
): Promise<LiveSession<Choices>> {
  const { choices, ports, ...frontend } = options
  const run = await asWhom(await settingsOf(choices, ports), ports)
  frontend.onSettings?.(run)
  const opening = new Opening(choices, run, { ...ports, env: run.env }, frontend)
  try {
    return await opening.open()
  } catch (thrown) {
    await opening.undo()
    throw thrown
  }
}

/** The session may be an agent (`--agent`). */
async function asWhom<Choices extends SessionChoices>(
  run: RunSettings<Choices>,
  ports: SessionPorts,
): Promise<RunSettings<Choices>> {
  if (run.choices.agent === undefined) return run
  const { asAgent } = await import('./main-agent.ts')
  return asAgent(run, run.choices.agent, ports)
}

/** What is opened one after another, and ended again where one of them fails. */
class Opening<Choices extends SessionChoices> {
  readonly #given: Choices
  readonly #run: RunSettings<Choices>
  readonly #ports: SessionPorts
  readonly #frontend: SessionFrontend
  #models: Models | undefined
  #toolbox: Toolbox | undefined
  #servers: SessionServers | undefined
  #hooks: SessionHooks | undefined
  #init: QueryOptions['init']
  #listener: SessionListener | undefined
  #closeJournal: ((hasBegun: boolean) => Promise<void>) | undefined

  constructor(given: Choices, run: RunSettings<Choices>, ports: SessionPorts, frontend: SessionFrontend) {
    this.#given = given
    this.#run = run
    this.#ports = ports
    this.#frontend = frontend
  }

  async undo(): Promise<void> {
    await this.#end()
    await this.#closeJournal?.(false)
  }

  async #end(): Promise<void> {
    const onStopped = (commands: readonly string[]): void => this.#notify([{ kind: 'commands_stopped', commands }])
    try {
      if (this.#toolbox === undefined) return
      const { workspace } = this.#toolbox
      await endSession({ workspace, servers: this.#servers, hooks: this.#hooks, onStopped })
    } finally {
      await Promise.all([this.#models?.close(), this.#listener?.end()])
    }
  }

  async open(): Promise<LiveSession<Choices>> {
    const [run, frontend, ports] = [this.#run, this.#frontend, this.#ports]
    const { choices } = run
    const chosen = await this.#chosen()
    const checkpoints = checkpointsOf(choices, chosen, ports)
    const toolbox = await this.#openToolbox(chosen, checkpoints)
    this.#toolbox = toolbox
    this.#listener = await frontend.openListener?.(toolbox, ports)
    const briefing = await briefingOf(run, ports, toolbox, frontend.skills)
    this.#notify(briefing?.warnings.map((text) => ({ kind: 'instructions', text })))
    if (choices.verbose === true) this.#notify(briefing?.read)
    const forModel = await this.#withModelOfCommand(briefing)
    const models = (this.#models = await openModels(forModel, ports, frontend.aroundModel))
    for (const warning of models.warnings) ports.note(warning)
    if (!models.keepsFiles) checkpoints?.turnOff()
    await confineCommands(run, toolbox, ports)
    const servers = (this.#servers = await this.#openServers(toolbox, models))
    const agents = await agentsOf(forModel, ports, toolbox, models, briefing)
    this.#notify(agents?.warnings.map((text) => ({ kind: 'agents', text })))
    const options = await queryOptionsOf(choices, ports, toolbox, models, briefing, agents)
    await frontend.ready?.()
    const file = await openJournalOf(chosen, ports, frontend.title)
    const journal = frontend.kept ?? file
    this.#closeJournal = (hasBegun) => closeJournalOf(file, hasBegun, chosen)
    // The session of this run is held by now: however old it is, it stays.
    if (file !== undefined && frontend.removesOldSessions === true) void this.#cleanUpBeside()
    if (journal?.open !== undefined && (frontend.firstPrompt ?? '') !== '') this.#notify([{ kind: 'run_left_open' }])
    const written: Written = { briefing, agents, plugins: run.plugins }
    const more = new MoreTools(servers)
    const opened = { chosen, toolbox, options, models, file, journal, servers, written, more }
    return this.#live(await this.#session(opened), opened)
  }

  #notify(notices: readonly SessionNotice[] = []): void {
    const { note, wordNotice } = this.#ports
    for (const notice of notices) note(wordNotice(notice))
  }

  async #chosen(): Promise<ChosenSession> {
    const { kept, chooseSession } = this.#frontend
    if (kept !== undefined) return keptElsewhere(kept)
    if (chooseSession !== undefined) return chooseSession(this.#ports)
    const { sessionId, noSessionPersistence } = this.#run.choices
    return {
      sessionId: sessionId ?? randomUUID(),
      kind: noSessionPersistence === true ? 'unkept' : 'new',
      isNamed: sessionId !== undefined,
      readableFolders: [],
    }
  }

  async #openToolbox(chosen: ChosenSession, checkpoints: ReturnType<typeof checkpointsOf>): Promise<Toolbox> {
    const { plugins } = this.#run
    const { cwd } = this.#ports
    const answersQuestions = this.#isAnswered
    const { planInstructions, kept } = this.#frontend
    const keeper = answersQuestions ? await import('./keeper.ts') : undefined
    return openToolbox(this.#run, this.#ports, {
      ...chosen,
      plugins,
      ...(checkpoints !== undefined && { checkpoints }),
      ...(planInstructions !== undefined && { planInstructions }),
      ...(keeper !== undefined && {
        answersQuestions,
        ...(kept === undefined ? await keeper.keeperOf(this.#run, cwd) : keeper.keeperOfSession),
      }),
    })
  }

  async #withModelOfCommand(briefing: Briefing | undefined): Promise<RunSettings<Choices>> {
    const [run, said] = [this.#run, this.#frontend.firstPrompt]
    if (said === undefined || this.#namesModel || !namesSomething.test(said)) return run
    const { modelOfCommand } = await import('./said.ts')
    const model = await modelOfCommand(said, run, briefing, this.#ports)
    return model === undefined ? run : { ...run, choices: { ...run.choices, model } }
  }

  /** What was said on the command line goes before a command (spec R-CMD-5). */
  get #namesModel(): boolean {
    return this.#given.model !== undefined || this.#given.script !== undefined
  }

  /** Connects to the servers of the session, where it has some. */
  async #openServers(toolbox: Toolbox, { model }: Models): Promise<SessionServers | undefined> {
    const { choices, settings, plugins } = this.#run
    const { servers: own, elicit, permissionTool: ownTool, inHost } = this.#frontend
    const ports = this.#ports
    const contextWindow = choices.contextWindow ?? model.contextWindow
    const place = { toolbox, settings, ports, contextWindow, elicit, ownTool }
    const onDemand = async (): Promise<SessionServers | undefined> => {
      if (own === undefined) return undefined
      const { serversOnDemand } = await import('./servers-on-demand.ts')
      return serversOnDemand(async () => (await import('./mcp.ts')).openServers({ ...place, entries: [] }))
    }
    const given = own ?? []
    const hasPluginServers = plugins.all.some((plugin) => Object.keys(plugin.servers).length > 0)
    const hasServers = choices.mcpConfig !== undefined || settings.mcpServers !== undefined || hasPluginServers
    if (!hasServers && given.length === 0) return onDemand()
    const { openServers, serverEntries } = await import('./mcp.ts')
    const named = new Set(given.map(({ name }) => name))
    const found = await serverEntries(choices, settings, ports, toolbox.workspace.env, inHost, plugins.all)
    const entries = [...given, ...found.filter(({ name }) => !named.has(name))]
    return entries.length === 0 ? onDemand() : openServers({ ...place, entries })
  }

  /** A run does not wait for it, and goes on without it: what is not removed today goes tomorrow. */
  async #cleanUpBeside(): Promise<void> {
    try {
      const { cleanUp } = await import('./clean-up.ts')
      await cleanUp(this.#run.settings, this.#ports)
    } catch {
      // Nothing of a run depends on it.
    }
  }

  async #session(opened: Opened): Promise<Session> {
    const { chosen, toolbox, options, models, file, journal, servers, written, more } = opened
    const [{ choices, settings, env, plugins }, frontend, ports] = [this.#run, this.#frontend, this.#ports]
    const { workspace, permissions } = toolbox
    // There is one when anything calls for it.
    const live: { session?: Session } = {}
    const interrupt = (): void => void live.session?.interrupt()
    const permissionMode = (): string => live.session?.snapshot.permissionMode ?? permissions.mode
    const canUseTool = await this.#canUseTool(servers)
    const init = await servers?.begin()
    const after = await this.#afterRun(models, options, journal !== undefined)
    const hooks = await this.#openHooks(opened, options, {
      interrupt,
      ...(after !== undefined && { called: after.called }),
    })
    this.#hooks = hooks
    const listener = this.#listener
    const background = backgroundOf(workspace, {
      ...backgroundOptions(choices, settings, env, frontend.background),
      ...(journal !== undefined && { session: journal }),
    })
    this.#init = initOf(frontend, [{ ...options.init, ...pluginsInit(plugins) }, init], {
      permissionMode,
      servers,
      written,
    })
    const session = createSession({
      options: {
        ...options,
        moreTools: more.tool,
        ...hooks?.options,
        hooks: [
          ...(hooks?.options.hooks ?? options.hooks ?? []),
          ...(await ownHooks(frontend, toolbox, permissionMode)),
        ],
        ...(frontend.toolAliases !== undefined && { toolAliases: frontend.toolAliases }),
        init: this.#init,
        background,
        modelNamed(name) {
          if (choices.script === undefined) checkModelName(name, env)
          return models.modelNamed(name)
        },
        ...(canUseTool !== undefined && { canUseTool }),
      },
      journal,
      answersQuestions: frontend.answersQuestions,
      permissions,
      cwd: ports.cwd,
      attach(engine) {
        workspace.files.begin(engine.transcript)
        more.attach(engine)
      },
      onEvent(event) {
        listener?.onEvent(event)
        after?.onEvent(event)
        hooks?.onEvent(event)
      },
      through: (tell) => withoutOwnHooks(hooks?.through(tell) ?? tell),
      ...(after !== undefined && { afterRun: (engine, signal, tell) => after.run(engine, signal, tell) }),
      ...(file !== undefined && {
        fork: () => forkOf(file, ports),
        ...(workspace.checkpoints !== undefined && {
          takeBackFiles: async (...wanted) => {
            const { takeBackFiles } = await import('./take-back-files.ts')
            return takeBackFiles(wanted, file, toolbox, ports)
          },
        }),
      }),
      async stopTask(id) {
        const task = workspace.tasks.get(id)
        if (task?.state !== 'running') return false
        await workspace.tasks.stop(task)
        return true
      },
      end: () => this.#end(),
      closeJournal: (hasBegun) => closeJournalOf(file, hasBegun, chosen),
    })
    live.session = session
    followMode(session, permissions)
    return session
  }

  async #openHooks(
    { chosen, toolbox, journal }: Opened,
    options: QueryOptions,
    given: { readonly interrupt: () => void; readonly called?: AfterTheRun['called'] },
  ): Promise<SessionHooks | undefined> {
    const { choices, settings } = this.#run
    const { hooks: own = {} } = this.#frontend
    const plugins = pluginsWithHooks(this.#run)
    if (Object.keys({ ...settings.hooks, ...own }).length === 0 && plugins.length === 0) return undefined
    const { openHooks } = await import('./hooks.ts')
    const session = { choices, ports: this.#ports, toolbox, chosen, journal, settings, plugins }
    return openHooks({ ...session, given: own, asks: this.#isAnswered, ...given }, options)
  }

  /** Whether somebody answers questions. */
  get #isAnswered(): boolean {
    const { answersQuestions, canUseTool, permissionTool } = this.#frontend
    return answersQuestions || canUseTool !== undefined || permissionTool !== undefined
  }

  /** Who answers in the place of the session's listeners. */
  async #canUseTool(servers: SessionServers | undefined): Promise<CanUseTool | undefined> {
    const { canUseTool, permissionTool } = this.#frontend
    if (permissionTool === undefined) return canUseTool
    const { answerByTool } = await import('./permission-tool.ts')
    return answerByTool(permissionTool, async (...asked) => {
      if (servers === undefined) throw new Error('the session has no servers')
      return servers.ask(...asked)
    })
  }

  /** What comes after a run, where something was asked for. Of a session that is not kept no notes are. */
  async #afterRun({ smallModel }: Models, options: QueryOptions, isKept: boolean): Promise<AfterTheRun | undefined> {
    const { choices, settings } = this.#run
    const wanted = wantedAfter(choices, settings, this.#ports.env)
    if (wanted === undefined) return undefined
    const { openAfter } = await import('./after-run.ts')
    const { stagesFor } = await import('./stages.ts')
    // What was piped in is no word of the person, also where it is all of the prompt: others may have written it.
    const written = this.#frontend.written ?? ''
    const notes = { owner: whose(this.#ports), settings, model: smallModel ?? options.model, written }
    const stages = await stagesFor({ ...wanted, notes: wanted.notes && isKept }, notes)
    return openAfter({ ...wanted, stages, model: smallModel })
  }

  #live(session: Session, opened: Opened): LiveSession<Choices> {
    const { chosen, toolbox, models, file, servers, written, more, options } = opened
    const [run, ports, { skills, firstPrompt }] = [this.#run, this.#ports, this.#frontend]
    const hasModel = this.#namesModel || firstPrompt !== undefined
    const tools = (options.tools ?? []).map(({ name }) => name)
    return {
      session,
      run,
      chosen,
      models,
      toolbox,
      journal: file,
      commands: () => [
        ...(written.briefing?.prompts.commands ?? []).map(({ name, description, argumentHint }) => ({
          name,
          description,
          argumentHint,
        })),
        ...(servers?.promptNames() ?? []).map((name) => ({ name, description: '', argumentHint: '' })),
      ],
      agents: () => written.agents?.told ?? [],
      plugins: () => written.plugins,
      servers,
      memoryFiles: written.briefing?.files ?? [],
      outputStyle: 'default',
      initFields: () => ({ ...this.#init, tools }),
      prepare: preparedWith({ hasModel, run, written, servers, toolbox, ports }),
      async readAnew() {
        const { readAnew } = await import('./written.ts')
        await readAnew(written, { run, ports, toolbox, skills, tools, more })
      },
    }
  }
}

interface Opened {
  readonly chosen: ChosenSession
  readonly toolbox: Toolbox
  readonly options: QueryOptions
  readonly models: Models
  /** The file that the program keeps it in. */
  readonly file: SessionJournal | undefined
  /** The same, or whatever else keeps it. */
  readonly journal: SessionParts['journal']
  readonly servers: SessionServers | undefined
  readonly written: Written
  readonly more: MoreTools
}
