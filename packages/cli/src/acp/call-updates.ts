import { isDeepStrictEqual } from 'node:util'
import type { PlanEntry, SessionUpdate } from '@agentclientprotocol/sdk'
import { redactedValue } from '@halting/agent'
import type { MessageContent, ToolStatus } from '@halting/core'
import { oneLine } from '../io/figures.ts'
import { todosAfter, todosOf, type TodoItem } from '../frontends/todos.ts'
import { toolWaitIn, toolWaitText } from '../frontends/wait-text.ts'
import { fieldsOf } from './fields.ts'
import { liveOutput } from './outbox.ts'
import { resultViewOf, resultContent } from './result-view.ts'
import { fenced, textContent, type ToolView, toolViewOf } from './tool-view.ts'

/** A call as the client knows it. */
interface ReportedCall {
  readonly name: string
  readonly input: unknown
  readonly view: ToolView
  /** The agent that makes the call; undefined for a call of the main conversation. */
  readonly agent: CallingAgent | undefined
}

interface OpenCall extends ReportedCall {
  readonly status: 'pending' | 'in_progress'
}

/** A call that has ended, and whose result was not sent yet. */
interface EndedCall extends ReportedCall {
  readonly status: 'completed' | 'failed'
}

/** The subagent that makes a call. */
export interface CallingAgent {
  readonly agentType: string
  /** The call that started the subagent. */
  readonly callId: string
}

/**
 * Reports tool calls to a client.
 *
 * C1: a call is announced once, before anything else about it. C2: an announced call ends as completed or failed, whatever happens to the run
 * (`closeAll`).
 * C3: an ended call does not start again. C4: one update ends a call, with its status and result.
 */
export class CallUpdates {
  readonly #cwd: string
  readonly #redact: (text: string) => string
  readonly #planWith: (todos: readonly PlanEntry[]) => SessionUpdate
  readonly #open = new Map<string, OpenCall>()
  readonly #ended = new Map<string, EndedCall>()

  /** @param redact Removes secrets before titles and texts are truncated. */
  constructor(
    cwd: string,
    redact: (text: string) => string = (text) => text,
    planWith: (todos: readonly PlanEntry[]) => SessionUpdate = (entries) => ({
      sessionUpdate: 'plan',
      entries: [...entries],
    }),
  ) {
    this.#cwd = cwd
    this.#redact = redact
    this.#planWith = planWith
  }

  /** What an editor shows of a call before it has a result. */
  viewOf(name: string, input: unknown, agent?: CallingAgent): ToolView {
    const view = toolViewOf(name, redactedValue(input, this.#redact), this.#cwd)
    return agent === undefined ? view : { ...view, title: `${agent.agentType} › ${view.title}` }
  }

  /** Reports a call that the model requests. */
  announce(id: string, name: string, input: unknown, agent?: CallingAgent): readonly SessionUpdate[] {
    return this.#announce({ id, name, input, agent, status: 'pending' })
  }

  #announce({ id, name, input, agent, status }: Announcement): readonly SessionUpdate[] {
    if (this.#open.has(id) || this.#ended.has(id)) return []
    const view = this.viewOf(name, input, agent)
    const { title, kind, locations, content } = view
    this.#open.set(id, { name, input, status, view, agent })
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId: id,
        title,
        name: oneLine(name, maxNameLength),
        kind,
        status,
        ...(locations.length > 0 && { locations }),
        ...(content.length > 0 && { content }),
        rawInput: input ?? {},
        ...(agent !== undefined && { _meta: { 'halting/agent': agent } }),
      },
      ...this.#planOf(agent === undefined && name === 'TodoWrite' ? todosOf(input) : undefined),
    ]
  }

  /** The task list of the session as the plan that editors show; each update has the complete list. The list of a subagent is not shown. */
  #planOf(todos: readonly TodoItem[] | undefined): readonly SessionUpdate[] {
    if (todos === undefined) return []
    const entries = todos.map(({ content, status }) => ({
      content: oneLine(content, maxEntryLength),
      priority: 'medium' as const,
      status,
    }))
    return [this.#planWith(entries)]
  }

  /** Reports that the call runs with this input. Sends the input if a hook or a person changed it. */
  start(id: string, name: string, input: unknown, agent?: CallingAgent): readonly SessionUpdate[] {
    const open = this.#open.get(id)
    if (open === undefined) return this.#announce({ id, name, input, agent, status: 'in_progress' })
    if (open.status === 'in_progress') return []
    const view = this.viewOf(name, input, agent)
    this.#open.set(id, { name, input, status: 'in_progress', view, agent })
    const isChanged = !isDeepStrictEqual(open.input, input)
    const { title, locations, content } = view
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: id,
        status: 'in_progress',
        ...(isChanged && { title, locations, content, rawInput: input ?? {} }),
      },
      ...(isChanged && agent === undefined && name === 'TodoWrite' ? this.#planOf(todosOf(input)) : []),
    ]
  }

  /** Reports what a running call waits for, or the end of its output (`tail`). The output is shown below the call until the result replaces both. */
  progress(id: string, data: unknown): readonly SessionUpdate[] {
    const open = this.#open.get(id)
    if (open?.status !== 'in_progress') return []
    const wait = toolWaitIn(data)
    if (wait !== undefined) {
      const title = oneLine(`${open.view.title} (${toolWaitText(wait, Date.now())})`, maxEntryLength)
      return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress', title }]
    }
    const { tail } = fieldsOf(data)
    if (typeof tail !== 'string' || tail === '') return []
    const content = [...open.view.content, textContent(fenced(tail))]
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, content, _meta: { [liveOutput]: true } }]
  }

  /** Records that the call has ended. The end is sent with the result, which follows when all calls of the message have ended. */
  end(id: string, status: ToolStatus): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    this.#ended.set(id, { ...open, status: status === 'done' ? 'completed' : 'failed' })
  }

  /** Sends the result that the model receives. */
  result(id: string, content: MessageContent, isError: boolean, details?: unknown): readonly SessionUpdate[] {
    this.end(id, isError ? 'failed' : 'done')
    const call = this.#ended.get(id)
    if (call === undefined) return []
    // Removed, so that the result is sent only once.
    this.#ended.delete(id)
    const { name, view, status, agent } = call
    const resultView = isError
      ? { content: resultContent(name, content) }
      : resultViewOf({ name, title: view.title, content, details }, this.#cwd)
    const fields = Object.fromEntries(Object.entries(resultView).filter(([, value]) => value.length > 0))
    // The input of TodoWrite was already sent as the plan.
    const isPlan = !isError && agent === undefined && name !== 'TodoWrite'
    const todos = isPlan ? todosAfter(name, details) : undefined
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status, ...fields }, ...this.#planOf(todos)]
  }

  /** Ends every announced call that has not ended, as failed. */
  closeAll(because: string): readonly SessionUpdate[] {
    const ended = [...this.#ended].map(([toolCallId, { status }]) => ({ toolCallId, status }))
    const open = [...this.#open.keys()].map((toolCallId) => ({
      toolCallId,
      status: 'failed' as const,
      content: [textContent(because)],
    }))
    const updates = [...ended, ...open].map((update) => ({ sessionUpdate: 'tool_call_update' as const, ...update }))
    this.#open.clear()
    this.#ended.clear()
    return updates
  }
}

interface Announcement {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly agent: CallingAgent | undefined
  readonly status: OpenCall['status']
}

/** Maximum length of an entry; longer ones are truncated. */
const maxEntryLength = 500
const maxNameLength = 100
