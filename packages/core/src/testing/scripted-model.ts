import { ModelError, type ModelErrorInit } from '../model/model-error.ts'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from '../model/model.ts'
import type { AssistantMessage, ContentBlock, ModelStopReason, ToolUseBlock, Usage } from '../model/messages.ts'
import { noUsage } from '../model/messages.ts'

/** One reply of a scripted model. A string is a text that ends the turn. */
export type ScriptedReply =
  | string
  | {
      /** A text block. Default: none. */
      readonly text?: string
      /** A thinking block before the text. Default: none. */
      readonly thinking?: string
      /** Tool calls after the text. */
      readonly toolCalls?: readonly {
        /** Id of the call. Default: `call_` with the numbers of the request and the call. */
        readonly id?: string
        /** Name of the tool. */
        readonly name: string
        /** Input of the call. Default: `{}`. */
        readonly input?: unknown
      }[]
      /** Why the model stopped. Default: `tool_use` if there are calls, otherwise `end_turn`. */
      readonly stopReason?: ModelStopReason
      /** Tokens of the request. Default: 10 input and 5 output tokens. */
      readonly usage?: Partial<Usage>
      /** The stream breaks after these blocks. */
      readonly streamError?: ModelErrorInit
      /** Called when all blocks are streamed and before the reply is returned: a point for an abort, a message, or an advance of the clock. */
      readonly before?: ((options: ModelCallOptions) => void) | ((options: ModelCallOptions) => Promise<void>)
    }
  | {
      /** The attempt fails with this error. */
      readonly error: ModelErrorInit
    }
  /** A reply that never arrives. With `deaf` the model ignores the abort, too. */
  | {
      readonly hang: true
      /** Ignore the abort. Default: false. */
      readonly deaf?: boolean
      /** Text that is streamed first. */
      readonly text?: string
    }

/** Options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** Id of the model. Default: `scripted`. */
  readonly id?: string
  /** Size of the window in tokens. Default: 200,000. */
  readonly contextWindow?: number
  /** Maximum tokens of one reply. Default: 64,000. */
  readonly maxOutputTokens?: number
  /** Maximum tokens of the first attempt at a reply. Default: `maxOutputTokens`. */
  readonly defaultOutputTokens?: number
}

/** A model that answers from a script and records its requests, for tests. */
export interface ScriptedModel extends Model {
  /** A copy of every request. */
  readonly requests: readonly ModelRequest[]
}

/**
 * A model that gives scripted replies: a list, one for each call, or a function of the request and its number (from 0).
 * When the list is used up, the model answers with an error that says so.
 */
export function scriptedModel(
  script: readonly ScriptedReply[] | ((request: ModelRequest, index: number) => ScriptedReply),
  options: ScriptedModelOptions = {},
): ScriptedModel {
  const requests: ModelRequest[] = []
  const id = options.id ?? 'scripted'
  const used: ScriptedReply = {
    error: { kind: 'invalid_request', message: 'The script has no more replies for this request.', status: 400 },
  }
  const model: ScriptedModel = {
    id,
    contextWindow: options.contextWindow ?? 200_000,
    maxOutputTokens: options.maxOutputTokens ?? 64_000,
    ...(options.defaultOutputTokens === undefined ? {} : { defaultOutputTokens: options.defaultOutputTokens }),
    requests,
    async call(request, call) {
      const index = requests.length
      requests.push({ ...request, messages: [...request.messages] })
      const reply = typeof script === 'function' ? script(request, index) : (script[index] ?? used)
      return play(reply, { request, index, id }, call)
    },
  }
  return model
}

interface Place {
  readonly request: ModelRequest
  readonly index: number
  readonly id: string
}

async function play(reply: ScriptedReply, place: Place, call: ModelCallOptions): Promise<ModelReply> {
  if (typeof reply === 'string') return play({ text: reply }, place, call)
  if ('error' in reply) throw new ModelError(reply.error)
  if ('hang' in reply) return hang(reply, place, call)
  const message = messageOf(reply, place)
  for (const [index, block] of message.content.entries()) {
    if (block.type === 'text') call.emit({ type: 'text_delta', index, text: block.text })
    if (block.type === 'tool_use') emitInput(block, index, call)
    call.emit({ type: 'block', index, block, messageId: message.id })
  }
  await reply.before?.(call)
  return reply.streamError === undefined ? { message } : { message, streamError: new ModelError(reply.streamError) }
}

/** Streams the input like a service: the start of the call, then its JSON in two parts. A script may contain an input that is not JSON. */
function emitInput({ id, name, input }: ToolUseBlock, index: number, call: ModelCallOptions): void {
  call.emit({ type: 'tool_input_start', index, callId: id, name })
  const json = inputText(input)
  const middle = Math.ceil(json.length / 2)
  for (const piece of [json.slice(0, middle), json.slice(middle)]) {
    if (piece !== '') call.emit({ type: 'tool_input_delta', index, json: piece })
  }
}

function inputText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? ''
  } catch {
    return ''
  }
}

function hang(
  reply: { readonly deaf?: boolean; readonly text?: string },
  place: Place,
  call: ModelCallOptions,
): Promise<ModelReply> {
  if (reply.text !== undefined) call.emit({ type: 'text_delta', index: 0, text: reply.text })
  return new Promise((_resolve, reject) => {
    if (reply.deaf === true) return
    const stop = (): void => reject(call.signal.reason)
    call.signal.addEventListener('abort', stop, { once: true })
    if (call.signal.aborted) stop()
  })
}

function messageOf(
  reply: Exclude<ScriptedReply, string | { readonly error: unknown } | { readonly hang: true }>,
  { request, index, id }: Place,
): AssistantMessage {
  const content: ContentBlock[] = []
  if (reply.thinking !== undefined)
    content.push({ type: 'thinking', thinking: reply.thinking, signature: `signature-${index}` })
  if (reply.text !== undefined) content.push({ type: 'text', text: reply.text })
  for (const [number, call] of (reply.toolCalls ?? []).entries()) {
    content.push({
      type: 'tool_use',
      id: call.id ?? `call_${index}_${number}`,
      name: call.name,
      input: call.input ?? {},
    })
  }
  const calls = (reply.toolCalls?.length ?? 0) > 0
  return {
    role: 'assistant',
    id: `msg_${index}_${request.messages.length}`,
    model: id,
    content,
    stop_reason: reply.stopReason ?? (calls ? 'tool_use' : 'end_turn'),
    usage: { ...noUsage, input_tokens: 10, output_tokens: 5, ...reply.usage },
  }
}
