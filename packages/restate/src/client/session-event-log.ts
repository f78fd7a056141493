import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { RunEvent, SdkMessage, SdkResult, RunResult } from '@halting/core'
import { createTranslator, uuidOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { reviveResult } from './revive.ts'

type Entry = Extract<StepRecord, { readonly type: 'end' }>['added'][number]

/** A run that ended on record, and whose ending was not emitted yet. */
export interface UnreportedEnding {
  readonly runId: string
  readonly terminal: RunResult
}

/**
 * Events of a session as a client emits them, from a worker or from records, whichever arrives first. T1: a message is
 * emitted once, identified by its uuid, which for messages of the conversation follows from the session and the record.
 * T2: each run emits `run_start` once, and `run_end` once and last. T3: transient events, such as text deltas, are
 * emitted as they arrive. T4: an event of the loop is emitted once in its run; messages are emitted also if only records
 * have them. T5: if the beginning of a reply was missed, its deltas are not emitted; it arrives whole. T6: the first
 * message of a run is `system/init`. Records have none, so if its worker reported nothing, it is built from the
 * snapshot.
 */
export class SessionEventLog {
  readonly #sessionId: string
  readonly #emit: (event: SessionEvent) => void
  readonly #emittedKeys = new Set<string>()
  /** By scope: the calls that subagents belong to. */
  readonly #parents = new Map<string, string>()
  #runId = ''
  /** The run that is being emitted, from its worker or from records. */
  #emittedRunId = ''
  readonly #snapshot: () => SessionSnapshot
  #unreportedEnding: UnreportedEnding | undefined
  /** How often each event of the loop was emitted in the current run. */
  readonly #emittedRunEvents = new Map<string, number>()
  /** How often the worker that is connected now has sent each event. */
  readonly #receivedFromWorker = new Map<string, number>()
  #runOfEvents = ''
  #isReplyIncomplete = true

  constructor(sessionId: string, emit: (event: SessionEvent) => void, snapshot: () => SessionSnapshot) {
    this.#sessionId = sessionId
    this.#emit = emit
    this.#snapshot = snapshot
  }

  /** Events from before this client connected are not emitted. `runId`: the run that is current then. */
  begin(runId: string): void {
    this.#runId = runId
    this.#emittedRunId = runId
  }

  /** The run that ended on record, and whose result its worker may still send. */
  get unreportedEnding(): UnreportedEnding | undefined {
    return this.#unreportedEnding
  }

  /** The connection to a worker is new: events may have been missed. */
  onReconnect(): void {
    this.#isReplyIncomplete = true
    this.#receivedFromWorker.clear()
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'loop') {
      if (this.#isNewRunEvent(event.event)) this.#emit(event)
      return
    }
    if (event.type === 'run_end' && event.runId === this.#unreportedEnding?.runId) this.#unreportedEnding = undefined
    const key = eventKey(event)
    if (key !== undefined && !this.#isNew(key)) return
    if (event.type === 'run_start') this.#emittedRunId = event.runId
    if (event.type === 'message') this.#emitInit(event.message)
    this.#emit(event)
  }

  #emitInit(message: SdkMessage): void {
    if (message.type !== 'assistant' && message.type !== 'user' && message.type !== 'result') return
    const uuid = uuidOf(`${this.#sessionId}/${this.#emittedRunId}/init`)
    if (!this.#isNew(uuid)) return
    const { cwd, model, permissionMode } = this.#snapshot()
    this.#emit({
      type: 'message',
      message: {
        type: 'system',
        subtype: 'init',
        cwd,
        model: model === '' && message.type === 'assistant' ? message.message.model : model,
        permissionMode,
        tools: [],
        mcp_servers: [],
        slash_commands: [],
        output_style: 'default',
        skills: [],
        plugins: [],
        apiKeySource: 'none',
        claude_code_version: '2.1.0',
        uuid,
        session_id: this.#sessionId,
      },
    })
  }

  onRecord(record: StepRecord): void {
    switch (record.type) {
      case 'start': {
        const { scope, start } = record
        const { runId, parentCallId } = start.run
        if (scope === '') {
          this.#runId = runId
          this.#enterRun(runId)
        } else if (parentCallId !== undefined) this.#parents.set(scope, parentCallId)
        if (scope === '') this.onEvent({ type: 'run_start', runId, ids: inboxIds(start.added, ['prompt']) })
        return this.#emitEntries(scope, start.added, 0)
      }
      case 'lap':
        return this.#emitEntries(record.lap.scope, record.lap.added, record.lap.spent.turns)
      case 'end':
        this.#emitEntries(record.scope, record.added, record.spent.turns)
        if (record.scope === '') this.#onRunEnded(reviveResult(record.terminal))
        return
      case 'intent':
      case 'result':
      case 'control':
      case 'rewind':
      case 'stage':
    }
  }

  #onRunEnded(terminal: RunResult): void {
    if (!this.#emittedKeys.has(`run_end ${this.#runId}`)) this.#unreportedEnding = { runId: this.#runId, terminal }
  }

  /** Emits the ending of the run with the result from the records. */
  end(result: SdkResult): void {
    const ended = this.#unreportedEnding
    if (ended === undefined) return
    this.onEvent({ type: 'message', message: result })
    this.onEvent({ type: 'run_end', ...ended, result })
  }

  #emitEntries(scope: string, entries: readonly Entry[], turn: number): void {
    const parent = this.#parents.get(scope)
    // The event that names the parent of the subagent occurred before this client connected.
    if (scope !== '' && parent === undefined) return
    const translator = createTranslator({
      sessionId: this.#sessionId,
      runId: this.#runId,
      includePartialMessages: false,
      includeHookEvents: false,
    })
    for (const entry of entries) {
      const event = { type: 'message', entry } as const
      const scoped: RunEvent = parent === undefined ? event : { type: 'agent', callId: parent, agentType: '', event }
      const messages = translator.messages(scoped)
      // The worker emits the messages of an agent; the result of the call contains its outcome.
      if (parent === undefined) this.onEvent({ type: 'loop', event })
      for (const message of messages) this.onEvent({ type: 'message', message })
    }
    const ids = scope === '' ? inboxIds(entries, ['steer', 'follow_up']) : []
    for (const id of ids) this.onEvent({ type: 'taken', ids: [id], turn })
  }

  #enterRun(runId: string): void {
    if (runId === this.#runOfEvents) return
    this.#runOfEvents = runId
    this.#emittedRunEvents.clear()
    this.#receivedFromWorker.clear()
  }

  #isNewRunEvent(event: RunEvent): boolean {
    if (event.type === 'run_start') this.#enterRun(event.run.runId)
    if (event.type === 'model_start') this.#isReplyIncomplete = false
    if (event.type === 'model_update') return !this.#isReplyIncomplete
    const key = runEventKey(event)
    if (key === undefined) return true
    // An event without a key of its own may occur twice, and nothing distinguishes the two.
    const times = key.startsWith('{') ? (this.#receivedFromWorker.get(key) ?? 0) + 1 : 1
    this.#receivedFromWorker.set(key, times)
    if (times <= (this.#emittedRunEvents.get(key) ?? 0)) return false
    this.#emittedRunEvents.set(key, times)
    return true
  }

  #isNew(key: string): boolean {
    if (this.#emittedKeys.has(key)) return false
    this.#emittedKeys.add(key)
    return true
  }
}

function inboxIds(entries: readonly Entry[], origins: readonly string[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'user' && origins.includes(entry.origin) && entry.inboxId !== undefined ? [entry.inboxId] : [],
  )
}

/** Key under which an event is emitted once; undefined for transient events. */
function eventKey(event: SessionEvent): string | undefined {
  switch (event.type) {
    case 'run_start':
    case 'run_end':
      return `${event.type} ${event.runId}`
    case 'message':
      return messageKey(event.message)
    case 'taken':
      return `taken ${event.ids.join(' ')}`
    case 'question':
    case 'question_closed':
    case 'limit_question':
    case 'limit_question_closed':
    case 'loop':
    case 'changed':
    case 'failed':
    case 'note':
    case 'closed':
      return undefined
  }
}

/** Undefined for transient events, and for the beginning of a reply: a repeated request is another reply. */
function runEventKey(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'model_start':
    case 'model_update':
    case 'figures':
    case 'budget_wait':
    case 'question_start':
    case 'question_end':
    case 'tool_update':
      return undefined
    case 'message':
      return `message ${event.entry.id}`
    case 'run_start':
      return `run_start ${event.run.runId}`
    case 'tool_start':
    case 'tool_running':
    case 'tool_end':
    case 'permission_denied':
    case 'approval_needed':
      return `${event.type} ${event.callId}`
    case 'limit_question':
      return `limit_question ${event.request.id}`
    case 'limit_answered':
      return `limit_answered ${event.id}`
    case 'agent': {
      const key = runEventKey(event.event)
      if (key === undefined) return undefined
      return key.startsWith('{') ? JSON.stringify(event) : `agent ${event.callId} ${key}`
    }
    default:
      // A worker that takes over the run emits the same event.
      return JSON.stringify(event)
  }
}

function messageKey(message: SdkMessage): string | undefined {
  switch (message.type) {
    case 'assistant':
    case 'user':
    case 'result':
      return message.uuid
    case 'stream_event':
    case 'tool_progress':
      return undefined
    case 'system':
      if (message.subtype === 'init' || message.subtype === 'compact_boundary') return message.uuid
      if (message.subtype === 'task_started') return `task_started ${message.task_id}`
      if (message.subtype === 'task_notification') return `task_notification ${message.task_id} ${message.status}`
      // Numbered per process: another process may give the same number to another message.
      return `${message.uuid} ${JSON.stringify(message)}`
    case 'prompt_suggestion':
      return `${message.uuid} ${message.suggestion}`
  }
}
