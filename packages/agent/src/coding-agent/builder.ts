import { anySignal } from '@halting/core/adapters'
import { ConfigurationError, type RunOptions, type OutputSchema, QueryEngine, type QueryOptions } from '@halting/core'
import { type Agent, type AgentConfiguration, AgentBuilder, type Capability } from '@halting/core/compat'
import type { Background } from '@halting/core/adapters'
import { afterRun, type RunningStages, type Stage, type StagesOptions } from '@halting/core/after'
import type { StoredSession } from '@halting/core/steps'
import type { SessionTotals } from '../hooks/session-totals.ts'
import type { ShellHooks } from '../hooks/shell-hooks.ts'
import type { SessionServers } from '../open-session/mcp.ts'
import { type BackgroundOptions, backgroundOf } from '../tools/background.ts'
import { endSession } from './end-session.ts'
import type { Session } from '@halting/core/session'
import type { SessionWorkspace } from './open-workspace.ts'
import { type ActiveRuns, SessionAgent } from './session-agent.ts'
import { disposedMessage, type OpenSessionFile, type SessionOnDisk } from './session-on-disk.ts'

/** The state that all builders of one session share. */
export interface OpenedSession extends SessionWorkspace {
  readonly sessionId: string
  /** Undefined if the session is not stored. */
  readonly onDisk: SessionOnDisk | undefined
  /** Removes files that tools wrote for a session that is not stored. */
  readonly removeFiles: (() => Promise<void>) | undefined
  readonly shell: ShellHooks | undefined
  /** Usage of the session's runs, for hooks; undefined if there are no hooks. */
  readonly totals: SessionTotals | undefined
  /** Ends the current run of the engine on behalf of a hook. */
  readonly interruption: { now?: () => void }
  readonly servers: SessionServers | undefined
  readonly init: NonNullable<QueryOptions['init']>
  readonly notes: readonly string[]
  readonly onNote: ((note: string) => void) | undefined
  /** What happens to commands that are still running when a run would end. */
  readonly atEnd: NonNullable<BackgroundOptions['atEnd']>
  readonly version: string
  /** At most one engine exists per session, and nothing runs after `dispose`. */
  state: 'open' | 'taken' | 'disposed'
  /**
   * Whether the program sets the goals of its runs. Goals of settings do not replace the recorded goals of an open
   * run.
   */
  readonly hasChosenGoals: boolean
  /** Aborted by `dispose`, which ends all runs. */
  readonly over: AbortController
  /** Active runs of agents; the engine's run is tracked by the session on disk. */
  readonly runs: ActiveRuns
  /** The promise of `dispose`, which later calls return too. */
  ended: Promise<void> | undefined
  /** Stages after runs that are still running. */
  readonly after: Set<Promise<unknown>>
}

/** Options of the engine's messages. */
export type EngineOptions = Pick<QueryOptions, 'includePartialMessages' | 'includeHookEvents' | 'onEvent' | 'onResult'>

/**
 * Builds agents that code in a folder: an `AgentBuilder` with tools, permissions, hooks, servers, instructions and a
 * session. Immutable like any builder. Builders derived by `withCapability` share its workspace, and one `dispose`
 * ends it for all of them.
 */
export class CodingAgentBuilder<Output = unknown> extends AgentBuilder {
  readonly #session: OpenedSession

  constructor(configuration: AgentConfiguration, session: OpenedSession) {
    super(configuration)
    this.#session = session
  }

  /** Id of the session. */
  get sessionId(): string {
    return this.#session.sessionId
  }

  /** Notes for the user about opening the session: what is ignored and what is missing. */
  get notes(): readonly string[] {
    return this.#session.notes
  }

  /** The permission rules, whose mode may be changed. */
  get permissions(): SessionWorkspace['permissions'] {
    return this.#session.permissions
  }

  override withCapability(capability: Capability): CodingAgentBuilder<Output> {
    return new CodingAgentBuilder<Output>(this.configuredBy(capability), this.#session)
  }

  /**
   * Returns an agent with the current tools. The caller stores the agent's states; they are not part of the session on
   * disk.
   */
  override build(): Agent {
    this.#check()
    // Validates the options; this agent uses the same options.
    super.build()
    return new SessionAgent(this.loopOptions(), this.#session.runs)
  }

  /**
   * The engine of the session, which is stored on disk from its first run. Created once.
   * @throws ConfigurationError for invalid options, for a second engine, and after `dispose`.
   * @throws HaltingError `driver` if another process writes the session, or if its file is damaged.
   */
  async engine(options: EngineOptions = {}): Promise<QueryEngine<Output>> {
    return this.#taking((stored) => {
      const engine = new QueryEngine<Output>({
        ...this.#engineOptions(options, stored),
        ...(stored !== undefined && { session: stored }),
      })
      this.#session.workspace.files.begin(engine.transcript)
      this.#session.servers?.attach(engine)
      this.#session.interruption.now = () => engine.interrupt()
      return engine
    })
  }

