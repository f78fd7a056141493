import type { EndingReason } from '../endings/ending.ts'
import { endings } from '../endings/table.ts'
import type { RunEvent } from '../state/events.ts'
import { textOf, type AssistantMessage, type ContentBlock, type ToolResultBlock } from '../model/messages.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'
import type { ErrorText } from './error-text.ts'
import { setEventId } from './event-ids.ts'
import { chunksOfBlock, LiveReply } from './reply-chunks.ts'
import type { AgentActivity, HaltingDataParts, UIMessageChunk } from './ui-message-chunk.ts'

export interface UITranslatorOptions {
  /** Id of the message. Default: the id of the run. */
  readonly messageId?: string | undefined
  readonly sendReasoning: boolean
  /** The client already has the message: calls of earlier runs are parts of it. */
  readonly continuesMessage: boolean
  readonly errorText: ErrorText
}

/** A chunk with its position, for reconnecting clients. */
export interface PositionedChunk {
  readonly chunk: UIMessageChunk
  readonly runId: string
  /** The number of the last chunk derived from the record alone, including this one. */
  readonly step: number
  /** 0 for a chunk derived from the record alone. */
  readonly part: number
  /** The chunk belongs to a turn that was open when its process ended, so clients may have received something else for it. */
  readonly isRepeated: boolean
}

/**
 * Converts the events of one run to UI message chunks. U1: the chunks with `part` 0 are the same, in the same order,
 * with or without live events. U2: clients that have read up to such a chunk have the same message, however the
 * preceding texts arrived. U3: a text that is not part of the conversation, such as that of a failed attempt, is
 * retracted by `reset-step`.
 */
export class UITranslator {
  readonly #options: UITranslatorOptions
  #runId = ''
  #step = 0
  #part = 0
  #isStepOpen = false
  #isRepeated = false
  /**
   * The last chunk before a step in which nothing is visible yet. Readers store a message when they render something
   * new, so a client that disconnects at this point does not have the beginning of the step.
   */
  #lastVisibleStep: number | undefined
  #live: LiveReply | undefined
  readonly #calls = new Set<string>()
  readonly #answered = new Set<string>()
  readonly #asked = new Set<string>()

  constructor(options: UITranslatorOptions) {
    this.#options = options
  }

