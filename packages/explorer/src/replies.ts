import {
  RunAbort,
  type ContentBlock,
  type ModelStopReason,
  ModelError,
  type ModelReply,
  type ModelRequest,
} from '@halting/core'
import { noUsage, type ModelErrorKind, type ModelCallOptions } from '@halting/core/adapters'
import { emitBeginning, isHanging, isMalformed, makeMalformedReply, type MalformedReply } from './malformed-replies.ts'

/** Every kind of reply that the loop distinguishes. */
export type ReplyKind =
  | 'read'
  | 'write'
  | 'read write'
  | 'write read read'
  | 'reads'
  | 'read halt'
  | 'unknown tool'
  | 'invalid input'
  | 'task'
  | 'task read task'
  | 'beside'
  | 'beside start'
  | 'stop beside'
  | 'wait'
  | 'wait read wait'
  | 'wait write'
  | 'text'
  | 'long text'
  | 'empty'
  | 'cut'
  | 'cut with call'
  | 'pause'
  | 'refusal'
  | 'refusal with call'
  | 'window'
  | 'broken text'
  | 'broken call'
  | 'hang'
  | 'hang after call'
  | 'deaf'
  | 'no room'
  | 'limited'
  | 'limited for long'
  | 'out of order'
  | `error ${ModelErrorKind}`
  | 'throws'
  | MalformedReply

export const allReplies: readonly ReplyKind[] = [
  'read',
  'write',
  'read write',
  'write read read',
  'unknown tool',
  'invalid input',
  'task',
  'text',
  'empty',
  'cut',
  'cut with call',
  'pause',
  'refusal',
  'refusal with call',
  'window',
  'broken text',
  'broken call',
  'error prompt_too_long',
  'error image',
  'error overloaded',
  'error rate_limit',
  'error connection',
  'error authentication_failed',
  'throws',
]

interface Place {
  readonly request: ModelRequest
  readonly call: ModelCallOptions
  readonly model: string
  readonly key: string
}

/** Replies that consist of calls of these tools. */
const callsOf: { readonly [kind in ReplyKind]?: readonly string[] } = {
  read: ['Read'],
  write: ['Write'],
  reads: ['Read', 'Read', 'Read'],
  'read halt': ['Read', 'Halt'],
  'read write': ['Read', 'Write'],
  'write read read': ['Write', 'Read', 'Read'],
  'unknown tool': ['Nowhere'],
  task: ['Task', 'Task'],
  'task read task': ['Task', 'Read', 'Task'],
  beside: ['Beside', 'Beside'],
  'beside start': ['Beside', 'Start'],
  'stop beside': ['Beside', 'Stop'],
  wait: ['Wait'],
  'wait read wait': ['Wait', 'Read', 'Wait'],
  'wait write': ['Wait', 'Write'],
}

export async function replyOf(kind: ReplyKind, place: Place): Promise<ModelReply> {
  const { request } = place
  const calls = callsOf[kind]
  if (calls !== undefined) return answer(place, calls)
  switch (kind) {
    case 'invalid input':
      return answer(place, ['Write'], 'tool_use', {})
    case 'text':
      return answer(place, [], 'end_turn')
    case 'long text': {
      const { message } = await answer(place, [], 'end_turn')
      return { message: { ...message, usage: { ...message.usage, output_tokens: 600 } } }
    }
    case 'empty':
      return { message: { ...(await answer(place, [], 'end_turn')).message, content: [] } }
    case 'cut':
      return answer(place, [], 'max_tokens')
    case 'cut with call':
      return answer(place, ['Read'], 'max_tokens')
    case 'pause':
      return answer(place, [], 'pause_turn')
    case 'refusal':
      return answer(place, [], 'refusal')
    case 'refusal with call':
      return answer(place, ['Read'], 'refusal')
    case 'window':
      return answer(place, [], 'model_context_window_exceeded')
    case 'broken text':
      return { ...(await answer(place, [])), streamError: connectionLost() }
    case 'broken call':
      return { ...(await answer(place, ['Write'])), streamError: connectionLost() }
    case 'hang':
      return hang(place)
    case 'hang after call': {
      await answer(place, ['Read', 'Write'])
      return hang(place)
    }
    case 'deaf':
      return new Promise(() => {})
    case 'no room':
      // The prompt fits, but not together with the requested cap.
      throw new ModelError({
        kind: 'prompt_too_long',
        message: 'the service says no room',
        status: 400,
        contextLimit: { used: 100, limit: 100 + Math.ceil(request.maxOutputTokens / 2), includesOutput: true },
      })
    case 'limited':
      throw limited(20_000)
    case 'limited for long':
      throw limited(3_600_000)
    case 'out of order':
      throw new ModelError({ kind: 'server_error', message: 'the service is out of order', status: 503 })
    case 'throws':
      throw new TypeError('the adapter has a bug')
    default: {
      if (isHanging(kind)) return emitBeginning(kind, place.call)
      if (isMalformed(kind)) return makeMalformedReply(kind, await answer(place, []), place.call)
      const errorKind = kind.slice('error '.length) as ModelErrorKind
      throw new ModelError({
        kind: errorKind,
        message: `the service says ${errorKind}`,
        status: statusOf[errorKind] ?? 400,
      })
    }
  }
}

function limited(retryAfterMs: number): ModelError {
  return new ModelError({ kind: 'rate_limit', message: 'the service has a limit', status: 429, retryAfterMs })
}

function connectionLost(): ModelError {
  return new ModelError({ kind: 'connection', message: 'the connection was lost' })
}

const statusOf: { readonly [kind in ModelErrorKind]?: number | null } = {
  overloaded: 529,
  rate_limit: 429,
  connection: null,
  authentication_failed: 401,
  prompt_too_long: 413,
}

async function answer(
  place: Place,
  tools: readonly string[],
  stopReason?: ModelStopReason,
  input: object = { of: 'this' },
): Promise<ModelReply> {
  const { key, call, model, request } = place
  const id = `msg ${key}`
  const content: ContentBlock[] = [{ type: 'text', text: `answer to ${request.messages.length}` }]
  for (const [index, name] of tools.entries())
    content.push({ type: 'tool_use', id: `call ${key} ${index}`, name, input })
  for (const [index, block] of content.entries()) call.emit({ type: 'block', index, block, messageId: id })
  await Promise.resolve()
  if (call.signal.aborted) throw call.signal.reason
  const stop_reason = stopReason ?? (tools.length > 0 ? 'tool_use' : null)
  const agent = agentOf(key)
  // Concurrent agents have different charges, and so has the main loop.
  const usage = { ...noUsage, input_tokens: 100 + 7 * agent, output_tokens: 20 + 3 * agent }
  return { message: { role: 'assistant', id, model, content, stop_reason, usage } }
}

/** Which call of its message an agent answers, counted from 1; 0 for the main loop. */
export function agentOf(key: string): number {
  const index = /\/agent:\d+:(\d+):/.exec(key)?.[1]
  return index === undefined ? 0 : Number(index) + 1
}

function hang({ call }: Place): Promise<ModelReply> {
  call.emit({ type: 'text_delta', index: 0, text: 'I begin' })
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(call.signal.reason ?? new RunAbort('user'))
    call.signal.addEventListener('abort', stop, { once: true })
    if (call.signal.aborted) stop()
  })
}
