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
import { type RunsGoingOn, SessionAgent } from './session-agent.ts'
import { disposed, type KeptOnDisk, type SessionOnDisk } from './session-of.ts'

/** What builders of one session share. */
export interface OpenedSession extends SessionWorkspace {
  readonly sessionId: string
  /** Undefined where nothing is kept. */
  readonly onDisk: SessionOnDisk | undefined
  /** Removes what tools wrote for a session that is not kept. */
  readonly removeFiles: (() => Promise<void>) | undefined
  readonly shell: ShellHooks | undefined
  /** What its runs have used, for hooks; undefined where there are none. */
  readonly totals: SessionTotals | undefined
  /** Ends the run of the engine that goes on: a hook may want that. */
  readonly interruption: { now?: () => void }
  readonly servers: SessionServers | undefined
  readonly init: NonNullable<QueryOptions['init']>
  readonly notes: readonly string[]
  readonly onNote: ((note: string) => void) | undefined
  /** What becomes of commands that still run when a run would end. */
  readonly atEnd: NonNullable<BackgroundOptions['atEnd']>
  readonly version: string
  /** An engine is made once, and nothing runs after the end. */
  state: 'open' | 'taken' | 'disposed'
  /** The program says which goals its runs have; those of the settings do not replace what an open run has on record. */
  readonly hasChosenGoals: boolean
  /** Aborted by `dispose`: runs end then. */
  readonly over: AbortController
  /** Of agents; those of the engine are of what is on disk. */
  readonly runs: RunsGoingOn
  /** What `dispose` waits for, whoever calls it. */
  ended: Promise<void> | undefined
  /** What came after runs and goes on. */
  readonly after: Set<Promise<unknown>>
}

/** Options of the engine's messages. */
export type EngineOptions = Pick<QueryOptions, 'includePartialMessages' | 'includeHookEvents' | 'onEvent' | 'onResult'>

/**
 * Builds agents that code in a folder: an `AgentBuilder` with tools, permissions, hooks, servers, instructions and a session.
 * Immutable as any builder; those that come of it by `withCapability` share its workspace, and one `dispose` ends it for all.
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

  /** What a person should know of the session as it was opened: what does not count, what is not there. */
  get notes(): readonly string[] {
    return this.#session.notes
  }

  /** The rules about calls, whose mode may be changed. */
  get permissions(): SessionWorkspace['permissions'] {
    return this.#session.permissions
  }

  override withCapability(capability: Capability): CodingAgentBuilder<Output> {
    return new CodingAgentBuilder<Output>(this.configuredBy(capability), this.#session)
  }

  /** An agent with the tools that there are now. Its states are its caller's to keep: nothing of them is in the session on disk. */
  override build(): Agent {
    this.#check()
    // Looked at there; this agent is one of the same options.
    super.build()
    return new SessionAgent(this.loopOptions(), this.#session.runs)
  }

  /**
   * The engine of the session, which is on disk from its first run on. Made once.
   * @throws ConfigurationError for options that cannot be run, for a second engine, and after `dispose`.
   * @throws HaltingError `driver` for a session that another process writes, or whose file is damaged.
   */
  async engine(options: EngineOptions = {}): Promise<QueryEngine<Output>> {
    return this.#taking((kept) => {
      const engine = new QueryEngine<Output>({
        ...this.#engineOptions(options, kept),
        ...(kept !== undefined && { session: kept }),
      })
      this.#session.workspace.files.begin(engine.transcript)
      this.#session.servers?.attach(engine)
      this.#session.interruption.now = () => engine.interrupt()
      return engine
    })
  }

  /**
   * The session as something to talk to, in place of its engine (docs/guide/embedding.md). With `onAsk: 'wait'`, and without `canUseTool`, its questions are
   * answered by `Session.answer`. Its `close` is the `dispose` of the builder.
   * @throws as `engine` does.
   */
  async session(options: EngineOptions = {}): Promise<Session> {
    const { sessionOver } = await import('../open-session/session-over.ts')
    return this.#taking((kept) => {
      const { workspace, servers, interruption } = this.#session
      const made = this.#engineOptions(options, kept)
      const session = sessionOver(this.#session, {
        options: made,
        journal: kept,
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

  /** Whoever has the session on disk is one. */
  async #taking<T>(make: (kept: KeptOnDisk | undefined) => T): Promise<T> {
    this.#check()
    const session = this.#session
    if (session.state === 'taken')
      throw new ConfigurationError(
        'This session already has an engine, and only one may write it. Open another session with codingAgent.',
      )
    session.state = 'taken'
    try {
      const kept = await session.onDisk?.open(session.version)
      session.totals?.begin(kept)
      // Nobody would close it.
      this.#check()
      return make(kept)
    } catch (thrown) {
      await session.onDisk?.close()
      if (session.state === 'taken') session.state = 'open'
      throw thrown
    }
  }

  #engineOptions(options: EngineOptions, kept: StoredSession | undefined): Omit<QueryOptions<Output>, 'session'> {
    const { onDisk, servers, init, sessionId, over, totals } = this.#session
    const { onEvent } = options
    // Tools of servers come to it as these bring them.
    const { steps: _, output, signal, ...rest } = super.loopOptions()
    const keepsGoals = kept?.open !== undefined && !this.#session.hasChosenGoals
    return {
      ...rest,
      ...(keepsGoals && { until: [] }),
      ...options,
      // A hook that wants a run to end has that one interrupted, and not those after it.
      signal: signal === undefined ? over.signal : anySignal([signal, over.signal]),
      // What answers come to is what the schema says, which came in with this type.
      ...(output !== undefined && { output: output as OutputSchema<Output> }),
      ...servers?.options,
      sessionId,
      init,
      background: this.#background(kept),
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
   * Starts stages after a run of the engine, as `afterRun` does; `dispose` ends those that go on, and waits for that.
   * @throws ConfigurationError for what is no list of stages, while a run goes on, and after `dispose`.
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

  /** Ends what goes on, and all that the session started. Resolves when it is gone and everything is on disk. */
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

  /** For `await using`. */
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

  /** Hooks that are about no run are given what the runs of agents used, too. */
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

  /** A hook may want the run to end, and so does whoever disposes of the session. */
  #interruptible(options: RunOptions): RunOptions {
    const { shell, over } = this.#session
    const signals = [options.signal, shell?.signal, over.signal].filter((signal) => signal !== undefined)
    return { ...options, background: this.#background(), signal: anySignal(signals) }
  }

  #check(): void {
    if (this.#session.state === 'disposed') throw new ConfigurationError(disposed)
  }
}
