import { randomUUID } from 'node:crypto'
import { type SessionJournal, sessionFile } from '@halting/journal'
import { backgroundOf, endSession } from '@halting/agent'
import { permissionModes } from '@halting/policy'
import { createSession, type Session, type SessionParts } from '@halting/agent/session'
import type { QueryOptions } from '@halting/core'
import type { CanUseTool } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { wantedAfter } from './after.ts'
import type { AfterTheRun } from './after-run.ts'
import { agentsOf } from './agents.ts'
import { backgroundOptions } from './background.ts'
import { briefingOf } from './briefing.ts'
import { checkpointsOf } from './checkpoints.ts'
import type { Face } from './face.ts'
import type { SessionHooks } from './hooks.ts'
import { initOf } from './init-of.ts'
import { type ChosenSession, chooseSession, closeSession, keptElsewhere, openSession } from './kept-session.ts'
import type { LiveSession } from './live-session.ts'
import type { SessionServers } from './mcp.ts'
import { checkModelName } from './model-names.ts'
import { type Models, openModels } from './models.ts'
import { MoreTools } from './more-tools.ts'
import { queryOptionsOf } from './options.ts'
import { ownHooks, withoutOwnHooks } from './own-hooks.ts'
import { namesSomething, preparedWith } from './prepare.ts'
import { pluginsInit, pluginsWithHooks } from './plugins.ts'
import type { Briefing } from './read-briefing.ts'
import { applyEnvironment, type RunSettings, settingsFor } from './run-settings.ts'
import { openToolbox, type Toolbox } from './toolbox.ts'
import type { SessionTelemetry } from '../telemetry/open-telemetry.ts'
import { telemetryFor } from '../telemetry/wanted.ts'
import { versionOf } from '../version.ts'
import { whose } from './whose.ts'
import type { Written } from './written.ts'

/**
 * Opens a session for any face: by flags, settings and environment, in the folder of the program. What a person should know goes to the program's
 * output. Nothing is left of one that could not be opened.
 * @throws UsageError, ConfigurationError, PermissionRuleError and SandboxError for what cannot be served.
 */
export async function openLive(given: Flags, outer: Program, face: Face): Promise<LiveSession> {
  const run = await asWhom(await settingsFor(given, outer), outer)
  if (face.isOneShot === true) applyEnvironment(run)
  const opening = new Opening(given, run, { ...outer, env: run.env }, face)
  try {
    return await opening.open()
  } catch (thrown) {
    await opening.undo()
    throw thrown
  }
}

/** The session may be an agent (`--agent`). */
async function asWhom(run: RunSettings, program: Program): Promise<RunSettings> {
  if (run.flags.agent === undefined) return run
  const { asAgent } = await import('./main-agent.ts')
  return asAgent(run, run.flags.agent, program)
}

/** What is opened one after another, and ended again where one of them fails. */
class Opening {
  readonly #given: Flags
  readonly #run: RunSettings
  readonly #program: Program
  readonly #face: Face
  #models: Models | undefined
  #toolbox: Toolbox | undefined
  #servers: SessionServers | undefined
  #hooks: SessionHooks | undefined
  #init: QueryOptions['init']
  #telemetry: SessionTelemetry | undefined
  #closeJournal: ((hasBegun: boolean) => Promise<void>) | undefined

  constructor(given: Flags, run: RunSettings, program: Program, face: Face) {
    this.#given = given
    this.#run = run
    this.#program = program
    this.#face = face
  }

  async undo(): Promise<void> {
    await this.#end()
    await this.#closeJournal?.(false)
  }