  take(event: RunEvent): readonly PositionedChunk[] {
    switch (event.type) {
      case 'run_start':
        return this.#start(event)
      case 'turn_start':
        return [...this.#endStep(), ...this.#beginStep()]
      case 'model_start':
        return this.#retract()
      case 'model_update': {
        this.#live ??= new LiveReply(event.entryId, this.#options.sendReasoning)
        return this.#live.take(event.update).map((chunk) => this.#uncounted(chunk))
      }
      case 'message':
        return this.#entry(event.entry)
      case 'tool_start':
        return this.#announceEarlierCall(event)
      case 'approval_needed':
        return this.#approval(event)
      case 'tool_end':
        return this.#output(event.callId, event.output, event.isError, event.status === 'denied')
      case 'tool_update': {
        const { callId: toolCallId, name: toolName, data } = event
        return [this.#transient('data-halting-progress', { toolCallId, toolName, data })]
      }
      case 'figures': {
        const { type: _, ...figures } = event
        return [this.#transient('data-halting-figures', figures)]
      }
      case 'notice':
        return [this.#transient('data-halting-notice', { message: event.message })]
      case 'agent': {
        const { callId: toolCallId, agentType } = event
        const activity = activityOf(event.event)
        return activity === undefined
          ? []
          : [this.#transient('data-halting-agent', { toolCallId, agentType, activity })]
      }
      case 'lap': {
        const end = this.#endStep()
        this.#isRepeated = false
        return end
      }
      case 'run_end':
        return this.#end(event)
      default:
        return []
    }
  }

  #start({ run, isResumed }: Extract<RunEvent, { readonly type: 'run_start' }>): readonly PositionedChunk[] {
    this.#isRepeated = isResumed === true
    // A process that resumes the run reports its start again.
    if (this.#step > 0) return []
    this.#runId = run.runId
    return [this.#counted({ type: 'start', messageId: this.#options.messageId ?? run.runId })]
  }

  #beginStep(): readonly PositionedChunk[] {
    this.#isStepOpen = true
    this.#live = undefined
    return [this.#counted({ type: 'start-step' })]
  }

  #endStep(): readonly PositionedChunk[] {
    if (!this.#isStepOpen) return []
    this.#isStepOpen = false
    const retraction = this.#retract()
    return [...retraction, this.#counted({ type: 'finish-step' })]
  }

  /** U3: no part of the streaming reply became part of the conversation. */
  #retract(): readonly PositionedChunk[] {
    const live = this.#live
    this.#live = undefined
    return live === undefined || live.isEmpty ? [] : [this.#uncounted({ type: 'reset-step' })]
  }

  #entry(entry: TranscriptEntry): readonly PositionedChunk[] {
    if (entry.kind === 'assistant')
      // A message about a failure is for people. It is omitted, since the ending contains it.
      return entry.error === undefined ? this.#reply(entry.id, entry.message) : []
    if (entry.kind !== 'user') return []
    const { content } = entry.message
    if (entry.origin === 'tool_results' && typeof content !== 'string')
      return content
        .filter(isResult)
        .flatMap((block) => this.#output(block.tool_use_id, block.content, block.is_error === true, false))
    if (entry.origin !== 'steer' && entry.origin !== 'follow_up') return []
    return [
      this.#counted({
        type: 'data-halting-message',
        id: entry.id,
        data: { messageId: entry.id, text: textOf(content) },
      }),
    ]
  }

  #reply(entryId: string, message: AssistantMessage): readonly PositionedChunk[] {
    const { content } = message
    const live = this.#live
    this.#live = undefined
    const sent: PositionedChunk[] = []
    if (live === undefined || !live.isWhole(content)) {
      if (live?.isEmpty === false) sent.push(this.#uncounted({ type: 'reset-step' }))
      for (const [index, block] of content.entries()) {
        const chunks = chunksOfBlock(block, `${entryId}:${index}`, this.#options.sendReasoning)
        sent.push(...chunks.map((chunk) => this.#uncounted(chunk)))
      }
    }
    for (const block of content) if (block.type === 'tool_use' && 'id' in block) this.#calls.add(block.id)
    const { model, usage, stop_reason: stopReason } = message
    const data = { messageId: entryId, model, usage, stopReason }
    return [...sent, this.#counted({ type: 'data-halting-reply', data, transient: true })]
  }

  /** Announces a call of an earlier run: a client that does not continue the message of that run has no part for the call. */
  #announceEarlierCall({
    callId,
    name,
    input,
  }: Extract<RunEvent, { readonly type: 'tool_start' }>): readonly PositionedChunk[] {
    if (this.#calls.has(callId)) return []
    this.#calls.add(callId)
    if (this.#options.continuesMessage) return []
    return [this.#counted({ type: 'tool-input-available', toolCallId: callId, toolName: name, input })]
  }

  #approval(event: Extract<RunEvent, { readonly type: 'approval_needed' }>): readonly PositionedChunk[] {
    const { callId: toolCallId, name, input, message: reason, key } = event
    const announcement = this.#announceEarlierCall({ type: 'tool_start', callId: toolCallId, name, input })
    this.#asked.add(toolCallId)
    return [
      ...announcement,
      this.#counted({ type: 'tool-approval-request', approvalId: key ?? toolCallId, toolCallId, reason }),
    ]
  }

  #output(
    toolCallId: string,
    output: string | readonly ContentBlock[],
    isError: boolean,
    isDenied: boolean,
  ): readonly PositionedChunk[] {
    if (this.#answered.has(toolCallId) || !this.#calls.has(toolCallId)) return []
    this.#answered.add(toolCallId)
    // Without an approval request, the part of a call cannot show a denial.
    if (isDenied && this.#asked.has(toolCallId)) return [this.#counted({ type: 'tool-output-denied', toolCallId })]
    return [
      this.#counted(
        isError
          ? { type: 'tool-output-error', toolCallId, errorText: textOf(output) }
          : { type: 'tool-output-available', toolCallId, output },
      ),
    ]
  }

  #end({ terminal }: Extract<RunEvent, { readonly type: 'run_end' }>): readonly PositionedChunk[] {
    const { reason, signal, costUsd, totalTokens, summary } = terminal
    const message = isFailure(reason) ? this.#options.errorText(terminal) : signal.message
    const data = { reason, category: signal.reason, message, costUsd, turns: summary.turns, totalTokens }
    const failed: readonly UIMessageChunk[] = isFailure(reason)
      ? [{ type: 'error', errorText: message }]
      : isAbort(reason)
        ? [{ type: 'abort', reason: message }]
        : []
    return [
      ...this.#endStep(),
      this.#counted({ type: 'data-halting-ending', id: 'ending', data }),
      ...failed.map((chunk) => this.#counted(chunk)),
      this.#counted({ type: 'finish', finishReason: finishReasonOf(reason) }),
    ]
  }

  #transient<Type extends keyof HaltingDataParts>(type: Type, data: HaltingDataParts[Type]): PositionedChunk {
    // The type determines the data, which the union type cannot show for a type that is not constant.
    return this.#uncounted({ type, data, transient: true } as UIMessageChunk)
  }

  #counted(chunk: UIMessageChunk): PositionedChunk {
    this.#step++
    this.#part = 0
    return this.#positioned(chunk, 0)
  }

  #uncounted(chunk: UIMessageChunk): PositionedChunk {
    this.#part++
    return this.#positioned(chunk, this.#part)
  }

  #positioned(chunk: UIMessageChunk, part: number): PositionedChunk {
    const positioned = { chunk, runId: this.#runId, step: this.#step, part, isRepeated: this.#isRepeated }
    if (chunk.type === 'start-step') this.#lastVisibleStep ??= this.#step - 1
    else if (isVisible(chunk)) this.#lastVisibleStep = undefined
    setEventId(
      chunk,
      this.#lastVisibleStep === undefined ? positioned : { ...positioned, step: this.#lastVisibleStep, part: 0 },
    )
    return positioned
  }
}

/** Whether a reader re-renders the message for it. */
function isVisible(chunk: UIMessageChunk): boolean {
  switch (chunk.type) {
    case 'start-step':
    case 'finish-step':
    case 'finish':
    case 'abort':
    case 'error':
      return false
    default:
      return !('transient' in chunk && chunk.transient === true)
  }
}

function isResult(block: ContentBlock): block is ToolResultBlock {
  return block.type === 'tool_result'
}

/** A subagent's activity in short form; undefined for events that are not displayed. */
function activityOf(event: RunEvent): AgentActivity | undefined {
  switch (event.type) {
    case 'tool_start':
    case 'tool_end':
      return { type: event.type, toolCallId: event.callId, toolName: event.name }
    case 'message': {
      const text = event.entry.kind === 'assistant' ? textOf(event.entry.message.content) : ''
      return text === '' ? undefined : { type: 'text', text }
    }
    case 'approval_needed': {
      const { callId: toolCallId, name: toolName, input, message, key } = event
      return { type: 'approval', approvalId: key ?? toolCallId, toolCallId, toolName, input, message }
    }
    case 'run_end':
      return { type: 'end', reason: event.terminal.reason }
    default:
      return undefined
  }
}

/** Whether a person, or a client that disconnected, aborted the run. */
export function isAbort(reason: EndingReason): boolean {
  const { category, manner } = endings[reason]
  return category === 'user_requested' && manner === 'immediate'
}

/** Whether the run failed, in contrast to being stopped by a limit, a person or a rule. */
export function isFailure(reason: EndingReason): boolean {
  return endings[reason].category === 'error'
}

type FinishReason = Extract<UIMessageChunk, { readonly type: 'finish' }>['finishReason']

function finishReasonOf(reason: EndingReason): FinishReason {
  if (reason === 'refusal') return 'content-filter'
  if (reason === 'needs_approval') return 'tool-calls'
  if (isFailure(reason)) return 'error'
  const { category, subtype } = endings[reason]
  if (category === 'token_limit') return 'length'
  return subtype === 'success' ? 'stop' : 'other'
}