  /**
   * Returns the session object instead of its engine (docs/guide/embedding.md). With `onAsk: 'wait'` and without
   * `canUseTool`, `Session.answer` answers questions. `close` of the session is `dispose` of the builder.
   * @throws as `engine` does.
   */
  async session(options: EngineOptions = {}): Promise<Session> {
    const { sessionOver } = await import('../open-session/session-over.ts')
    return this.#taking((stored) => {
      const { workspace, servers, interruption } = this.#session
      const made = this.#engineOptions(options, stored)
      const session = sessionOver(this.#session, {
        options: made,
        journal: stored,
        answersQuestions: made.onAsk === 'wait' && made.canUseTool === undefined,
        cwd: workspace.cwd,
        attach: (engine) => servers?.attach(engine),
        ...(made.onEvent !== undefined && { onEvent: made.onEvent }),
        end: () => this.dispose(),
      })
      interruption.now = () => void session.interrupt()
      return session
    })
  }

  /** Creates the only object that may own the session on disk. */
  async #taking<T>(make: (stored: OpenSessionFile | undefined) => T): Promise<T> {
    this.#check()
    const session = this.#session
    if (session.state === 'taken')
      throw new ConfigurationError(
        'This session already has an engine, and only one may write it. Open another session with codingAgent.',
      )
    session.state = 'taken'
    try {
      const stored = await session.onDisk?.open(session.version)
      session.totals?.begin(stored)
      // The builder may have been disposed meanwhile; then nobody would close the session.
      this.#check()
      return make(stored)
    } catch (thrown) {
      await session.onDisk?.close()
      if (session.state === 'taken') session.state = 'open'
      throw thrown
    }
  }

  #engineOptions(options: EngineOptions, stored: StoredSession | undefined): Omit<QueryOptions<Output>, 'session'> {
    const { onDisk, servers, init, sessionId, over, totals } = this.#session
    const { onEvent } = options
    // Tools of servers are added when the servers offer them.
    const { steps: _, output, signal, ...rest } = super.loopOptions()
    const keepsGoals = stored?.open !== undefined && !this.#session.hasChosenGoals
    return {
      ...rest,
      ...(keepsGoals && { until: [] }),
      ...options,
      // A hook that ends a run interrupts only that run.
      signal: signal === undefined ? over.signal : anySignal([signal, over.signal]),
      // Answers have the type of the schema, which was passed together with this type parameter.
      ...(output !== undefined && { output: output as OutputSchema<Output> }),
      ...servers?.options,
      sessionId,
      init,
      background: this.#background(stored),
      ...(totals !== undefined && {
        onEvent(event) {
          totals.onEvent(event)
          onEvent?.(event)
        },
      }),
      onResult(terminal, figures) {
        onDisk?.ended(terminal)
        ;(options.onResult ?? rest.onResult)?.(terminal, figures)
      },
    }
  }

  /**
   * Starts stages after a run of the engine, like `afterRun`. `dispose` aborts running stages and waits for them.
   * @throws ConfigurationError for an invalid list of stages, during a run, and after `dispose`.
   */
  afterRun(engine: QueryEngine<Output>, stages: readonly Stage[], options: StagesOptions = {}): RunningStages {
    this.#check()
    const { after } = this.#session
    const running = afterRun(engine, stages, options)
    const { ended } = running
    after.add(ended)
    void ended.then(() => after.delete(ended))
    return running
  }

  /**
   * Ends all runs and everything that the session started. Resolves when all of it has ended and the session is on
   * disk.
   */
  dispose(): Promise<void> {
    return (this.#session.ended ??= this.#end())
  }

  async #end(): Promise<void> {
    const session = this.#session
    session.state = 'disposed'
    const { workspace, servers, shell, onDisk, runs, onNote } = session
    try {
      session.over.abort()
      await Promise.all([onDisk?.settled(), runs.settled(), ...session.after])
      await endSession({
        workspace,
        servers,
        hooks: shell && { end: () => shell.end('other') },
        onStopped: (commands) => onNote?.(`stopped with the session: ${commands.join('; ')}`),
      })
    } finally {
      await onDisk?.close()
      await session.removeFiles?.()
    }
  }

  /** Disposes the session, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  protected override loopOptions(): RunOptions {
    const options = this.#withTotals(this.#interruptible(super.loopOptions()))
    return { ...options, tools: [...(options.tools ?? []), ...(this.#session.servers?.tools() ?? [])] }
  }

  #background(session?: StoredSession): Background {
    const { workspace, atEnd } = this.#session
    return backgroundOf(workspace, { atEnd, ...(session !== undefined && { session }) })
  }

  /** Adds the usage of agent runs, for hooks that do not belong to one run. */
  #withTotals(options: RunOptions): RunOptions {
    const { totals } = this.#session
    if (totals === undefined) return options
    return {
      ...options,
      onResult(terminal, figures) {
        totals.ended(terminal, figures)
        options.onResult?.(terminal, figures)
      },
    }
  }

  /** Lets hooks and `dispose` end the run. */
  #interruptible(options: RunOptions): RunOptions {
    const { shell, over } = this.#session
    const signals = [options.signal, shell?.signal, over.signal].filter((signal) => signal !== undefined)
    return { ...options, background: this.#background(), signal: anySignal(signals) }
  }

  #check(): void {
    if (this.#session.state === 'disposed') throw new ConfigurationError(disposedMessage)
  }
}
