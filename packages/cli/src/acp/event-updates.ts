import type { ClientCapabilities, SessionUpdate } from '@agentclientprotocol/sdk'
import type { SessionEvent, SessionSnapshot } from '@halting/agent/session'
import type { LoopEvent, Terminal } from '@halting/core'
import { isToolResult, isToolUse, messageOf } from '@halting/core/adapters'
import { elapsed, oneLine } from '../io/figures.ts'
import { CallUpdates } from './call-updates.ts'
import { ReplyText } from './reply-text.ts'
import { usageUpdate } from './limits-view.ts'
import { sentenceOf, type Severity, severityOf } from './stop-reason.ts'

/** What of a client decides how it is told something. */
export interface ShownBy {
  readonly notices: boolean
  readonly compaction: boolean
}

export function shownBy(capabilities: ClientCapabilities | undefined): ShownBy {
  return {
    notices: (capabilities?.session?.notices ?? undefined) !== undefined,
    compaction: (capabilities?.session?.compaction ?? undefined) !== undefined,
  }
}

/** Makes of what a session tells what a client is told (spec R-ACP-3). The one writer of updates of a session that is at work. */
export class EventUpdates {
  readonly #by: ShownBy
  readonly #snapshot: () => SessionSnapshot
  readonly #calls: CallUpdates
  readonly #reply = new ReplyText()
  /** The calls of agents by the name under which these ask. */
  readonly #callOf = new Map<string, string>()
  #notes = 0
  #compactions = 0

  constructor(by: ShownBy, cwd: string, snapshot: () => SessionSnapshot) {
    this.#by = by
    this.#snapshot = snapshot
    this.#calls = new CallUpdates(cwd)
  }

  of(event: SessionEvent): readonly SessionUpdate[] {
    switch (event.type) {
      case 'loop':
        return this.#ofLoop(event.event, '')
      case 'note':
        return this.note('info', event.text)
      case 'run_end':
        return this.#ending(event.terminal)
      case 'failed':
        if (event.isAfterRun === true) return this.note('warning', messageOf(event.error))
        return this.#calls.closeAll('The run ended before this call did.')
      case 'closed':
        return this.#calls.closeAll('The run ended before this call did.')
      case 'run_start':
      case 'message':
      case 'taken':
      case 'question':
      case 'question_closed':
      case 'changed':
        return []
    }
  }

