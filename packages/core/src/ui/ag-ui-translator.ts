import type { RunEvent } from '../state/events.ts'
import { textOf } from '../model/messages.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { AgUiCustomValues, AgUiEvent, AgUiInterrupt, AgUiUsage } from './ag-ui-event.ts'
import type { HaltingDataParts, UIMessageChunk } from './ui-message-chunk.ts'
import type { ErrorText } from './error-text.ts'
import { isAbort, isFailure, UITranslator } from './ui-translator.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>

/** A message or call that is being streamed. */
type OpenPart = { readonly kind: 'text' | 'reasoning' | 'call'; readonly id: string }

/** Converts the events of one run to AG-UI events, through the chunks of the AI SDK stream. */
export class AgUiTranslator {
  readonly #chunks: UITranslator
  readonly #errorText: ErrorText
  #thread = ''
  #run = ''
  #step = ''
  /** Open parts by the ids of the chunks. */
  readonly #open = new Map<string, OpenPart>()
  /** How often each id was used: a failed attempt may have used an id, and AG-UI requires unique ids. */
  readonly #uses = new Map<string, number>()
  /** The ids under which calls were sent. */
  readonly #calls = new Map<string, string>()
  /** The parts that were sent in the current step, in case its attempt is retracted. */
  #sent: OpenPart[] = []
  #approvals: AgUiInterrupt[] = []
  #result: string | undefined

  constructor(sendReasoning: boolean, errorText: ErrorText) {
    this.#errorText = errorText
    this.#chunks = new UITranslator({ messageId: undefined, sendReasoning, continuesMessage: false, errorText })
  }

