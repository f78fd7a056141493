import { randomUUID } from 'node:crypto'
import type {
  Hook,
  HookFigures,
  JsonObject,
  PermissionDecision,
  PermissionRequest,
  Permissions,
  StopHook,
} from '@halting/core'
import { deniedByHook, isJsonObject, noFigures, sharedAbort } from '@halting/core/adapters'
import type { HookCall } from '@halting/core/after'
import { callHooks, hooksFor, type Callers, type HookLine } from './call-hooks.ts'
import { coreHooks, coreStopHooks, type CallEvent } from './core-hooks.ts'
import { HookProcesses } from './processes.ts'
import type { EventSource, HookSurroundings } from './run-hook.ts'
import type { HookEvent, ShellHook, ShellHookTable } from './settings.ts'
import type { HookVerdict } from './verdict.ts'
import { refusedByHook, stoppedByHook } from './hook-texts.ts'
import { agentFields } from './inputs.ts'
import type { SkillCommand } from './skill-command.ts'

type AskedRequest = Pick<PermissionRequest, 'call' | 'ask' | 'figures' | 'precheck' | 'needsApproval'>

/** Options of `ShellHooks`. */
export interface ShellHooksOptions extends Pick<HookSurroundings, 'sandbox'> {
  /** The hooks, by event. */
  readonly hooks: ShellHookTable
  /** Id of the session. */
  readonly sessionId: string
  /** Path of the session's journal, which scripts can read. */
  readonly transcriptPath: string
  /** Working directory. */
  readonly cwd: string
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Returns the current permission mode. */
  readonly permissionMode: () => string
  /** Id of the model. */
  readonly model: string
  /** How the session began. */
  readonly source: 'startup' | 'resume' | 'fork'
  /** Resolves when all messages are on disk, because hooks read the transcript. */
  readonly flush?: () => Promise<void>
  /** Called when hooks start, write and end. */
  readonly emit?: (line: HookLine) => void
  /** Called for each hook that has ended. */
  readonly called?: (call: HookCall) => void
  /** Interrupts the current run of a session with several runs. Default: aborts `ShellHooks.signal`, permanently. */
  readonly interrupt?: () => void
  /** Called with messages of hooks for the user, and with failures, that no event of the run can report. */
  readonly note?: (text: string) => void
  /**
   * Returns usage of the session so far, for events that do not belong to one run; `run`: usage of the current run.
   * Default: only that run.
   */
  readonly sessionFigures?: (run?: HookFigures) => HookFigures
}

/**
 * The hooks of the settings for one session. H1: these hooks are hooks of core: they run in one order with those of a
 * program, are recorded, and are called in no other way. H2: no hook breaks a run: each ends with a value, in time.
 * H3: nothing that they started is left after `end()`, which gives background hooks a moment to finish.
 */
export class ShellHooks {
  /** The hooks, for the options of a run. */
  readonly hooks: readonly Hook[]
  /** The stop hooks, for the options of a run. */
  readonly stopHooks: readonly StopHook[]
  readonly #options: ShellHooksOptions
  readonly #processes = new HookProcesses()
  readonly #callers: Callers
  #interrupt = sharedAbort()
  readonly #over = sharedAbort()
  /** Background work: notifications, and hooks with `async`. */
  readonly #background = new Set<Promise<unknown>>()

