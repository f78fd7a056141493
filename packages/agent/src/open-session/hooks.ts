import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { ChosenSession } from './chosen-session.ts'
import type { Toolbox } from './toolbox.ts'
import { sessionScope } from './session-scope.ts'
import { randomUUID } from 'node:crypto'
import type { HookLine } from '../hooks/call-hooks.ts'
import { settingsHookPrefix } from '../hooks/core-hooks.ts'
import { settingsHooks } from '../hooks/settings-hooks.ts'
import { SessionTotals, type SessionSpending } from '../hooks/session-totals.ts'
import type { ShellHooks } from '../hooks/shell-hooks.ts'
import type { GuardCommand } from '../hooks/skill-command.ts'
import type { ShellHookTable } from '../hooks/settings.ts'
import type { SessionParts } from '@halting/core/session'
import { sessionFile } from '@halting/journal'
import type { Settings } from '@halting/policy/settings'
import type { Plugin } from '../plugins/plugin.ts'
import type { RunEvent, QueryOptions, SdkMessage } from '@halting/core'
import type { HookCall } from '@halting/core/after'

// Loaded only if settings have hooks.

export interface HookSession {
  readonly choices: SessionChoices
  readonly ports: SessionPorts
  readonly toolbox: Toolbox
  readonly chosen: ChosenSession
  readonly journal: SessionParts['journal']
  readonly settings: Settings
  /** Plugins whose hooks are called. */
  readonly plugins?: readonly Plugin[]
  /** Hooks of the host. */
  readonly programHooks?: ShellHookTable | undefined
  /** Called for each hook that has ended. */
  readonly called?: (call: HookCall) => void
  /** Whether a user or a program can answer questions. */
  readonly asks: boolean
  /** Interrupts the current run. */
  readonly interrupt: () => void
  /** The session's cost limit and cost so far, while it exists. */
  readonly spending: () => SessionSpending | undefined
}

/** The hooks of the settings in a run of the program. */
export interface SessionHooks {
  readonly options: Pick<QueryOptions, 'hooks' | 'stopHooks' | 'permissions'>
  /** Asks the hooks about commands in skills and slash commands. */
  readonly guardCommand: GuardCommand
  /** Receives the run's events; some of them trigger hooks. */
  onEvent(event: RunEvent): void
  /** Inserts messages of hooks between those of the runs. */
  through(emit: (message: SdkMessage) => void): (message: SdkMessage) => void
  /** Ends the session's hooks: calls the last hooks and ends everything that they started. */
  end(): Promise<void>
}

/** Returns undefined if the settings have no effective hook. */
export function openHooks(session: HookSession, options: QueryOptions): SessionHooks | undefined {
  const { choices, ports, toolbox, chosen, journal, settings, called, interrupt, asks, spending } = session
  const { cwd, note, wordNotice } = ports
  const lines = new HookLines(chosen.sessionId, choices.includeHookEvents === true)
  const totals = new SessionTotals({
    spending: () => spending() ?? { maxBudgetUsd: options.maxBudgetUsd ?? null, costUsd: 0 },
  })
  totals.begin(journal)
  const found = settingsHooks(
    {
      settings: settings.hooks,
      plugins: session.plugins,
      programHooks: session.programHooks,
      permissions: toolbox.permissions,
      whenAsked: asks || choices.onAsk === 'defer' ? 'ask' : 'deny',
      warn: note,
      sessionId: chosen.sessionId,
      transcriptPath: journal?.path ?? sessionFile({ ...sessionScope(ports), sessionId: chosen.sessionId }),
      cwd,
      // The environment excludes API keys, like the environment of commands.
      env: toolbox.workspace.env,
      sandbox: () => toolbox.workspace.sandbox,
      model: options.model.id,
      source: chosen.forkOf !== undefined ? 'fork' : chosen.kind === 'kept' ? 'resume' : 'startup',
      emit: (line) => lines.take(line),
      ...(called !== undefined && { called }),
      interrupt,
      sessionFigures: (run) => totals.figures(run),
      note: (text) => note(wordNotice({ kind: 'hook', text })),
      ...(journal !== undefined && { flush: async () => journal.log.flush() }),
    },
    options,
  )
  if (found === undefined) return undefined
  const { shell } = found
  return {
    options: found.options,
    guardCommand: (command) => shell.refusesCommand(command),
    onEvent(event) {
      totals.onEvent(event)
      notifyOf(event, shell)
    },
    through: (emit) => lines.through(emit),
    end: () => shell.end('other'),
  }
}

function notifyOf(event: RunEvent, shell: ShellHooks): void {
  if (event.type === 'agent') notifyOf(event.event, shell)
  if (event.type === 'approval_needed')
    shell.notify('permission_prompt', `halting needs your permission to use ${event.name}: ${event.message}`)
}

/**
 * Inserts the messages of hooks between those of the run, after its first and before its last. Drops the run's own
 * messages about these hooks, because those messages would report all hooks of an event as one.
 */
class HookLines {
  readonly #sessionId: string
  readonly #isReported: boolean
  #see: ((message: SdkMessage) => void) | undefined
  #waiting: HookLine[] = []
  #place: 'before' | 'in' | 'behind' = 'before'

  constructor(sessionId: string, isReported: boolean) {
    this.#sessionId = sessionId
    this.#isReported = isReported
  }

  take(line: HookLine): void {
    if (!this.#isReported || this.#place === 'behind') return
    this.#waiting.push(line)
    // Flushes after messages that the run has emitted and its reader has not received yet.
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    if (this.#place !== 'in') return
    const waiting = this.#waiting
    this.#waiting = []
    for (const line of waiting)
      this.#see?.({ type: 'system', ...line, uuid: randomUUID(), session_id: this.#sessionId })
  }

  through(emit: (message: SdkMessage) => void): (message: SdkMessage) => void {
    this.#see = emit
    return (message) => {
      if (message.type === 'result') {
        this.#flush()
        this.#place = 'behind'
      }
      // The run's own message marks the position for the messages of its hooks: their effects on the run follow.
      if (isOfSettings(message)) this.#flush()
      else emit(message)
      if (message.type !== 'system' || message.subtype !== 'init') return
      this.#place = 'in'
      this.#flush()
    }
  }
}

function isOfSettings(message: SdkMessage): boolean {
  if (message.type !== 'system') return false
  if (message.subtype !== 'hook_started' && message.subtype !== 'hook_response') return false
  return message.hook_id.startsWith(settingsHookPrefix)
}
