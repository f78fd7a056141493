import { verificationOf } from '../checks/verification.ts'
import { withFormerName } from '../agents/former-name.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import type { SessionJournal } from '@halting/journal'
import { backgroundOf } from '../tools/background.ts'
import type { Session, SessionParts, SessionEvent } from '@halting/core/session'
import type { Model, QueryOptions, Hook, SdkMessage } from '@halting/core'
import { type CanUseTool, isOfferedTo, isBuiltinHook } from '@halting/core/adapters'
import { wantedAfter, backgroundOptions, verifyChangesOf } from './resolved-options.ts'
import type { AfterTheRun } from './after-run.ts'
import type { SessionFrontend, SessionOptions } from './session-options.ts'
import type { SessionSpending } from '../hooks/session-totals.ts'
import type { HookSession, SessionHooks } from './hooks.ts'
import { goalOptions } from './goals.ts'
import { withinManagedLimits, pauseOptions, resumedWithin } from './chosen-limits.ts'
import { type ChosenSession, closeJournalOf, forkOf, openJournalOf } from './chosen-session.ts'
import { PartsOpening } from './parts.ts'
import type { LiveSession } from './live-session.ts'
import type { SessionServers } from './mcp.ts'
import type { Models } from './models.ts'
import { LateTools } from './late-tools.ts'
import { queryOptionsOf } from './query-options.ts'
import { followModels, RunLimit } from './run-limit.ts'
import { preparedWith } from './prepare.ts'
import { pluginsInit, pluginsWithHooks, pluginRow } from './plugins.ts'
import { type RunSettings, settingsOf } from './run-settings.ts'
import { sessionOver } from './session-over.ts'
import { standingOptions } from './standing.ts'
import { syncPermissionMode, type Toolbox } from './toolbox.ts'
import { sessionScope } from './session-scope.ts'
import type { ReloadableParts } from './reloadable-parts.ts'
import { planModeHook } from '@halting/policy'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Opens a session in a folder. Only this function converts choices, settings and the environment to tools,
 * permission rules, models, servers, hooks, instructions, subagents, a journal and the session object. Every frontend
 * opens sessions with it. If a part cannot be opened, the earlier ones are closed.
 * @throws ConfigurationError, PermissionRuleError or SandboxError for invalid or unavailable parts.
 */
export async function openSession<Choices extends SessionChoices>(
  options: SessionOptions<Choices>,
): Promise<LiveSession<Choices>> {
  const { choices, ports, ...frontend } = options
  const { runLimit, waitDefault, kept: externalStorage } = frontend
  const run = await asChosenAgent(
    await settingsOf(choices, ports, { runLimit, waitDefault, choicesOnlyLower: externalStorage !== undefined }),
    ports,
  )
  frontend.onSettings?.(run)
  const opening = new SessionOpening(
    new PartsOpening({ initialChoices: choices, run, ports: { ...ports, env: run.env }, frontend }),
  )
  try {
    return await opening.open()
  } catch (thrown) {
    await opening.undo()
    throw thrown
  }
}

/** The session may run as an agent (`--agent`). */
async function asChosenAgent<Choices extends SessionChoices>(
  run: RunSettings<Choices>,
  ports: SessionPorts,
): Promise<RunSettings<Choices>> {
  if (run.choices.agent === undefined) return run
  const { asAgent } = await import('./main-agent.ts')
  return asAgent(run, run.choices.agent, ports)
}

/** Opens the parts one after another, and closes them again if one fails. */
class SessionOpening<Choices extends SessionChoices> {
  readonly #opening: PartsOpening<Choices>
  #init: QueryOptions['init']
  #closeJournal: ((hasBegun: boolean) => Promise<void>) | undefined

  constructor(opening: PartsOpening<Choices>) {
    this.#opening = opening
  }

  async undo(): Promise<void> {
    await this.#opening.end()
    await this.#closeJournal?.(false)
  }

