import { existsSync } from 'node:fs'
import type { SessionSnapshot, SessionEvent } from '@halting/core/session'
import { isJsonObject, defaultMaxTurns } from '@halting/core/adapters'
import type { LiveSession } from '../../flags/open-session.ts'
import { pluginsWithHooks, turnsWithoutPrice, sessionScope } from '@halting/agent/session-settings'
import { loopFile } from '../../frontends/loop-file.ts'
import { commandConfinement, modeConfinement } from '../../frontends/confinement-words.ts'
import { verdictText } from '../../frontends/permission-verdict.ts'
import type { LoopStore } from '../../frontends/loop-record.ts'
import { many, oneLine } from '../../io/figures.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import { UsageError } from '../../usage-error.ts'
import type { UsualLimits } from '../view/stop-panel.ts'
import type { CommandExplanation, LocalSession, OpenSession } from './context.ts'
import { readEntries } from './transcript-entries.ts'
import type { StandingFigures } from '../../frontends/status-reports.ts'
import type { ServerQuestions } from './server-questions.ts'

/** Adapts a live session to the interactive program. `changed`: called when displayed data other than the session has changed. */
export function openSessionOf(
  live: LiveSession,
  changed: () => void = () => undefined,
  serverQuestions?: ServerQuestions,
): OpenSession {
  const { session, toolbox } = live
  const { workspace, permissions } = toolbox
  return {
    session,
    get commands() {
      return live.commands()
    },
    async earlierEntries() {
      const { file, last, canResume } = session.snapshot
      const isNew = last === undefined && !canResume
      return file === undefined || isNew ? [] : readEntries(file).catch(() => [])
    },
    entries: async () => readEntries(fileOf(session.snapshot)),
    prepare: (text) => live.prepare(text),
    redact: workspace.redact ?? ((text) => text),
    explain: (command) => permissions.explain(command),
    usualLimits: usualLimitsOf(live.run),
    ...standingBudgetsOf(live, changed),
    ...(serverQuestions !== undefined && { serverQuestions }),
    local: localSession(live),
  }
}

/** The standing budgets of the session, if it has any. Without budgets, their code is not loaded. */
function standingBudgetsOf(live: LiveSession, changed: () => void): Pick<OpenSession, 'standingBudgets'> {
  const { run, session, standingBudgets } = live
  const { budgets } = run.settings
  if (budgets === undefined || standingBudgets.length === 0) return {}
  const owner = { cwd: session.snapshot.cwd, env: run.env }
  const read = async (): Promise<readonly StandingFigures[]> => {
    const { reportBudgets } = await import('@halting/agent/budgets')
    const report = await reportBudgets(owner, budgets)
    return report.budgets.filter(({ name }) => standingBudgets.includes(name))
  }
  const view = new StandingBudgets(read, () => performance.now(), changed)
  session.listen((event) => view.onEvent(event))
  return { standingBudgets: () => view.all }
}

/** The default limits that apply to its runs. */
function usualLimitsOf({ limitSources = {}, runLimit }: LiveSession['run']): UsualLimits {
  return {
    ...(limitSources.maxTurns === undefined && { maxTurns: [defaultMaxTurns, turnsWithoutPrice] }),
    ...(limitSources.maxRunUsd === 'default' && runLimit !== undefined && { maxRunUsd: [runLimit.maxRunUsd] }),
  }
}

/** The file of a session. @throws UsageError if the session is not stored. */
export function fileOf({ file }: Pick<SessionSnapshot, 'file'>): string {
  if (file !== undefined) return file
  throw new UsageError('This session is not stored on disk, so there is no record of it to read.')
}