  async #end(): Promise<void> {
    const { output } = this.#program
    const onStopped = (commands: readonly string[]): void =>
      output.err(told(`stopped with the run: ${commands.join('; ')}.`))
    try {
      if (this.#toolbox === undefined) return
      const { workspace } = this.#toolbox
      await endSession({ workspace, servers: this.#servers, hooks: this.#hooks, onStopped })
    } finally {
      await Promise.all([this.#models?.close(), this.#telemetry?.end()])
    }
  }

  async open(): Promise<LiveSession> {
    const [run, face, program] = [this.#run, this.#face, this.#program]
    const { flags, settings } = run
    const { output, cwd } = program
    const chosen = face.kept === undefined ? await chooseSession(flags, program) : keptElsewhere(face.kept)
    const checkpoints = checkpointsOf(flags, chosen, program)
    const toolbox = await this.#openToolbox(chosen, checkpoints)
    this.#toolbox = toolbox
    this.#telemetry = await telemetryFor(program, toolbox)
    const briefing = await briefingOf(run, program, toolbox, face.skills)
    this.#tell(briefing?.warnings)
    if (flags.verbose === true) this.#tell(briefing?.read)
    const forModel = await this.#withModelOfCommand(briefing)
    const models = (this.#models = await openModels(forModel, cwd, face.aroundModel))
    this.#tell(models.warnings)
    if (!models.keepsFiles) checkpoints?.turnOff()
    if (flags.sandbox === true || settings.sandbox !== undefined) {
      const { holdCommands } = await import('./sandbox.ts')
      await holdCommands(flags, settings, toolbox, program)
    }
    const servers = (this.#servers = await this.#openServers(toolbox, models))
    const agents = await agentsOf(forModel, program, toolbox, models, briefing)
    this.#tell(agents?.warnings.map((line) => oneLine(line, 500)))
    const options = await queryOptionsOf(flags, program, toolbox, models, briefing, agents)
    await face.ready?.()
    const file = await openSession(chosen, program, face.title)
    const journal = face.kept ?? file
    this.#closeJournal = (hasBegun) => closeSession(file, hasBegun, chosen)
    // The session of this run is held by now: however old it is, it stays.
    if (file !== undefined && face.isOneShot === true) void this.#cleanUpBeside()
    if (journal?.open !== undefined && (face.firstPrompt ?? '') !== '')
      output.err(
        told('the run before did not end. It is closed first: what it had begun and not finished is told as unknown.'),
      )
    const written: Written = { briefing, agents, plugins: run.plugins }
    const more = new MoreTools(servers)
    const opened = { chosen, toolbox, options, models, file, journal, servers, written, more }
    return this.#live(await this.#session(opened), opened)
  }

  #tell(lines: readonly string[] = []): void {
    for (const line of lines) this.#program.output.err(told(line))
  }

  async #openToolbox(chosen: ChosenSession, checkpoints: ReturnType<typeof checkpointsOf>): Promise<Toolbox> {
    const { flags, env, settings, plugins } = this.#run
    const { cwd } = this.#program
    const answersQuestions = this.#isAnswered
    const { planInstructions, kept } = this.#face
    const keeper = answersQuestions ? await import('./keeper.ts') : undefined
    return openToolbox(flags, cwd, env, settings, {
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

  async #withModelOfCommand(briefing: Briefing | undefined): Promise<RunSettings> {
    const [run, said] = [this.#run, this.#face.firstPrompt]
    if (said === undefined || this.#namesModel || !namesSomething.test(said)) return run
    const { modelOfCommand } = await import('./said.ts')
    const model = await modelOfCommand(said, run, briefing, this.#program.output)
    return model === undefined ? run : { ...run, flags: { ...run.flags, model } }
  }

  /** What was said on the command line goes before a command (spec R-CMD-5). */
  get #namesModel(): boolean {
    return this.#given.model !== undefined || this.#given.script !== undefined
  }

  /** Connects to the servers of the session, where it has some. */
  async #openServers(toolbox: Toolbox, { model }: Models): Promise<SessionServers | undefined> {
    const { flags, settings, plugins } = this.#run
    const { servers: own, elicit, permissionTool: ownTool, inHost } = this.#face
    const program = this.#program
    const contextWindow = flags.contextWindow ?? model.contextWindow
    const place = { toolbox, settings, program, contextWindow, elicit, ownTool }
    const onDemand = async (): Promise<SessionServers | undefined> => {
      if (own === undefined) return undefined
      const { serversOnDemand } = await import('./servers-on-demand.ts')
      return serversOnDemand(async () => (await import('./mcp.ts')).openServers({ ...place, entries: [] }))
    }
    const given = own ?? []
    const hasPluginServers = plugins.all.some((plugin) => Object.keys(plugin.servers).length > 0)
    const hasServers = flags.mcpConfig !== undefined || settings.mcpServers !== undefined || hasPluginServers
    if (!hasServers && given.length === 0) return onDemand()
    const { openServers, serverEntries } = await import('./mcp.ts')
    const named = new Set(given.map(({ name }) => name))
    const found = await serverEntries(flags, settings, program, toolbox.workspace.env, inHost, plugins.all)
    const entries = [...given, ...found.filter(({ name }) => !named.has(name))]
    return entries.length === 0 ? onDemand() : openServers({ ...place, entries })
  }

  /** A run does not wait for it, and goes on without it: what is not removed today goes tomorrow. */
  async #cleanUpBeside(): Promise<void> {
    try {
      const { cleanUp } = await import('./clean-up.ts')
      await cleanUp(this.#run.settings, this.#program)
    } catch {
      // Nothing of a run depends on it.
    }
  }

  async #session(opened: Opened): Promise<Session> {
    const { chosen, toolbox, options, models, file, journal, servers, written, more } = opened
    const [{ flags, settings, env, plugins }, face, program] = [this.#run, this.#face, this.#program]
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
    const spans = this.#telemetry
    const background = backgroundOf(workspace, {
      ...backgroundOptions(flags, settings, env, face.background),
      ...(journal !== undefined && { session: journal }),
    })
    this.#init = initOf(face, [{ ...options.init, ...pluginsInit(plugins) }, init], {
      permissionMode,
      servers,
      written,
    })
    const session = createSession({
      options: {
        ...options,
        moreTools: more.tool,
        ...hooks?.options,
        hooks: [...(hooks?.options.hooks ?? options.hooks ?? []), ...(await ownHooks(face, toolbox, permissionMode))],
        ...(face.toolAliases !== undefined && { toolAliases: face.toolAliases }),
        init: this.#init,
        background,
        modelNamed(name) {
          if (flags.script === undefined) checkModelName(name, env)
          return models.modelNamed(name)
        },
        ...(canUseTool !== undefined && { canUseTool }),
      },
      journal,
      answersQuestions: face.answersQuestions,
      permissions,
      cwd: program.cwd,
      attach(engine) {
        workspace.files.begin(engine.transcript)
        more.attach(engine)
      },
      onEvent(event) {
        spans?.onEvent(event)
        after?.onEvent(event)
        hooks?.onEvent(event)
      },
      through: (tell) => withoutOwnHooks(hooks?.through(tell) ?? tell),
      ...(after !== undefined && { afterRun: (engine, signal, tell) => after.run(engine, signal, tell) }),
      ...(file !== undefined && {
        fork: () => forkOf(file, program),
        ...(workspace.checkpoints !== undefined && {
          takeBackFiles: async (...wanted) => {
            const { takeBackFiles } = await import('./take-back-files.ts')
            return takeBackFiles(wanted, file, toolbox, program)
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
      closeJournal: (hasBegun) => closeSession(file, hasBegun, chosen),
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
    const { flags, settings } = this.#run
    const { hooks: own = {} } = this.#face
    const plugins = pluginsWithHooks(this.#run)
    if (Object.keys({ ...settings.hooks, ...own }).length === 0 && plugins.length === 0) return undefined
    const { openHooks } = await import('./hooks.ts')
    const session = { flags, program: this.#program, toolbox, chosen, journal, settings, plugins }
    return openHooks({ ...session, given: own, asks: this.#isAnswered, ...given }, options)
  }

  /** Whether somebody answers questions. */
  get #isAnswered(): boolean {
    const { answersQuestions, canUseTool, permissionTool } = this.#face
    return answersQuestions || canUseTool !== undefined || permissionTool !== undefined
  }

  /** Who answers in the place of the session's listeners. */
  async #canUseTool(servers: SessionServers | undefined): Promise<CanUseTool | undefined> {
    const { canUseTool, permissionTool } = this.#face
    if (permissionTool === undefined) return canUseTool
    const { answerByTool } = await import('./permission-tool.ts')
    return answerByTool(permissionTool, async (...asked) => {
      if (servers === undefined) throw new Error('the session has no servers')
      return servers.ask(...asked)
    })
  }

  /** What comes after a run, where something was asked for. Of a session that is not kept no notes are. */
  async #afterRun({ smallModel }: Models, options: QueryOptions, isKept: boolean): Promise<AfterTheRun | undefined> {
    const { flags, settings } = this.#run
    const wanted = wantedAfter(flags, settings, this.#program.env)
    if (wanted === undefined) return undefined
    const { openAfter } = await import('./after-run.ts')
    const { stagesFor } = await import('./stages.ts')
    // What was piped in is no word of the person, also where it is all of the prompt: others may have written it.
    const written = this.#face.written ?? ''
    const notes = { owner: whose(this.#program), settings, model: smallModel ?? options.model, written }
    const stages = await stagesFor({ ...wanted, notes: wanted.notes && isKept }, notes)
    return openAfter({ ...wanted, stages, model: smallModel })
  }

  #live(session: Session, opened: Opened): LiveSession {
    const { chosen, toolbox, models, file, servers, written, more, options } = opened
    const [run, program, { skills, firstPrompt }] = [this.#run, this.#program, this.#face]
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
      prepare: preparedWith({ hasModel, run, written, servers, toolbox, program }),
      async readAnew() {
        const { readAnew } = await import('./written.ts')
        await readAnew(written, { run, program, toolbox, skills, tools, more })
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

/** A copy under an id of its own. */
async function forkOf(journal: SessionJournal, program: Program): Promise<string> {
  const { forkSession } = await import('./fork.ts')
  const sessionId = randomUUID()
  await journal.log.flush()
  const path = sessionFile({ ...whose(program), sessionId })
  await forkSession(journal.path, { path, sessionId, cwd: program.cwd, version: versionOf(program) })
  return sessionId
}

/** Agents and hooks are told the mode by the rules: that which was set is the one. */
function followMode(session: Session, permissions: Toolbox['permissions']): void {
  session.listen((event) => {
    if (event.type !== 'changed') return
    const mode = permissionModes.find((known) => known === session.snapshot.permissionMode)
    if (mode !== undefined && mode !== permissions.mode) permissions.setMode(mode)
  })
}
