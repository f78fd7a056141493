import type { Attributes } from '@opentelemetry/api'
import type { RunEvent, MessageContent } from '@halting/core'
import { exportedName } from './content.ts'
import { conventionAttributes as genAi, failedStatuses, ownAttributes as own } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>

/** Number of calls to remember: hooks and agents of a call may follow its end. */
const maxRemembered = 100

/** Spans of the tool calls of one run. Services reuse ids; an id means the newest call. */
export class CallTraces {
  readonly #scope: TraceScope
  readonly #isLive: () => boolean
  readonly #calls = new Map<string, TraceNode>()
  /** Calls that started while their message was still streaming. */
  readonly #early = new Set<string>()
  /** Ended calls whose results have not been reported yet, with the time of their end. */
  readonly #ended = new Map<string, { readonly node: TraceNode; readonly at: number }>()

  constructor(scope: TraceScope, isLive: () => boolean) {
    this.#scope = scope
    this.#isLive = isLive
  }

  /** Returns the span of the newest call with this id, even after its end, because its hooks follow. */
  nodeOf(callId: string): TraceNode | undefined {
    return this.#calls.get(callId)
  }

  start({ callId, name, input }: EventOf<'tool_start'>, parent: TraceNode): void {
    const { api, tracing, texts, now } = this.#scope
    const tool = exportedName(name)
    const attributes: Attributes = {
      [genAi.operation]: 'execute_tool',
      [genAi.toolName]: tool,
      [genAi.toolCallId]: exportedName(callId),
    }
    if (texts.wants.toolInputs) attributes[genAi.toolArguments] = texts.json(input)
    const options = { kind: api.SpanKind.INTERNAL, attributes, startTime: now() }
    const node = new TraceNode(tracing, parent, `execute_tool ${tool}`, options)
    this.#over(callId)
    this.#calls.set(callId, node)
    if (this.#early.delete(callId) || this.#isLive()) node.begin()
  }

  /** Ends the previous call with this id. */
  #over(callId: string): void {
    const ended = this.#ended.get(callId)
    ended?.node.end(ended.at)
    this.#ended.delete(callId)
    this.#calls.get(callId)?.abandon(this.#scope.now())
    // Keep the newest call last.
    this.#calls.delete(callId)
  }

  /** Reports that the tool itself runs in this process. */
  running({ callId }: { readonly callId: string }): void {
    const node = this.#calls.get(callId)
    if (node === undefined || node.isEnded || this.#ended.has(callId)) this.#early.add(callId)
    else node.begin()
  }

  end({ callId, name, status, durationMs }: EventOf<'tool_end'>): void {
    const node = this.#calls.get(callId)
    if (node === undefined || this.#ended.has(callId)) return
    // It was lost with its process, which reported no end.
    if (status === 'unknown') node.begin()
    if (!node.isBegun) return
    const { instruments, texts, now } = this.#scope
    const at = now()
    node.set(own.toolStatus[0], status)
    node.set(own.durationMs[0], durationMs)
    if (status !== 'done') node.set(genAi.errorType, status)
    if (failedStatuses.has(status)) node.fail()
    instruments?.tool(name, status, durationMs / 1000)
    if (texts.wants.toolResults) this.#ended.set(callId, { node, at })
    else node.end(at)
  }

  results(content: MessageContent): void {
    if (typeof content === 'string') return
    for (const block of content) {
      if (block.type !== 'tool_result' || !('tool_use_id' in block) || typeof block.tool_use_id !== 'string') continue
      const ended = this.#ended.get(block.tool_use_id)
      ended?.node.set(genAi.toolResult, this.#scope.texts.result('content' in block ? block.content : ''))
    }
  }

  /** Ends the spans of all ended calls. */
  flush(): void {
    for (const { node, at } of this.#ended.values()) node.end(at)
    this.#ended.clear()
    this.#early.clear()
    this.#forget()
  }

  /** Forgets old calls: a run may last for days, and later events do not refer to the oldest ended calls. */
  #forget(): void {
    if (this.#calls.size <= 2 * maxRemembered) return
    let left = this.#calls.size - maxRemembered
    for (const [callId, node] of this.#calls) {
      if (left-- <= 0) return
      if (node.isEnded || !node.isBegun) this.#calls.delete(callId)
    }
  }

  close(at: number): void {
    this.flush()
    for (const node of this.#calls.values()) node.abandon(at)
    this.#calls.clear()
    this.#early.clear()
  }
}