  async open(): Promise<LiveSession<Choices>> {
    const { run, frontend, ports } = this.#opening
    const parts = await this.#opening.parts()
    const { chosen, toolbox, briefing, models, servers, agents } = parts
    const goals = await goalOptions(this.#opening.goals, run.settings, toolbox)
    // On a cluster, the budgets of tenants apply. They are managed where the session is stored.
    const isElsewhere = frontend.kept !== undefined
    const budgetOptions = isElsewhere
      ? {}
      : await standingOptions(run, models, { ...ports, sessionId: toolbox.sessionId })
    const query = await queryOptionsOf(run.choices, ports, toolbox, models, briefing, agents)
    const verification = verificationOf(verifyChangesOf(run.choices, run.settings, frontend.verifyDefault), toolbox)
    const options = { ...query, ...goals, ...budgetOptions, ...(verification !== undefined && { verification }) }
    await frontend.ready?.()
    const file = await openJournalOf(chosen, ports, frontend.title)
    const journal = frontend.kept ?? file
    this.#closeJournal = (hasBegun) => closeJournalOf(file, hasBegun, chosen)
    // The session of this run is locked at this point, so it is not removed, whatever its age.
    if (file !== undefined && frontend.removesOldSessions === true) void this.#cleanUpInBackground()
    if (journal?.open !== undefined && (frontend.firstPrompt ?? '') !== '')
      this.#opening.notify([{ kind: 'run_left_open' }])
    const reloadable: ReloadableParts = { briefing, agents, plugins: run.plugins }
    const more = new LateTools(servers)
    const opened = { chosen, toolbox, options, models, file, journal, servers, reloadable, more }
    return this.#live(this.#underLimit(await this.#session(opened), opened), opened)
  }

  #underLimit(session: Session, { models, reloadable, journal }: Opened): Session {
    const limit = new RunLimit(this.#opening.run, models, reloadable.agents)
    const notice = limit.noticeOf(limit.unpriced)
    if (notice !== undefined) this.#opening.notify([notice])
    const { modelNamed, model: first } = models
    const notify = (notices: readonly SessionNotice[]): void => this.#opening.notify(notices)
    const { run, frontend } = this.#opening
    const open = journal?.open
    const within =
      open === undefined ? session : resumedWithin(session, run, { open, areChoicesNew: frontend.kept === undefined })
    return withinManagedLimits(followModels(within, { limit, modelNamed, first, notify }), run.settings)
  }

  /** Starts the cleanup without delaying the run: a session that is not removed today is removed tomorrow. */
  async #cleanUpInBackground(): Promise<void> {
    try {
      const { cleanUp } = await import('./clean-up.ts')
      await cleanUp(this.#opening.run.settings, this.#opening.ports)
    } catch {
      // Runs do not depend on the cleanup.
    }
  }

  async #session(opened: Opened): Promise<Session> {
    const { chosen, toolbox, options, models, file, journal, servers, reloadable, more } = opened
    const { run, frontend, ports } = this.#opening
    const { choices, settings, env, plugins } = run
    const { workspace, permissions } = toolbox
    // The session is set before anything uses it.
    const live: { session?: Session } = {}
    const interrupt = (): void => void live.session?.interrupt()
    const spending = (): SessionSpending | undefined => {
      if (live.session === undefined) return undefined
      const { limits, figures } = live.session.snapshot
      return { maxBudgetUsd: limits.maxBudgetUsd, costUsd: figures.sessionUsd }
    }
    const permissionMode = (): string => live.session?.snapshot.permissionMode ?? permissions.mode
    const canUseTool = await this.#canUseTool(servers)
    const init = await servers?.begin()
    const after = await this.#afterRun(models, options, journal !== undefined)
    const hooks = await this.#openHooks(opened, options, {
      interrupt,
      spending,
      ...(after !== undefined && { called: after.called }),
    })
    this.#opening.hooks = hooks
    if (hooks !== undefined) reloadable.guardCommand = hooks.guardCommand
    reloadable.briefing?.prompts.guardCommands(reloadable.guardCommand)
    const { listener } = this.#opening
    const background = backgroundOf(workspace, {
      ...backgroundOptions(choices, settings, env, frontend.background),
      ...(journal !== undefined && { session: journal }),
    })
    this.#init = initOf(frontend, [{ ...options.init, ...pluginsInit(plugins) }, init], {
      permissionMode,
      servers,
      reloadable,
    })
    const own = await builtinHooks(frontend, toolbox, permissionMode)
    const session = sessionOver(toolbox, {
      options: {
        ...options,
        ...this.#whenToEnd(options, journal),
        moreTools: more.tool,
        ...hooks?.options,
        hooks: [...(hooks?.options.hooks ?? options.hooks ?? []), ...own],
        ...withFormerName(options.tools ?? [], frontend.toolAliases),
        ...optionsOfFrontend(frontend),
        init: this.#init,
        background,
        modelNamed: this.#modelNamed(models),
        ...(canUseTool !== undefined && { canUseTool }),
      },
      journal,
      answersQuestions: frontend.answersQuestions,
      cwd: ports.cwd,
      attach: (engine) => more.attach(engine),
      onEvent(event) {
        listener?.onEvent(event)
        after?.onEvent(event)
        hooks?.onEvent(event)
      },
      through: (emit) => withoutBuiltinHooks(hooks?.through(emit) ?? emit),
      ...(after !== undefined && { afterRun: (engine, signal, emit) => after.run(engine, signal, emit) }),
      ...withFile(file, toolbox, ports),
      end: () => this.#opening.end(),
      closeJournal: (hasBegun) => closeJournalOf(file, hasBegun, chosen),
    })
    live.session = session
    syncPermissionMode(session, permissions)
    noticeUnconfined(session, toolbox, (notices) => this.#opening.notify(notices))
    return session
  }

  /**
   * A resumed run, or an ended run without a new prompt, retains its recorded goals unless others are chosen: goals of
   * settings do not replace them.
   */
  #whenToEnd({ until = [] }: QueryOptions, journal: SessionParts['journal']): Partial<QueryOptions> {
    const { until: chosen, goal } = this.#opening.goals
    const isContinued = this.#opening.frontend.firstPrompt === '' && (journal?.ended.length ?? 0) > 0
    const isKept = (journal?.open !== undefined || isContinued) && chosen === undefined && goal === undefined
    const { run, frontend } = this.#opening
    return { until: isKept ? [] : until, ...pauseOptions(run.choices, run.settings, frontend) }
  }

  #modelNamed(models: Models): (name: string) => Model {
    const { script } = this.#opening.run.choices
    return (name) => {
      if (script === undefined) models.checkName?.(name)
      return models.modelNamed(name)
    }
  }

  async #openHooks(
    { chosen, toolbox, journal }: Opened,
    options: QueryOptions,
    sources: Pick<HookSession, 'interrupt' | 'spending' | 'called'>,
  ): Promise<SessionHooks | undefined> {
    const { choices, settings } = this.#opening.run
    const { hooks: own = {} } = this.#opening.frontend
    const plugins = pluginsWithHooks(this.#opening.run)
    if (Object.keys({ ...settings.hooks, ...own }).length === 0 && plugins.length === 0) return undefined
    const { openHooks } = await import('./hooks.ts')
    const session = { choices, ports: this.#opening.ports, toolbox, chosen, journal, settings, plugins }
    return openHooks({ ...session, programHooks: own, asks: this.#opening.isAnswered, ...sources }, options)
  }

  /** Returns the function that answers in place of the session's listeners. */
  async #canUseTool(servers: SessionServers | undefined): Promise<CanUseTool | undefined> {
    const { canUseTool, permissionTool } = this.#opening.frontend
    if (permissionTool === undefined) return canUseTool
    const { answerByTool } = await import('./permission-tool.ts')
    return answerByTool(permissionTool, async (...request) => {
      if (servers === undefined) throw new Error('the session has no servers')
      return servers.ask(...request)
    })
  }

  /** What happens after a run, if anything is enabled. No notes are extracted from a session that is not stored. */
  async #afterRun({ smallModel }: Models, options: QueryOptions, isKept: boolean): Promise<AfterTheRun | undefined> {
    const { choices, settings } = this.#opening.run
    const enabled = wantedAfter(choices, settings, this.#opening.ports.env)
    if (enabled === undefined) return undefined
    const { openAfter } = await import('./after-run.ts')
    const { stagesFor } = await import('./stages.ts')
    // Piped input is not typed by the user, even if it is the whole prompt: another person may have written it.
    const typedText = this.#opening.frontend.typedText ?? ''
    const notes = { owner: sessionScope(this.#opening.ports), settings, model: smallModel ?? options.model, typedText }
    const stages = await stagesFor({ ...enabled, notes: enabled.notes && isKept }, notes)
    return openAfter({ ...enabled, stages, model: smallModel })
  }

  #live(session: Session, opened: Opened): LiveSession<Choices> {
    const { chosen, toolbox, models, file, servers, reloadable, more, options } = opened
    const [run, ports, { skills, firstPrompt }] = [this.#opening.run, this.#opening.ports, this.#opening.frontend]
    const hasModel = this.#opening.namesModel || firstPrompt !== undefined
    const tools = (options.tools ?? []).map(({ name }) => name)
    const offered = (options.tools ?? []).filter((tool) => isOfferedTo(tool, options.model)).map(({ name }) => name)
    return {
      session,
      run,
      chosen,
      models,
      toolbox,
      journal: file,
      standingBudgets: options.standing?.names ?? [],
      checks: async () => (await options.verification?.checks?.()) ?? [],
      commands: () => [
        ...(reloadable.briefing?.prompts.commands ?? []).map(({ name, description, argumentHint }) => ({
          name,
          description,
          argumentHint,
        })),
        ...(servers?.prompts() ?? []),
      ],
      agents: () => reloadable.agents?.descriptions ?? [],
      plugins: () => reloadable.plugins,
      servers,
      memoryFiles: reloadable.briefing?.files ?? [],
      outputStyle: 'default',
      initFields: () => ({ ...this.#init, tools: offered }),
      prepare: preparedWith({ hasModel, run, reloadable, servers, toolbox, ports }),
      async reload() {
        const { reloadParts } = await import('./reloadable-parts.ts')
        await reloadParts(reloadable, { run, ports, toolbox, skills, tools, more })
      },
    }
  }
}

interface Opened {
  readonly chosen: ChosenSession
  readonly toolbox: Toolbox
  readonly options: QueryOptions
  readonly models: Models
  /** The file that stores the session, if this program stores it. */
  readonly file: SessionJournal | undefined
  /** The same journal, or the external storage. */
  readonly journal: SessionParts['journal']
  readonly servers: SessionServers | undefined
  readonly reloadable: ReloadableParts
  readonly more: LateTools
}

/** Adds what only a session stored in a file can do. */
function withFile(
  file: SessionJournal | undefined,
  toolbox: Toolbox,
  ports: SessionPorts,
): Pick<SessionParts, 'fork' | 'takeBackFiles'> {
  if (file === undefined) return {}
  return {
    fork: () => forkOf(file, ports),
    ...(toolbox.workspace.checkpoints !== undefined && {
      takeBackFiles: async (...target) => {
        const { takeBackFiles } = await import('./take-back-files.ts')
        return takeBackFiles(target, file, toolbox, ports)
      },
    }),
  }
}

function optionsOfFrontend({
  unmetWithoutWork,
  clock,
}: SessionFrontend): Pick<QueryOptions, 'unmetWithoutWork' | 'clock'> {
  return { ...(unmetWithoutWork !== undefined && { unmetWithoutWork }), ...(clock !== undefined && { clock }) }
}

interface InitSources {
  readonly permissionMode: () => string
  readonly servers: SessionServers | undefined
  readonly reloadable: ReloadableParts
}

/**
 * Returns the fields of `init`, with the current servers, whose prompts are listed as commands, and the current mode.
 */
function initOf(
  { capabilities, ownCommands = [] }: Pick<SessionFrontend, 'capabilities' | 'ownCommands'>,
  [init, ofServers]: readonly [session: QueryOptions['init'], servers: QueryOptions['init']],
  { permissionMode, servers, reloadable }: InitSources,
): NonNullable<QueryOptions['init']> {
  const { plugin_errors: errors, ...others } = init ?? {}
  const fields: NonNullable<QueryOptions['init']> = {
    ...others,
    ...ofServers,
    get plugins() {
      return reloadable.plugins.all.map(pluginRow)
    },
    get slash_commands() {
      const names = [...ownCommands, ...(reloadable.briefing?.init.slash_commands ?? [])]
      return [...new Set(names), ...(servers?.prompts() ?? []).map(({ name }) => name)]
    },
    get skills() {
      return reloadable.briefing?.init.skills ?? []
    },
    get agents() {
      return reloadable.agents?.names ?? []
    },
    ...(capabilities !== undefined && { capabilities }),
    get permissionMode() {
      return permissionMode()
    },
    get mcp_servers() {
      return servers?.statuses().map(({ name, status }) => ({ name, status })) ?? []
    },
  }
  // If the key was absent before, it remains absent.
  return errors === undefined ? fields : Object.defineProperty(fields, 'plugin_errors', errorsOf(reloadable))
}

function errorsOf(reloadable: ReloadableParts): PropertyDescriptor {
  return { enumerable: true, get: () => reloadable.plugins.problems.map((problem) => ({ ...problem })) }
}

/**
 * The program's built-in hooks: instructions for plan mode, and progress summaries of subagents. `mode`: returns the
 * current mode.
 */
async function builtinHooks(frontend: SessionFrontend, toolbox: Toolbox, mode: () => string): Promise<readonly Hook[]> {
  const { agentSummaries } = frontend
  const ofPlan = planHooks(frontend, toolbox, mode)
  if (agentSummaries === undefined) return ofPlan
  const { agentSummaryHook } = await import('../after/index.ts')
  return [...ofPlan, agentSummaryHook(agentSummaries)]
}

/** Returns the hook that explains plan mode to the model, if the session is in plan mode or may enter it. */
function planHooks(
  { planInstructions: instructions }: SessionFrontend,
  { tools, permissions }: Toolbox,
  mode: () => string,
): readonly Hook[] {
  const hasExit = tools.some(({ name }) => name === 'ExitPlanMode')
  const mayPlan = hasExit || instructions !== undefined || permissions.mode === 'plan'
  return mayPlan ? [planModeHook(mode, { instructions, hasExit })] : []
}

/** Built-in hooks are not reported as hooks of the user. */
function withoutBuiltinHooks(emit: (message: SdkMessage) => void): (message: SdkMessage) => void {
  return (message) => {
    if (message.type === 'system' && 'hook_id' in message && isBuiltinHook(message.hook_id)) return
    emit(message)
  }
}

// Spec R-EFRONT-4.
/**
 * Explains to the user what prevents confinement, when the first command that could run confined requires permission
 * in `acceptEdits`: once per session, and once per reason on a machine. Reports nothing that a setting or a program
 * disabled.
 */
function noticeUnconfined(
  session: Pick<Session, 'listen'>,
  { permissions, workspace }: Pick<Toolbox, 'permissions' | 'workspace'>,
  notify: (notices: readonly SessionNotice[]) => void,
): void {
  const stop = session.listen((event) => {
    if (permissions.mode !== 'acceptEdits' || !asksAboutCommand(event)) return
    stop()
    const { wall } = workspace
    const edits = wall?.edits()
    if (wall === undefined || edits?.kind !== 'off' || edits.todo === undefined) return
    if (wasReported(join(dirname(wall.memory), 'confinement-notice'), edits.why)) return
    notify([{ kind: 'edits_unconfined', why: edits.why, todo: edits.todo }])
  })
}

function asksAboutCommand(event: SessionEvent): boolean {
  if (event.type === 'question') return event.question.toolName === 'Bash'
  return event.type === 'loop' && event.event.type === 'permission_denied' && event.event.name === 'Bash'
}

/**
 * Returns whether the reason was reported before; otherwise records it. Without a folder of this program, nothing is
 * recorded.
 */
function wasReported(file: string, why: string): boolean {
  try {
    if (readFileSync(file, 'utf8').trim() === why) return true
  } catch {
    // Nothing has been reported yet.
  }
  try {
    writeFileSync(file, `${why}\n`, { mode: 0o600 })
  } catch {
    // The next session reports the reason again.
  }
  return false
}
