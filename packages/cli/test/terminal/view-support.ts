import type { RunEvent, SdkResult, RunResult, EndingReason, IterationReason } from '@halting/core'
import { StopSignal, StopSignals, endings } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import type { LimitsInForce, SessionEvent, SessionFigures } from '@halting/core/session'
import { styleFor } from '../../src/io/style.ts'
import type { Block } from '../../src/terminal/screen/screen-port.ts'
import { foldedLines } from '../../src/terminal/view/lines.ts'
import { createStreamView, type MarkdownStream, type StreamView } from '../../src/terminal/view/stream-view.ts'

// Shared by tests of the view: no colours, paragraphs instead of Markdown, a clock that stands still.

export const plainStyle = styleFor(false, {})
export const coloured = styleFor(true, {})

/** Splits text into paragraphs, in place of Markdown. */
function paragraphs(): MarkdownStream {
  let text = ''
  const block = (paragraph: string): Block => ({ render: (width) => foldedLines(paragraph, width) })
  return {
    append(more) {
      text += more
      const end = text.lastIndexOf('\n\n')
      if (end < 0) return []
      const done = text.slice(0, end)
      text = text.slice(end + 2)
      return done.split('\n\n').map(block)
    },
    finish() {
      const rest = text
      text = ''
      return rest === '' ? [] : [block(rest)]
    },
    tail: { render: (width) => (text === '' ? [] : foldedLines(text, width)) },
  }
}

export function streamView(now: () => number = () => 0, style = plainStyle): StreamView {
  return createStreamView({ style, cwd: '/work/app', markdown: paragraphs, now })
}

/** What the view prints for these events, as text. */
export function printed(view: StreamView, events: readonly (RunEvent | SessionEvent)[], width = 80): string {
  return renderBlocks(
    events.flatMap((event) => view.see(sessionEvent(event))),
    width,
  )
}

export function renderBlocks(blocks: readonly Block[], width = 80): string {
  return blocks.flatMap((block) => block.render(width)).join('\n')
}

const ofSession: ReadonlySet<string> = new Set([
  'run_end',
  'note',
  'failed',
  'loop',
  'closed',
  'changed',
  'taken',
  'question',
])

function sessionEvent(event: RunEvent | SessionEvent): SessionEvent {
  // Both unions have this name; here a run's end has a result.
  return ofSession.has(event.type) && !(event.type === 'run_end' && !('result' in event))
    ? (event as SessionEvent)
    : { type: 'loop', event: event as RunEvent }
}

let entries = 0

/** The events of a call and its result, as the loop sends them. */
export function call(
  name: string,
  input: object,
  { content = '', details, status = 'done', durationMs = 10 }: CallResult = {},
): readonly RunEvent[] {
  const callId = `call_${(entries += 1)}`
  return [
    reply([{ type: 'tool_use', id: callId, name, input }]),
    ...(status === 'denied' || status === 'not_run' ? [] : [{ type: 'tool_start', callId, name, input } as const]),
    { type: 'tool_end', callId, name, status, durationMs, output: 'ok', isError: false },
    {
      type: 'message',
      entry: {
        kind: 'user',
        id: `entry_${(entries += 1)}`,
        origin: 'tool_results',
        message: {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: callId, content, ...(status !== 'done' && { is_error: true }) },
          ],
        },
        // Test data is JSON.
        ...(details !== undefined && { details: { [callId]: details as never } }),
      },
    },
  ]
}

interface CallResult {
  readonly content?: string
  readonly details?: object
  readonly status?: 'done' | 'failed' | 'invalid' | 'denied' | 'not_run' | 'interrupted' | 'unknown'
  readonly durationMs?: number
}

type Reply = Extract<Extract<RunEvent, { readonly type: 'message' }>['entry'], { readonly kind: 'assistant' }>

export function reply(content: Reply['message']['content'], more: Partial<Reply> = {}): RunEvent {
  entries += 1
  const message = {
    role: 'assistant',
    id: `msg_${entries}`,
    model: 'm',
    content,
    stop_reason: null,
    usage: noUsage,
  } as const
  return { type: 'message', entry: { kind: 'assistant', id: `entry_${entries}`, message, ...more } }
}

export function textDelta(words: string): RunEvent {
  return { type: 'model_update', request: 1, entryId: 'e', update: { type: 'text_delta', index: 0, text: words } }
}

export function user(
  content: string,
  origin: 'prompt' | 'steer' | 'follow_up' | 'hook' | 'loop' = 'prompt',
  more: { readonly hook?: string } = {},
): RunEvent {
  entries += 1
  return {
    type: 'message',
    entry: { kind: 'user', id: `entry_${entries}`, origin, message: { role: 'user', content }, ...more },
  }
}

export const noLimits: LimitsInForce = {
  maxTurns: null,
  maxBudgetUsd: null,
  maxTotalTokens: null,
  maxDurationMs: null,
  maxRunUsd: null,
  maxToolCalls: null,
}

export const noFigures: SessionFigures = {
  turns: 0,
  toolCalls: 0,
  settledUsd: 0,
  unknownUsd: 0,
  reservedUsd: 0,
  leftUsd: null,
  sessionUsd: 0,
  settledTokens: 0,
  reservedTokens: 0,
  waitingRequests: 0,
  leftTokens: null,
  contextTokens: 0,
  contextWindow: null,
  compactsAt: null,
  usedMs: 0,
  leftMs: null,
}

/** An ending with plausible figures. */
export function terminal(reason: EndingReason, context: object = {}, message = '', source = 'test'): RunResult {
  // Test data is JSON.
  const signal = new StopSignal({
    reason: endings[reason].category,
    message,
    context: context as never,
    source,
  })
  return {
    reason,
    signal,
    signals: StopSignals.of(signal),
    summary: {
      assistantMessages: 7,
      toolResults: 6,
      turns: 7,
      requests: 7,
      usage: { ...noUsage, input_tokens: 11_000, output_tokens: 1_345 },
      modelUsage: {},
      compacted: false,
      apiMs: 90_000,
    },
    costUsd: 0.31,
    committedUsd: 0.31,
    totalTokens: 12_345,
    durationMs: 130_000,
    stillRunning: [],
  }
}

/** A background subagent that reached its limit. */
export const agentEnd: RunEvent = {
  type: 'agent',
  callId: 'z',
  agentType: 'explore',
  inBackground: true,
  event: { type: 'run_end', terminal: terminal('max_turns', {}, 'Reached maximum number of turns (3)') },
}

export function retry(message: string, attempt: number): RunEvent {
  const error = {
    kind: 'overloaded',
    message,
    status: 529,
    retryable: true,
    retryAfterMs: null,
    requestId: null,
    usage: null,
    billed: 'nothing',
  } as const
  return { type: 'retry', request: 1, attempt, maxRetries: 10, delayMs: 8_000, error }
}

export function lap(transition: IterationReason, left: number): RunEvent {
  // Tests call only this method.
  const all = { [transition]: left } as Extract<RunEvent, { readonly type: 'lap' }>['left']
  return { type: 'lap', transition, before: [3, 0, 9], after: [3, 0, 8], left: all }
}

export const result: SdkResult = {
  type: 'result',
  subtype: 'success',
  duration_ms: 1,
  duration_api_ms: 1,
  is_error: false,
  num_turns: 1,
  stop_reason: 'end_turn',
  total_cost_usd: 0,
  usage: noUsage,
  modelUsage: {},
  permission_denials: [],
  terminal_reason: 'completed',
  stop: { reason: 'completed', category: 'completed', message: '', context: {}, source: null, forced: false },
  uuid: 'u',
  session_id: 's',
  result: 'Done.',
}