function localSession(live: LiveSession): LocalSession {
  const { toolbox, run } = live
  const { workspace, permissions } = toolbox
  const { statusLine } = run.settings
  return {
    memoryFiles: live.memoryFiles.map(({ path }) => path),
    commandEnvironment: workspace.env,
    explainCommand: (command) =>
      explainedCommand(permissions.explain(command), commandConfinement(command, permissions, workspace.wall).text),
    confinement: () => (workspace.sandbox === undefined ? modeConfinement(permissions, workspace.wall) : undefined),
    ...(statusLine !== undefined && {
      async statusLine(surroundings) {
        const { statusLineOf } = await import('../status-line/index.ts')
        return statusLineOf(live, statusLine, surroundings)
      },
    }),
    async rules() {
      const { listRules } = await import('../../permissions/rule-list.ts')
      return listRules(live)
    },
    async removeRule(rule) {
      const { removeRule } = await import('../../permissions/rule-list.ts')
      return removeRule(rule, live)
    },
    hooks: [run.settings.hooks ?? {}, ...pluginsWithHooks(run).flatMap(({ hooks }) => hooks)].flatMap(hookRows),
    servers: () =>
      (live.servers?.statuses() ?? []).map(({ name, status, tools, problem, leftOut = [] }) => ({
        name,
        status:
          problem === undefined
            ? [`${status}, ${many(tools, 'tool')}`, ...leftOut.map((part) => oneLine(part, 200))].join('; ')
            : `${status}: ${oneLine(problem, 200)}`,
      })),
    async askServices() {
      const { askServices } = await import('./service-models.ts')
      return askServices(run)
    },
    loops: loopStoreOf(live),
    async changeServer(name, how) {
      const { servers } = live
      if (servers === undefined) throw new UsageError('This session has no MCP servers.')
      await (how === 'reconnect' ? servers.reconnect(name) : servers.toggle(name, { isOn: how === 'on' }))
    },
  }
}

function loopStoreOf({ session, journal, run }: LiveSession): LoopStore | undefined {
  if (journal === undefined) return undefined
  const place = { ...sessionScope({ cwd: session.snapshot.cwd, env: run.env }), sessionId: session.id }
  const load = (): Promise<typeof import('../../frontends/loop-record.ts')> => import('../../frontends/loop-record.ts')
  return {
    isThere: () => existsSync(loopFile(place)),
    read: async () => (await load()).readStoredLoop(place),
    past: async (loopId) => (await load()).pastRounds(loopId, journal),
    write: async (loop) => (await load()).writeStoredLoop(place, loop),
    remove: async () => (await load()).removeStoredLoop(place),
  }
}

type Explanation = ReturnType<LiveSession['toolbox']['permissions']['explain']>

function explainedCommand(
  { behavior, parts, message }: Explanation,
  confinement: string | undefined,
): CommandExplanation {
  const verdict = `${verdictText({ behavior, message, mode: 'default' })} ${message === undefined ? '' : revealHiddenInLine(message, 300)}`
  return {
    verdict: [verdict.trimEnd(), ...(confinement === undefined ? [] : [confinement])],
    parts: parts.map(({ part, behavior: own, because, wouldAllow }) => {
      const hint = wouldAllow === undefined ? '' : `; ${wouldAllow} would allow it`
      return [own, revealHiddenInLine(part, 60), revealHiddenInLine(because + hint, 300)]
    }),
  }
}

/** Hooks as they are written in settings. Plugin entries of another form never run, so they are left out. */
function hookRows(events: object): LocalSession['hooks'] {
  return Object.entries(events).flatMap(([event, groups]: readonly [string, unknown]) =>
    listOf(groups).flatMap((group) => {
      const { matcher = '', hooks } = isJsonObject(group) ? group : {}
      return listOf(hooks).map((hook) => ({
        event: oneLine(typeof matcher === 'string' && matcher !== '' ? `${event} ${matcher}` : event, 60),
        what: oneLine(JSON.stringify(hook), 300),
      }))
    }),
  )
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Minimum time between reads of the ledger, in milliseconds. Other processes spend too, but an exact figure is not needed. */
const restMs = 5_000

/**
 * The standing budgets of a session, for the stop panel and `/limits`. Read at the start and after requests. A ledger
 * that cannot be read is not shown, since the run reports the problem.
 */
export class StandingBudgets {
  readonly #read: () => Promise<readonly StandingFigures[]>
  readonly #now: () => number
  readonly #changed: () => void
  #all: readonly StandingFigures[] = []
  #readAt = -Infinity
  #isReading = false

  constructor(read: () => Promise<readonly StandingFigures[]>, now: () => number, changed: () => void) {
    this.#read = read
    this.#now = now
    this.#changed = changed
    this.#refresh()
  }

  get all(): readonly StandingFigures[] {
    return this.#all
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'run_end') this.#refresh()
    else if (event.type === 'loop' && event.event.type === 'figures' && this.#now() - this.#readAt >= restMs)
      this.#refresh()
  }

  #refresh(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#readAt = this.#now()
    void this.#read()
      .catch((): readonly StandingFigures[] => [])
      .then((all) => {
        this.#isReading = false
        this.#all = all
        this.#changed()
      })
  }
}
