import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk'
import type { MessageContent, ToolStatus } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { fieldsOf } from './fields.ts'
import { shownBlock } from './prompt-content.ts'
import { toolViewOf } from './tool-view.ts'

interface OpenCall {
  readonly name: string
  /** It has a diff, which says more than the text of its result. */
  readonly hasDiff: boolean
  status: 'pending' | 'in_progress'
}

/** Text of one result; a client shows it beside the call, and the model has all of it. */
const mostCharacters = 20_000

/**
 * The calls of tools as a client is told of them.
 *
 * C1: a call is told once, before anything about it. C2: a call that was told ends as completed or failed, whatever becomes of the run (`closeAll`).
 * C3: what has ended does not begin again.
 */
export class CallUpdates {
  readonly #cwd: string
  readonly #open = new Map<string, OpenCall>()
  readonly #ended = new Map<string, { readonly hasDiff: boolean }>()

  constructor(cwd: string) {
    this.#cwd = cwd
  }

  isOpen(id: string): boolean {
    return this.#open.has(id)
  }

  /** The model asks for it. */
  announce(id: string, name: string, input: unknown, status: OpenCall['status'] = 'pending'): readonly SessionUpdate[] {
    if (this.#open.has(id) || this.#ended.has(id)) return []
    const { title, kind, locations, content } = toolViewOf(name, input, this.#cwd)
    this.#open.set(id, { name, status, hasDiff: content.some(({ type }) => type === 'diff') })
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId: id,
        title,
        name,
        kind,
        status,
        ...(locations.length > 0 && { locations }),
        ...(content.length > 0 && { content }),
        rawInput: input ?? {},
      },
      ...planOf(name, input),
    ]
  }

  /** It runs, by this input: a hook or a person may have changed what the model wrote. */
  start(id: string, name: string, input: unknown): readonly SessionUpdate[] {
    const open = this.#open.get(id)
    if (open === undefined) return this.announce(id, name, input, 'in_progress')
    if (open.status === 'in_progress') return []
    open.status = 'in_progress'
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' }]
  }

  end(id: string, status: ToolStatus): readonly SessionUpdate[] {
    const open = this.#open.get(id)
    if (open === undefined) return []
    this.#open.delete(id)
    this.#ended.set(id, open)
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: status === 'done' ? 'completed' : 'failed' }]
  }

  /** What the model is told of it. */
  result(id: string, content: MessageContent, isError: boolean, details?: unknown): readonly SessionUpdate[] {
    const call = this.#open.get(id) ?? this.#ended.get(id)
    if (call === undefined) return []
    const ending = this.#open.has(id) ? this.end(id, isError ? 'failed' : 'done') : []
    // It is told of once.
    this.#ended.delete(id)
    if (call.hasDiff && !isError) return [...ending, ...changedAt(id, details)]
    const shown = shownResult(content)
    if (shown.length === 0) return ending
    return [...ending, { sessionUpdate: 'tool_call_update', toolCallId: id, content: shown }]
  }

  /** Every call that was told and has not ended has failed. */
  closeAll(because: string): readonly SessionUpdate[] {
    const updates = [...this.#open.keys()].flatMap((id): readonly SessionUpdate[] => [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: id,
        status: 'failed',
        content: [{ type: 'content', content: { type: 'text', text: because } }],
      },
    ])
    this.#open.clear()
    this.#ended.clear()
    return updates
  }
}

/** Where a change begins: an editor that follows goes there. */
function changedAt(toolCallId: string, details: unknown): readonly SessionUpdate[] {
  const { filePath, structuredPatch } = fieldsOf(details)
  const { newStart, lines } = fieldsOf(Array.isArray(structuredPatch) ? structuredPatch[0] : undefined)
  if (typeof filePath !== 'string' || typeof newStart !== 'number' || newStart < 1) return []
  // A patch begins with lines that stay.
  const same = Array.isArray(lines) ? lines.findIndex((line) => typeof line === 'string' && !line.startsWith(' ')) : 0
  const line = newStart + Math.max(0, same)
  return [{ sessionUpdate: 'tool_call_update', toolCallId, locations: [{ path: filePath, line }] }]
}

function shownResult(content: MessageContent): ToolCallContent[] {
  const blocks = typeof content === 'string' ? shownBlock({ type: 'text', text: content }) : content.flatMap(shownBlock)
  return blocks.map((block) => ({
    type: 'content',
    content: block.type === 'text' ? { ...block, text: bounded(block.text) } : block,
  }))
}

function bounded(text: string): string {
  if (text.length <= mostCharacters) return text
  return `${headOf(text, mostCharacters)}\n[... ${text.length - mostCharacters} characters more, which the model has]`
}

/** The list of things to do is the plan that editors show; each time all of it. */
function planOf(name: string, input: unknown): readonly SessionUpdate[] {
  const todos =
    name === 'TodoWrite' && typeof input === 'object' && input !== null && 'todos' in input ? input.todos : undefined
  if (!Array.isArray(todos)) return []
  const entries = todos.flatMap((todo: unknown) => {
    if (typeof todo !== 'object' || todo === null || !('content' in todo) || typeof todo.content !== 'string') return []
    const status = 'status' in todo ? statuses.find((known) => known === todo.status) : undefined
    return [{ content: todo.content, priority: 'medium' as const, status: status ?? 'pending' }]
  })
  return [{ sessionUpdate: 'plan', entries }]
}

const statuses = ['pending', 'in_progress', 'completed'] as const
