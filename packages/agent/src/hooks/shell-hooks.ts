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

/** The session whose hooks these are. */
export interface ShellHooksOptions extends Pick<HookSurroundings, 'sandbox'> {
  /** The hooks, by event. */
  readonly hooks: ShellHookTable
  /** Id of the session. */
  readonly sessionId: string
  /** A file that scripts can read: the session's journal. */
  readonly transcriptPath: string
  /** Working directory. */
  readonly cwd: string
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The permission mode at this moment. */
  readonly permissionMode: () => string
  /** Id of the model. */
  readonly model: string
  /** How the session began. */
  readonly source: 'startup' | 'resume' | 'fork'
  /** What was said is on disk when it resolves: hooks read the transcript. */
  readonly flush?: () => Promise<void>
  /** Told when hooks start, write and end. */
  readonly tell?: (line: HookLine) => void
  /** Told of each call of a hook that has ended. */
  readonly called?: (call: HookCall) => void
  /** Ends the run that goes on, where a session has several. Without it `ShellHooks.signal` is aborted, and stays so. */
  readonly interrupt?: () => void
  /** Told what hooks that no message of the run can tell of say to the person, and which failed. */
  readonly note?: (text: string) => void
  /** What the session has used so far, for events that are about no run; `run`: what its run that goes on has. Of such a run alone when absent. */
  readonly sessionFigures?: (run?: HookFigures) => HookFigures
}

/**
 * The hooks of the settings, for one session.
 *
 * H1: they are hooks of core: in one order with those of a program, on record, and called by no other way.
 * H2: no hook breaks a run: each ends as a value, in its time.
 * H3: nothing that they started is left after `end()`, which gives what nobody waited for a moment.
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
  /** Of what nobody waits for: notifications, and hooks with `async`. */
  readonly #beside = new Set<Promise<unknown>>()

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
      tell: (line) => options.tell?.(line),
      called: (each) => options.called?.(each),
      letGo: (running) => this.#letGo(running),
      over: this.#over.signal,
      spent: new Set(),
    }
    const call: CallEvent = (event, about, fields, source) => this.#call(event, about, fields, source)
    this.hooks = coreHooks({ hooks, call, source, model })
    this.stopHooks = coreStopHooks({ hooks, call })
  }

  /** Aborts the run when a hook denies a call and wants it interrupted. */
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

  /** The figures of the event's run, or those of the session for the events in `ofSession`. */
  #figures(event: HookEvent, { figures }: EventSource): HookFigures {
    const { sessionFigures } = this.#options
    if (figures !== undefined && !ofSession.has(event)) return figures
    return sessionFigures?.(figures) ?? figures ?? noFigures
  }

  #letGo(running: Promise<readonly string[]>): void {
    const told = running.then((notes) => this.#note(notes)).catch(() => undefined)
    this.#beside.add(told)
    void told.then(() => this.#beside.delete(told))
  }

  #note(notes: readonly string[]): void {
    for (const text of notes) this.#options.note?.(text)
  }

  /** Whether there is any hook at an event. */
  has(event: HookEvent): boolean {
    return (this.#options.hooks[event] ?? []).length > 0
  }

  /**
   * Permissions whose asks go to the PermissionRequest hooks first. `rules` must give its asks as they are: what no hook decides is denied
   * here with `whenAsked: 'deny'`.
   */
  permissions(rules: Permissions, whenAsked: 'ask' | 'deny'): Permissions {
    if (!this.has('PermissionRequest')) return rules
    const left = (message: string): PermissionDecision =>
      whenAsked === 'deny' ? { behavior: 'deny', message: `Not allowed: ${message}` } : { behavior: 'ask', message }
    const decide: Permissions['decide'] = (request) => {
      const settle = (decision: PermissionDecision): PermissionDecision | Promise<PermissionDecision> =>
        // What no hook decided a person was asked, and it is theirs now.
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
    // No hook is asked about what cannot succeed, as no person is.
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
      // It answers in the place of a person.
      const answer = needsApproval === true ? { behavior, explicit: true as const } : { behavior }
      return isChanged ? { ...answer, updatedInput } : answer
    }
    if (interrupt === true) this.#interruptRun()
    return { behavior, message: message === undefined || message === '' ? deniedByHook : message }
  }

  /** Who has several runs is told, and the next one is not aborted. */
  #interruptRun(): void {
    const { interrupt } = this.#options
    this.#interrupt.abort('user')
    if (interrupt === undefined) return
    this.#interrupt = sharedAbort()
    interrupt()
  }

  /**
   * Asks PreSkillShellCommand hooks about a command in the text of a skill or of a slash command. Returns why it must not run, undefined where no hook
   * refuses it.
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

  /** Tells Notification hooks, and waits for none of them. */
  notify(type: string, message: string, title?: string): void {
    if (!this.has('Notification')) return
    const fields = { message, notification_type: type, ...(title !== undefined && { title }) }
    this.#letGo(
      this.#call('Notification', type, fields, { signal: this.#over.signal }).then((verdict) => verdict?.notes ?? []),
    )
  }

  /** The session ends: SessionEnd hooks within their time, then everything that hooks started is ended. */
  async end(reason: string): Promise<void> {
    try {
      if (this.has('SessionEnd')) {
        const verdict = await this.#call('SessionEnd', reason, { reason }, { signal: this.#over.signal })
        this.#note(verdict?.notes ?? [])
      }
      await withinAMoment(this.#beside)
    } finally {
      this.#over.abort()
      await this.#processes.dispose()
    }
  }
}

/** Events whose figures are the sums of the session. A command of a skill may run during a run or before one. */
const ofSession: ReadonlySet<HookEvent> = new Set([
  'SessionStart',
  'SessionEnd',
  'Notification',
  'PreSkillShellCommand',
])

function asksModel({ type }: ShellHook): boolean {
  return type === 'prompt'
}

/** What was sent has a moment to arrive. */
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