  constructor(options: ShellHooksOptions) {
    const { hooks, cwd, env, sandbox, source, model, transcriptPath } = options
    this.#options = options
    this.#callers = {
      hooks,
      cwd,
      env: { ...env, CLAUDE_PROJECT_DIR: cwd, HALTING_PROJECT_DIR: cwd, CLAUDECODE: '1' },
      processes: this.#processes,
      sandbox,
      readable: [transcriptPath],
      emit: (line) => options.emit?.(line),
      called: (each) => options.called?.(each),
      runInBackground: (running) => this.#runInBackground(running),
      over: this.#over.signal,
      finishedOnce: new Set(),
    }
    const call: CallEvent = (event, about, fields, source) => this.#call(event, about, fields, source)
    this.hooks = coreHooks({ hooks, call, source, model })
    this.stopHooks = coreStopHooks({ hooks, call })
  }

  /** Aborts the run when a hook denies a call and requests an interruption. */
  get signal(): AbortSignal {
    return this.#interrupt.signal
  }

  async #call(
    event: HookEvent,
    about: string,
    fields: JsonObject,
    source: EventSource,
  ): Promise<HookVerdict | undefined> {
    const { sessionId, transcriptPath, cwd, permissionMode, flush } = this.#options
    await flush?.()
    const common = {
      session_id: sessionId,
      transcript_path: transcriptPath,
      cwd,
      permission_mode: permissionMode(),
      hook_event_name: event,
      figures: this.#figures(event, source),
    }
    return callHooks({ event, about, input: { ...common, ...fields }, source }, this.#callers)
  }

  /** The usage of the event's run, or of the session for the events in `ofSession`. */
  #figures(event: HookEvent, { figures }: EventSource): HookFigures {
    const { sessionFigures } = this.#options
    if (figures !== undefined && !ofSession.has(event)) return figures
    return sessionFigures?.(figures) ?? figures ?? noFigures
  }

  #runInBackground(running: Promise<readonly string[]>): void {
    const noted = running.then((notes) => this.#note(notes)).catch(() => undefined)
    this.#background.add(noted)
    void noted.then(() => this.#background.delete(noted))
  }

  #note(notes: readonly string[]): void {
    for (const text of notes) this.#options.note?.(text)
  }

  /** Whether an event has any hook. */
  has(event: HookEvent): boolean {
    return (this.#options.hooks[event] ?? []).length > 0
  }

  /**
   * Permissions that ask the PermissionRequest hooks first. `rules` must return its asks unchanged: undecided ones are
   * denied here with `whenAsked: 'deny'`.
   */
  permissions(rules: Permissions, whenAsked: 'ask' | 'deny'): Permissions {
    if (!this.has('PermissionRequest')) return rules
    const left = (message: string): PermissionDecision =>
      whenAsked === 'deny' ? { behavior: 'deny', message: `Not allowed: ${message}` } : { behavior: 'ask', message }
    const decide: Permissions['decide'] = (request) => {
      const settle = (decision: PermissionDecision): PermissionDecision | Promise<PermissionDecision> =>
        // If no hook decided, a user was asked, and the user's decision applies.
        decision.behavior !== 'ask' || request.wasAsked === true
          ? decision
          : this.#request(request, left(decision.message))
      const decision = rules.decide(request)
      return decision instanceof Promise ? decision.then(settle) : settle(decision)
    }
    return {
      ...(rules.modes !== undefined && { modes: rules.modes }),
      isPlanning: (mode) => rules.isPlanning?.(mode) === true,
      denies: (request) => rules.denies(request),
      decide,
      onlyInTurn: (request) => {
        const { name, input } = request.call
        if (!hooksFor(this.#options.hooks, 'PermissionRequest', name, input).some(asksModel)) return false
        const decision = rules.decide(request)
        return !(decision instanceof Promise) && decision.behavior === 'ask'
      },
      suggest: (request) => rules.suggest?.(request) ?? [],
      cause: (request) => rules.cause?.(request),
      keep: (updates) => rules.keep?.(updates),
    }
  }

  async #request(
    { call, ask, figures, precheck, needsApproval }: AskedRequest,
    otherwise: PermissionDecision,
  ): Promise<PermissionDecision> {
    // The user is not asked about a call that cannot succeed.
    const failure = await precheck?.()
    if (failure !== undefined) return { behavior: 'fail', message: failure }
    // A call's input is JSON.
    const fields = { tool_name: call.name, tool_input: call.input as JsonObject }
    const source = {
      signal: this.signal,
      ...(ask !== undefined && { ask }),
      ...(figures !== undefined && { figures: figures() }),
    }
    const verdict = await this.#call('PermissionRequest', call.name, fields, source)
    if (verdict === undefined) return otherwise
    const { request, stop, notes } = verdict
    this.#note(notes)
    if (stop !== undefined) {
      this.#interruptRun()
      return { behavior: 'deny', message: stop || stoppedByHook }
    }
    if (request === undefined) return otherwise
    const { behavior, message, updatedInput, interrupt } = request
    if (behavior === 'allow') {
      const isChanged = updatedInput !== undefined && isJsonObject(updatedInput)
      // The hook answers in place of a user.
      const answer = needsApproval === true ? { behavior, explicit: true as const } : { behavior }
      return isChanged ? { ...answer, updatedInput } : answer
    }
    if (interrupt === true) this.#interruptRun()
    return { behavior, message: message === undefined || message === '' ? deniedByHook : message }
  }

  /** Interrupts the run of a session with several runs; the next run is not aborted. */
  #interruptRun(): void {
    const { interrupt } = this.#options
    this.#interrupt.abort('user')
    if (interrupt === undefined) return
    this.#interrupt = sharedAbort()
    interrupt()
  }

  /**
   * Asks PreSkillShellCommand hooks about a command in a skill or slash command. Returns why it must not run;
   * undefined if no hook refuses it.
   */
  async refusesCommand({ command, commandName, invokedBy, signal, agent }: SkillCommand): Promise<string | undefined> {
    if (!this.has('PreSkillShellCommand')) return undefined
    const fields = {
      tool_name: 'Bash',
      tool_input: { command },
      tool_use_id: `skill-command-${randomUUID()}`,
      command_name: commandName,
      invoked_by: invokedBy,
      ...agentFields(agent?.type ?? null, agent?.id ?? null),
    }
    const verdict = await this.#call('PreSkillShellCommand', 'Bash', fields, { signal })
    if (verdict === undefined) return undefined
    const { block, stop, notes } = verdict
    this.#note(notes)
    if (stop !== undefined) {
      if (invokedBy === 'claude') this.#interruptRun()
      return stop || stoppedByHook
    }
    return block === undefined ? undefined : block || refusedByHook
  }

  /** Sends a notification to Notification hooks without waiting for them. */
  notify(type: string, message: string, title?: string): void {
    if (!this.has('Notification')) return
    const fields = { message, notification_type: type, ...(title !== undefined && { title }) }
    this.#runInBackground(
      this.#call('Notification', type, fields, { signal: this.#over.signal }).then((verdict) => verdict?.notes ?? []),
    )
  }

  /** Ends the session: runs SessionEnd hooks within their time, then ends everything that hooks started. */
  async end(reason: string): Promise<void> {
    try {
      if (this.has('SessionEnd')) {
        const verdict = await this.#call('SessionEnd', reason, { reason }, { signal: this.#over.signal })
        this.#note(verdict?.notes ?? [])
      }
      await withinAMoment(this.#background)
    } finally {
      this.#over.abort()
      await this.#processes.dispose()
    }
  }
}

/** Events that report usage of the session. A command of a skill may run during a run or before one. */
const ofSession: ReadonlySet<HookEvent> = new Set([
  'SessionStart',
  'SessionEnd',
  'Notification',
  'PreSkillShellCommand',
])

function asksModel({ type }: ShellHook): boolean {
  return type === 'prompt'
}

/** Waits a short time for notifications to be delivered. */
async function withinAMoment(sent: ReadonlySet<Promise<unknown>>): Promise<void> {
  if (sent.size === 0) return
  let timer: NodeJS.Timeout | undefined
  const moment = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, momentMs)
  })
  await Promise.race([Promise.all(sent), moment])
  clearTimeout(timer)
}

const momentMs = 1_000