  /** A call that a person is asked about. A subagent's own name is known by nobody but here: it is told before. */
  asked(
    callId: string,
    agentId: string | undefined,
    name: string,
    input: unknown,
  ): { readonly id: string; readonly updates: readonly SessionUpdate[] } {
    const id = agentId === undefined ? callId : callOfAgent(this.#callOf.get(agentId) ?? agentId, callId)
    return { id, updates: this.#calls.announce(id, name, input) }
  }

  /** What a person should know: a notice where the client shows those, else a message that it always shows. */
  note(severity: Severity, text: string): readonly SessionUpdate[] {
    const title = oneLine(text, 1_000)
    if (title === '') return []
    if (this.#by.notices) return [{ sessionUpdate: 'notice', severity, title }]
    this.#notes += 1
    const content = { type: 'text', text: `\n\n${title}\n\n` } as const
    return [{ sessionUpdate: 'agent_message_chunk', content, messageId: `halting-note-${this.#notes}` }]
  }

  #ofLoop(event: LoopEvent, prefix: string): readonly SessionUpdate[] {
    const isMain = prefix === ''
    switch (event.type) {
      case 'model_update': {
        if (!isMain) return []
        const { update } = event
        // A complete block stands as it was told.
        if (update.type === 'block' && isToolUse(update.block))
          return this.#calls.announce(update.block.id, update.block.name, update.block.input)
        return this.#reply.update(event)
      }
      case 'model_end':
        return [usageUpdate(this.#snapshot())]
      case 'retry': {
        const hadText = isMain && this.#reply.retry()
        if (!hadText && !this.#by.notices) return []
        const { attempt, maxRetries, delayMs, error } = event
        const again = `asked again in ${elapsed(delayMs)} (retry ${attempt} of ${maxRetries})`
        return this.note('warning', `The reply broke off: ${error.message} It is ${again}.`)
      }
      case 'message':
        return this.#ofEntry(event.entry, prefix)
      case 'tool_start':
        return this.#calls.start(prefix + event.callId, event.name, event.input)
      case 'tool_end':
        return this.#calls.end(prefix + event.callId, event.status)
      case 'run_start':
        if (!isMain) this.#callOf.set(event.run.agentId ?? event.run.agentPath, prefix.slice(0, -1))
        return []
      case 'agent':
        return this.#ofLoop(event.event, `${callOfAgent(prefix === '' ? '' : prefix.slice(0, -1), event.callId)}/`)
      case 'notice':
        return this.note('info', event.message)
      case 'lap':
        // How often it may still happen is what a person wants to know of a recovery.
        if (event.transition === 'next_turn' || event.transition === 'user_input' || !this.#by.notices) return []
        return this.note(
          'info',
          `Goes on: ${event.transition.replaceAll('_', ' ')} (${event.left[event.transition]} left).`,
        )
      case 'compact_start':
        return isMain ? this.#compactionBegins() : []
      case 'compact_end':
        return isMain ? this.#compactionEnds(event) : []
      case 'run_end':
      case 'turn_start':
      case 'model_start':
      case 'figures':
      case 'context':
      case 'results_cleared':
      case 'tool_update':
      case 'permission_denied':
      case 'approval_needed':
      case 'hook_start':
      case 'hook_end':
      case 'signal':
      case 'signals_overridden':
      case 'token_budget':
      case 'guards':
      case 'settings':
      case 'background':
        return []
    }
  }

  #ofEntry(entry: Extract<LoopEvent, { readonly type: 'message' }>['entry'], prefix: string): readonly SessionUpdate[] {
    if (entry.kind === 'assistant') {
      const { content } = entry.message
      const told = prefix === '' ? this.#reply.message(entry.id, content) : []
      const calls = content.filter(isToolUse)
      return [...told, ...calls.flatMap(({ id, name, input }) => this.#calls.announce(prefix + id, name, input))]
    }
    if (entry.kind !== 'user' || typeof entry.message.content === 'string') return []
    return entry.message.content
      .filter(isToolResult)
      .flatMap(({ tool_use_id: id, content, is_error: isError }) =>
        this.#calls.result(prefix + id, content, isError === true, entry.details?.[id]),
      )
  }

  #compactionBegins(): readonly SessionUpdate[] {
    this.#compactions += 1
    if (!this.#by.compaction) return this.#by.notices ? this.note('info', 'The conversation is made shorter.') : []
    return [{ sessionUpdate: 'compaction_update', compactionId: this.#compactionId, status: 'in_progress' }]
  }

  #compactionEnds({
    compacted,
    message,
  }: Extract<LoopEvent, { readonly type: 'compact_end' }>): readonly SessionUpdate[] {
    if (!this.#by.compaction) return this.note(compacted ? 'info' : 'warning', message)
    const compactionId = this.#compactionId
    if (compacted) return [{ sessionUpdate: 'compaction_update', compactionId, status: 'completed' }]
    return [{ sessionUpdate: 'compaction_update', compactionId, status: 'failed', error: message }]
  }

  get #compactionId(): string {
    return `compaction-${this.#compactions}`
  }

  #ending(terminal: Terminal): readonly SessionUpdate[] {
    const closed = this.#calls.closeAll(`It did not run to its end: ${terminal.reason}.`)
    const severity = severityOf(terminal)
    return severity === undefined ? closed : [...closed, ...this.note(severity, sentenceOf(terminal))]
  }
}

/** Calls of agents have names of their own, which may be those of other calls. */
function callOfAgent(parent: string, callId: string): string {
  return parent === '' ? callId : `${parent}/${callId}`
}
