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

/** What a client knows of a call. */
interface ReportedCall {
  readonly name: string
  readonly input: unknown
  readonly view: ToolView
  /** Undefined for a call of the session itself. */
  readonly agent: CallingAgent | undefined
}

interface OpenCall extends ReportedCall {
  readonly status: 'pending' | 'in_progress'
}

/** A call that is over, and whose result the model does not have yet. */
interface EndedCall extends ReportedCall {
  readonly status: 'completed' | 'failed'
}

/** Who makes a call, where that is an agent. */
export interface CallingAgent {
  readonly agentType: string
  /** The call that it does. */
  readonly callId: string
}

/**
 * The calls of tools as a client is told of them.
 *
 * C1: a call is told once, before anything about it. C2: a call that was told ends as completed or failed, whatever becomes of the run (`closeAll`).
 * C3: what has ended does not begin again. C4: one update ends a call, with its status and its result.
 */
export class CallUpdates {
  readonly #cwd: string
  readonly #redact: (text: string) => string
  readonly #planWith: (todos: readonly PlanEntry[]) => SessionUpdate
  readonly #open = new Map<string, OpenCall>()
  readonly #ended = new Map<string, EndedCall>()

  /** @param redact Takes secrets out of what a call is shown by, before a title or a text is cut within one. */
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

  /** The model asks for it. */
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
        name: oneLine(name, longestName),
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

  /** The task list of the session is the plan that editors show, each time all of it; an agent has a list of its own, which is not shown. */
  #planOf(todos: readonly TodoItem[] | undefined): readonly SessionUpdate[] {
    if (todos === undefined) return []
    const entries = todos.map(({ content, status }) => ({
      content: oneLine(content, longestEntry),
      priority: 'medium' as const,
      status,
    }))
    return [this.#planWith(entries)]
  }

  /** It runs, by this input: where a hook or a person changed what the model wrote, that is told. */
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

  /** It runs, and reports for what it waits, or the end of its output (`tail`): shown below what the call was shown by, until its result takes the place of both. */
  progress(id: string, data: unknown): readonly SessionUpdate[] {
    const open = this.#open.get(id)
    if (open?.status !== 'in_progress') return []
    const wait = toolWaitIn(data)
    if (wait !== undefined) {
      const title = oneLine(`${open.view.title} (${toolWaitText(wait, Date.now())})`, longestEntry)
      return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress', title }]
    }
    const { tail } = fieldsOf(data)
    if (typeof tail !== 'string' || tail === '') return []
    const content = [...open.view.content, textContent(fenced(tail))]
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, content, _meta: { [liveOutput]: true } }]
  }

  /** It is over. That is sent with its result, which follows when all calls of the message are over. */
  end(id: string, status: ToolStatus): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    this.#ended.set(id, { ...open, status: status === 'done' ? 'completed' : 'failed' })
  }

  /** What the model is told of it. */
  result(id: string, content: MessageContent, isError: boolean, details?: unknown): readonly SessionUpdate[] {
    this.end(id, isError ? 'failed' : 'done')
    const call = this.#ended.get(id)
    if (call === undefined) return []
    // It is told of once.
    this.#ended.delete(id)
    const { name, view, status, agent } = call
    const shown = isError
      ? { content: resultContent(name, content) }
      : resultViewOf({ name, title: view.title, content, details }, this.#cwd)
    const fields = Object.fromEntries(Object.entries(shown).filter(([, value]) => value.length > 0))
    // The input of TodoWrite was the plan already.
    const isPlan = !isError && agent === undefined && name !== 'TodoWrite'
    const todos = isPlan ? todosAfter(name, details) : undefined
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status, ...fields }, ...this.#planOf(todos)]
  }

  /** Every call that was told and has not ended has failed. */
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

/** More nobody reads in a list. */
const longestEntry = 500
const longestName = 100
