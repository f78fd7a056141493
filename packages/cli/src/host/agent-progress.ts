import { randomUUID } from 'node:crypto'
import { agentSummaryIn } from '@halting/agent/after'
import type { JsonObject, RunEvent } from '@halting/core'
import { totalTokensOf } from '@halting/core/adapters'

type AgentEvent = Extract<RunEvent, { readonly type: 'agent' }>

interface Working {
  tokens: number
  calls: number
  lastTool: string | undefined
  beganMs: number | undefined
  ms: number
}

/** How far subagents are, by what the loop tells of them: a line after each call, and after each summary (spec R-HOST-16). */
export class AgentProgress {
  readonly #working = new Map<string, Working>()
  /** Ids of tasks in the background, by the call that began them. */
  readonly #tasks = new Map<string, string>()

  /** The lines that an event makes. */
  hear(event: RunEvent, sessionId: string): readonly JsonObject[] {
    if (event.type === 'message') this.#note(event)
    return event.type === 'agent' ? this.#hearAgent(event, sessionId) : []
  }

  #note({ entry }: Extract<RunEvent, { readonly type: 'message' }>): void {
    const notes = entry.kind === 'user' || entry.kind === 'attachment' ? (entry.tasks ?? []) : []
    for (const note of notes)
      if (note.type === 'started' && note.callId !== undefined) this.#tasks.set(note.callId, note.id)
  }

  #hearAgent(event: AgentEvent, sessionId: string): readonly JsonObject[] {
    const { callId, event: told } = event
    const now = this.#workingOf(callId)
    switch (told.type) {
      case 'agent':
        return this.#hearAgent(told, sessionId)
      case 'figures':
        now.beganMs ??= told.usedMs
        now.ms = told.usedMs - now.beganMs
        return []
      case 'model_end':
        if (told.usage !== null) now.tokens += totalTokensOf(told.usage)
        return []
      case 'tool_end':
        now.calls++
        now.lastTool = told.name
        return this.#line(event, now, sessionId)
      case 'hook_end': {
        const summary = agentSummaryIn(told)
        return summary === undefined ? [] : this.#line(event, now, sessionId, summary)
      }
      case 'run_end':
        this.#working.delete(callId)
        return []
      default:
        return []
    }
  }

  #workingOf(callId: string): Working {
    const known = this.#working.get(callId)
    if (known !== undefined) return known
    const made: Working = { tokens: 0, calls: 0, lastTool: undefined, beganMs: undefined, ms: 0 }
    this.#working.set(callId, made)
    return made
  }

  #line(
    { callId, agentType, description = agentType, inBackground }: AgentEvent,
    { tokens, calls, lastTool, ms }: Working,
    sessionId: string,
    summary?: string,
  ): readonly JsonObject[] {
    // One in the background is known by an id of its own, from the moment at which that was told.
    const taskId = inBackground === true ? this.#tasks.get(callId) : callId
    if (taskId === undefined) return []
    return [
      {
        type: 'system',
        subtype: 'task_progress',
        task_id: taskId,
        tool_use_id: callId,
        description,
        subagent_type: agentType,
        usage: { total_tokens: tokens, tool_uses: calls, duration_ms: Math.round(ms) },
        ...(lastTool !== undefined && { last_tool_name: lastTool }),
        ...(summary !== undefined && { summary }),
        uuid: randomUUID(),
        session_id: sessionId,
      },
    ]
  }
}
