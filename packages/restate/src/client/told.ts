import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { RunEvent, SdkMessage, SdkResult, RunResult } from '@halting/core'
import { createTranslator, uuidOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { revivedTerminal } from './revived.ts'

type Entry = Extract<StepRecord, { readonly type: 'end' }>['added'][number]

/** A run that ended on record, and whose end was not told. */
export interface EndToTell {
  readonly runId: string
  readonly terminal: RunResult
}

/**
 * What a client was told of a session, by a worker or by records, whichever came first.
 * T1: a message is told once, by its uuid: those of the conversation have one that follows from the session and the record. T2: each run tells `run_start` once, and
 * `run_end` once and last. T3: what goes by, such as a piece of a text, is told as it comes. T4: what the loop tells is told once in its run, messages also where
 * records alone tell of them. T5: of a reply whose beginning was not heard here, no pieces are told: it comes whole. T6: the first message of a run is
 * `system/init`; records have none, so where its worker told nothing of the run it names what the snapshot does.
 */
export class Told {
  readonly #sessionId: string
  readonly #tell: (event: SessionEvent) => void
  readonly #told = new Set<string>()
  /** By scope: the calls that subagents belong to. */
  readonly #parents = new Map<string, string>()
  #runId = ''
  /** The run that is told of, by its worker or by records. */
  #toldRunId = ''
  readonly #snapshot: () => SessionSnapshot
  #unended: EndToTell | undefined
  /** What the loop told of the run that it told of last. */
  readonly #toldOfLoop = new Map<string, number>()
  /** The same, by the worker that is listened to now. */
  readonly #heardNow = new Map<string, number>()
  #runOfLoop = ''
  #isCut = true

  constructor(sessionId: string, tell: (event: SessionEvent) => void, snapshot: () => SessionSnapshot) {
    this.#sessionId = sessionId
    this.#tell = tell
    this.#snapshot = snapshot
  }

  /** What there was before this client came is not told. `runId`: the run that goes on then. */
  begin(runId: string): void {
    this.#runId = runId
    this.#toldRunId = runId
  }

  /** The run that ended on record, and whose result its worker may still tell. */
  get unended(): EndToTell | undefined {
    return this.#unended
  }

  /** The connection to a worker is another one: something may have gone by. */
  cut(): void {
    this.#isCut = true
    this.#heardNow.clear()
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'loop') {
      if (this.#isNewOfLoop(event.event)) this.#tell(event)
      return
    }
    if (event.type === 'run_end' && event.runId === this.#unended?.runId) this.#unended = undefined
    const name = nameOf(event)
    if (name !== undefined && !this.#isNew(name)) return
    if (event.type === 'run_start') this.#toldRunId = event.runId
    if (event.type === 'message') this.#tellBeginning(event.message)
    this.#tell(event)
  }

  #tellBeginning(message: SdkMessage): void {
    if (message.type !== 'assistant' && message.type !== 'user' && message.type !== 'result') return
    const uuid = uuidOf(`${this.#sessionId}/${this.#toldRunId}/init`)
    if (!this.#isNew(uuid)) return
    const { cwd, model, permissionMode } = this.#snapshot()
    this.#tell({
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
          this.#enterLoop(runId)
        } else if (parentCallId !== undefined) this.#parents.set(scope, parentCallId)
        if (scope === '') this.onEvent({ type: 'run_start', runId, ids: idsIn(start.added, ['prompt']) })
        return this.#entries(scope, start.added, 0)
      }
      case 'lap':
        return this.#entries(record.lap.scope, record.lap.added, record.lap.spent.turns)
      case 'end':
        this.#entries(record.scope, record.added, record.spent.turns)
        if (record.scope === '') this.#ended(revivedTerminal(record.terminal))
        return
      case 'intent':
      case 'result':
      case 'control':
      case 'rewind':
      case 'stage':
    }
  }

  #ended(terminal: RunResult): void {
    if (!this.#told.has(`run_end ${this.#runId}`)) this.#unended = { runId: this.#runId, terminal }
  }

  /** The result of the run that ended is had from the records. */
  end(result: SdkResult): void {
    const ended = this.#unended
    if (ended === undefined) return
    this.onEvent({ type: 'message', message: result })
    this.onEvent({ type: 'run_end', ...ended, result })
  }

  #entries(scope: string, entries: readonly Entry[], turn: number): void {
    const parent = this.#parents.get(scope)
    // Whose subagent it is was told before this client came.
    if (scope !== '' && parent === undefined) return
    const translator = createTranslator({
      sessionId: this.#sessionId,
      runId: this.#runId,
      includePartialMessages: false,
      includeHookEvents: false,
    })
    for (const entry of entries) {
      const event = { type: 'message', entry } as const
      const told: RunEvent = parent === undefined ? event : { type: 'agent', callId: parent, agentType: '', event }
      const messages = translator.messages(told)
      // Who works for a call was told by its worker; the call's result tells what came of it.
      if (parent === undefined) this.onEvent({ type: 'loop', event })
      for (const message of messages) this.onEvent({ type: 'message', message })
    }
    const ids = scope === '' ? idsIn(entries, ['steer', 'follow_up']) : []
    for (const id of ids) this.onEvent({ type: 'taken', ids: [id], turn })
  }

  #enterLoop(runId: string): void {
    if (runId === this.#runOfLoop) return
    this.#runOfLoop = runId
    this.#toldOfLoop.clear()
    this.#heardNow.clear()
  }

  #isNewOfLoop(event: RunEvent): boolean {
    if (event.type === 'run_start') this.#enterLoop(event.run.runId)
    if (event.type === 'model_start') this.#isCut = false
    if (event.type === 'model_update') return !this.#isCut
    const name = nameOfLoop(event)
    if (name === undefined) return true
    // What has no name of its own may be told twice, with nothing between to tell them apart.
    const times = name.startsWith('{') ? (this.#heardNow.get(name) ?? 0) + 1 : 1
    this.#heardNow.set(name, times)
    if (times <= (this.#toldOfLoop.get(name) ?? 0)) return false
    this.#toldOfLoop.set(name, times)
    return true
  }

  #isNew(name: string): boolean {
    if (this.#told.has(name)) return false
    this.#told.add(name)
    return true
  }
}

function idsIn(entries: readonly Entry[], origins: readonly string[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.kind === 'user' && origins.includes(entry.origin) && entry.inboxId !== undefined ? [entry.inboxId] : [],
  )
}

/** Under which an event counts once; undefined for what goes by. */
function nameOf(event: SessionEvent): string | undefined {
  switch (event.type) {
    case 'run_start':
    case 'run_end':
      return `${event.type} ${event.runId}`
    case 'message':
      return nameOfMessage(event.message)
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

/** Undefined for what goes by, and for the beginning of a reply: one that is asked for again is another one. */
function nameOfLoop(event: RunEvent): string | undefined {
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
      const name = nameOfLoop(event.event)
      if (name === undefined) return undefined
      return name.startsWith('{') ? JSON.stringify(event) : `agent ${event.callId} ${name}`
    }
    default:
      // A worker that takes the run up tells the same.
      return JSON.stringify(event)
  }
}

function nameOfMessage(message: SdkMessage): string | undefined {
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
      // Numbered in its process: another one may give the same number to another message.
      return `${message.uuid} ${JSON.stringify(message)}`
    case 'prompt_suggestion':
      return `${message.uuid} ${message.suggestion}`
  }
}
