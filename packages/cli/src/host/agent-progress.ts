import { randomUUID } from 'node:crypto'
import { agentSummaryIn } from '@halting/agent/after'
import type { JsonObject, RunEvent } from '@halting/core'
import { totalTokensOf } from '@halting/core/adapters'

type AgentEvent = Extract<RunEvent, { readonly type: 'agent' }>

interface Progress {
  tokens: number
  calls: number
  lastTool: string | undefined
  beganMs: number | undefined
  ms: number
}

/** Reports the progress of subagents to the host: one line after each of their calls, and after each summary (spec R-HOST-16). */
export class AgentProgress {
  readonly #agents = new Map<string, Progress>()
  /** Ids of background tasks, by the call that started them. */
  readonly #tasks = new Map<string, string>()

  /** The lines to write for an event. */
  linesFor(event: RunEvent, sessionId: string): readonly JsonObject[] {
    if (event.type === 'message') this.#noteTasks(event)
    return event.type === 'agent' ? this.#agentLines(event, sessionId) : []
  }

  #noteTasks({ entry }: Extract<RunEvent, { readonly type: 'message' }>): void {
    const notes = entry.kind === 'user' || entry.kind === 'attachment' ? (entry.tasks ?? []) : []
    for (const note of notes)
      if (note.type === 'started' && note.callId !== undefined) this.#tasks.set(note.callId, note.id)
  }

  #agentLines(event: AgentEvent, sessionId: string): readonly JsonObject[] {
    const { callId, event: agentEvent } = event
    const now = this.#progressOf(callId)
    switch (agentEvent.type) {
      case 'agent':
        return this.#agentLines(agentEvent, sessionId)
      case 'figures':
        now.beganMs ??= agentEvent.usedMs
        now.ms = agentEvent.usedMs - now.beganMs
        return []
      case 'model_end':
        if (agentEvent.usage !== null) now.tokens += totalTokensOf(agentEvent.usage)
        return []
      case 'tool_end':
        now.calls++
        now.lastTool = agentEvent.name
        return this.#progressLine(event, now, sessionId)
      case 'hook_end': {
        const summary = agentSummaryIn(agentEvent)
        return summary === undefined ? [] : this.#progressLine(event, now, sessionId, summary)
      }
      case 'run_end':
        this.#agents.delete(callId)
        return []
      default:
        return []
    }
  }

  #progressOf(callId: string): Progress {
    const known = this.#agents.get(callId)
    if (known !== undefined) return known
    const created: Progress = { tokens: 0, calls: 0, lastTool: undefined, beganMs: undefined, ms: 0 }
    this.#agents.set(callId, created)
    return created
  }

  #progressLine(
    { callId, agentType, description = agentType, inBackground }: AgentEvent,
    { tokens, calls, lastTool, ms }: Progress,
    sessionId: string,
    summary?: string,
  ): readonly JsonObject[] {
    // A background agent has a task id of its own, from the moment it was reported.
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