  take(event: RunEvent): readonly AgUiEvent[] {
    switch (event.type) {
      case 'run_start':
        this.#thread = event.run.sessionId
        this.#run = event.run.runId
        break
      case 'turn_start':
        this.#step = `request ${event.request}`
        break
      case 'tool_end':
        this.#result = textOf(event.output)
        break
      case 'agent': {
        const chunks = this.#ofChunks(event)
        return [...this.#agent(event), ...chunks]
      }
      case 'run_end':
        return [...this.#ofChunks(event), this.#end(event.terminal)]
      default:
        break
    }
    return this.#ofChunks(event)
  }

  #ofChunks(event: RunEvent): readonly AgUiEvent[] {
    return this.#chunks.take(event).flatMap(({ chunk }) => this.#chunk(chunk))
  }

  #chunk(chunk: UIMessageChunk): readonly AgUiEvent[] {
    switch (chunk.type) {
      case 'start':
        return [{ type: 'RUN_STARTED', threadId: this.#thread, runId: this.#run, protocolVersion: '1.0' }]
      case 'start-step':
        this.#sent = []
        return [{ type: 'STEP_STARTED', stepName: this.#step }]
      case 'finish-step':
        return [{ type: 'STEP_FINISHED', stepName: this.#step }]
      case 'reset-step':
        return this.#retract()
      case 'text-start':
      case 'reasoning-start':
        return this.#begin(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning')
      case 'text-delta':
      case 'reasoning-delta':
        return this.#write(chunk.id, chunk.delta)
      case 'text-end':
      case 'reasoning-end':
        return this.#close(chunk.id)
      case 'tool-input-start':
        return this.#begin(chunk.toolCallId, 'call', chunk.toolName)
      case 'tool-input-delta':
        return this.#write(chunk.toolCallId, chunk.inputTextDelta)
      case 'tool-input-available':
        return this.#call(chunk)
      case 'tool-output-available':
        return this.#output(chunk.toolCallId, resultText(chunk.output))
      case 'tool-output-error':
        return this.#output(chunk.toolCallId, chunk.errorText)
      case 'tool-output-denied':
        return this.#output(chunk.toolCallId, this.#result ?? '')
      case 'tool-approval-request':
        return this.#approval(chunk)
      case 'source-url': {
        const { url, title } = chunk
        return [custom('halting.source', { url, ...(title !== undefined && { title }) })]
      }
      case 'file':
        return [custom('halting.file', { url: chunk.url, mediaType: chunk.mediaType })]
      case 'finish':
      case 'abort':
      case 'error':
        return []
      default:
        return [ofData(chunk)]
    }
  }

  #begin(key: string, kind: OpenPart['kind'], toolCallName = ''): readonly AgUiEvent[] {
    const uses = (this.#uses.get(key) ?? 0) + 1
    this.#uses.set(key, uses)
    const id = uses === 1 ? key : `${key}~${uses}`
    const part = { kind, id }
    this.#open.set(key, part)
    this.#sent.push(part)
    switch (kind) {
      case 'text':
        return [{ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }]
      case 'reasoning':
        return [
          { type: 'REASONING_START', messageId: id },
          { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' },
        ]
      case 'call':
        this.#calls.set(key, id)
        return [{ type: 'TOOL_CALL_START', toolCallId: id, toolCallName }]
    }
  }

  #write(key: string, delta: string): readonly AgUiEvent[] {
    const part = this.#open.get(key)
    if (part === undefined || delta === '') return []
    const { kind, id } = part
    if (kind === 'call') return [{ type: 'TOOL_CALL_ARGS', toolCallId: id, delta }]
    return [{ type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId: id, delta }]
  }

  #close(key: string): readonly AgUiEvent[] {
    const part = this.#open.get(key)
    this.#open.delete(key)
    switch (part?.kind) {
      case undefined:
        return []
      case 'text':
        return [{ type: 'TEXT_MESSAGE_END', messageId: part.id }]
      case 'reasoning':
        return [
          { type: 'REASONING_MESSAGE_END', messageId: part.id },
          { type: 'REASONING_END', messageId: part.id },
        ]
      case 'call':
        return [{ type: 'TOOL_CALL_END', toolCallId: part.id }]
    }
  }

  #call({
    toolCallId,
    toolName,
    input,
  }: Extract<UIMessageChunk, { readonly type: 'tool-input-available' }>): readonly AgUiEvent[] {
    if (this.#open.has(toolCallId)) return this.#close(toolCallId)
    const json = JSON.stringify(input) ?? ''
    return [...this.#begin(toolCallId, 'call', toolName), ...this.#write(toolCallId, json), ...this.#close(toolCallId)]
  }

  /** Ends the messages of a failed attempt, and requests their removal. */
  #retract(): readonly AgUiEvent[] {
    const ends = [...this.#open.keys()].flatMap((key) => this.#close(key))
    const calls = this.#sent.filter(({ kind }) => kind === 'call')
    const messages = this.#sent.filter(({ kind }) => kind !== 'call')
    this.#sent = []
    const value = { messageIds: messages.map(({ id }) => id), toolCallIds: calls.map(({ id }) => id) }
    return [...ends, custom('halting.retracted', value)]
  }

  #output(callId: string, content: string): readonly AgUiEvent[] {
    const toolCallId = this.#calls.get(callId) ?? callId
    this.#approvals = this.#approvals.filter(({ id }) => id !== callId)
    return [{ type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}:result`, toolCallId, content, role: 'tool' }]
  }

  #approval(chunk: Extract<UIMessageChunk, { readonly type: 'tool-approval-request' }>): readonly AgUiEvent[] {
    const { approvalId, reason } = chunk
    const toolCallId = this.#calls.get(chunk.toolCallId) ?? chunk.toolCallId
    this.#approvals.push({ id: chunk.toolCallId, reason: 'tool_call', message: reason, toolCallId })
    return [custom('halting.approval', { approvalId, toolCallId, reason })]
  }

  #agent({ callId, agentType, description, event }: EventOf<'agent'>): readonly AgUiEvent[] {
    const subagentRunId = callId
    const parentToolCallId = this.#calls.get(callId) ?? callId
    if (event.type === 'run_start') {
      const about = description === undefined ? {} : { description }
      return [{ type: 'SUBAGENT_STARTED', subagentRunId, name: agentType, ...about, parentToolCallId }]
    }
    if (event.type !== 'run_end') return []
    const { reason } = event.terminal
    return isFailure(reason)
      ? [{ type: 'SUBAGENT_ERROR', subagentRunId, message: this.#errorText(event.terminal), code: reason }]
      : [{ type: 'SUBAGENT_FINISHED', subagentRunId }]
  }

  #end(terminal: RunResult): AgUiEvent {
    const { reason, signal, costUsd, totalTokens, summary } = terminal
    const usage = usageOf(terminal)
    if (isFailure(reason)) return { type: 'RUN_ERROR', message: this.#errorText(terminal), code: reason, usage }
    const { message } = signal
    const result = { reason, category: signal.reason, message, costUsd, turns: summary.turns, totalTokens }
    const outcome =
      reason === 'needs_approval' && this.#approvals.length > 0
        ? ({ type: 'interrupt', interrupts: this.#approvals } as const)
        : ({ type: isAbort(reason) ? 'cancelled' : 'success' } as const)
    return { type: 'RUN_FINISHED', threadId: this.#thread, runId: this.#run, outcome, result, usage }
  }
}

function usageOf({ summary }: RunResult): readonly AgUiUsage[] {
  return Object.entries(summary.modelUsage).map(([model, { usage }]) => ({
    model,
    inputTokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
    outputTokens: usage.output_tokens,
  }))
}

function resultText(output: unknown): string {
  if (typeof output === 'string') return output
  const text = Array.isArray(output) ? textOf(output) : ''
  return text === '' ? (JSON.stringify(output) ?? '') : text
}

function custom<Name extends keyof AgUiCustomValues>(name: Name, value: AgUiCustomValues[Name]): AgUiEvent {
  // The name determines the type of the value, which the union type cannot show for a name that is not constant.
  return { type: 'CUSTOM', name, value } as AgUiEvent
}

function ofData(chunk: Extract<UIMessageChunk, { readonly type: keyof HaltingDataParts }>): AgUiEvent {
  // The names differ only in their prefixes.
  const name = `halting.${chunk.type.slice('data-halting-'.length)}` as keyof AgUiCustomValues
  return { type: 'CUSTOM', name, value: chunk.data } as AgUiEvent
}
