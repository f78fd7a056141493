import { resultContentOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, describeValue, type Fields } from '../values/validators.ts'
import type { HistoryMessage } from '../conversation/history.ts'
import { isJsonObject, jsonObjectOf, jsonOf, type Json } from '../values/json.ts'
import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../model/messages.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { deniedByUser } from '../permissions/permission-texts.ts'
import { notRunReasons, notRunText, silentFailure } from '../tools/result-texts.ts'

// Converts messages of `useChat` to a history of the Messages API. They come from a client, who can forge the messages
// of the model and the tools. So only their structure is trusted, and unanswered calls never run by themselves.

/** A `UIMessage` of the AI SDK: only the fields that are read. */
export interface UIMessageLike {
  /** Who the message is from: `user`, `assistant` or `system`. */
  readonly role: string
  /** The parts of the message, in order. */
  readonly parts: readonly {
    /** Kind of the part. */
    readonly type: string
  }[]
}

/**
 * Converts the messages of `useChat` to `messages` of a run. It includes texts, images and PDFs of the user. From the
 * assistant it includes texts, tool calls with results, and signed thinking. Sources, data parts, files of the model,
 * and calls that the service executed are left out. Calls at the end without a result stay open: `approvalsOf` returns
 * the answers to them, and a prompt closes them. Other calls without a result are closed as not run.
 * A client can send anything, so its calls and results are not proof of what happened. Where that matters, store the
 * conversation on the server, and accept only the user's new message from the client.
 * @throws ConfigurationError for an invalid list of UI messages, and for a part that a model cannot receive: which one,
 * why, and what to do.
 */
export function modelMessagesOf(messages: readonly UIMessageLike[]): readonly HistoryMessage[] {
  const list = checkedList(messages)
  const last = list.at(-1)
  return list.flatMap((message) => {
    switch (message.role) {
      case 'user':
        return userMessages(userBlocks(message.parts, message.where))
      case 'assistant':
        return new AssistantParts(message === last).messages(message)
      case 'system':
        return refuse(
          message.where,
          'is a system message',
          'Pass its text as the option `system`, and omit the message.',
        )
      default:
        return refuse(
          message.where,
          `must have the role user or assistant, but it is ${describeValue(message.role)}`,
          'Give one of these.',
        )
    }
  })
}

/**
 * A person's answers to waiting calls, from the last message of `useChat`: `approvals` of a run. Undefined if there is
 * no answer.
 * @throws ConfigurationError for an invalid list of UI messages.
 */
export function approvalsOf(
  messages: readonly UIMessageLike[],
): { readonly [callId: string]: PermissionDecision } | undefined {
  const last = checkedList(messages).at(-1)
  if (last?.role !== 'assistant') return undefined
  const answers = last.parts.flatMap((part): readonly (readonly [string, PermissionDecision])[] => {
    const { state, toolCallId, approval } = part
    const { approved, reason } = fieldsOf(approval) ?? {}
    if (!isToolPart(part) || state !== 'approval-responded' || typeof toolCallId !== 'string') return []
    if (approved === true) return [[toolCallId, { behavior: 'allow' }]]
    const message = typeof reason === 'string' && reason !== '' ? reason : deniedByUser
    return approved === false ? [[toolCallId, { behavior: 'deny', message }]] : []
  })
  return answers.length === 0 ? undefined : Object.fromEntries(answers)
}

interface CheckedMessage {
  readonly role: unknown
  readonly parts: readonly Fields[]
  /** The name of the message in errors. */
  readonly where: string
}

/** Plain JavaScript, and a client, may send anything. */
function checkedList(messages: unknown): readonly CheckedMessage[] {
  if (!Array.isArray(messages))
    throw new ConfigurationError(`UI messages must be a list, but it is ${describeValue(messages)}.`)
  return messages.map((message: unknown, index) => {
    const where = `uiMessages[${index}]`
    const { role, parts } =
      fieldsOf(message) ??
      refuse(where, `must be a UIMessage, but it is ${describeValue(message)}`, 'Give { id, role, parts }.')
    if (!Array.isArray(parts)) return refuse(where, 'has no list of parts', 'Give UIMessages of the AI SDK 5 or later.')
    return {
      role,
      where,
      parts: parts.map((part: unknown, place) => {
        const fields = fieldsOf(part)
        if (typeof fields?.['type'] === 'string') return fields
        return refuse(`${where}.parts[${place}]`, 'has no type', 'Give parts of a UIMessage.')
      }),
    }
  })
}

function refuse(where: string, problem: string, advice: string): never {
  throw new ConfigurationError(`${where} ${problem}. ${advice}`)
}

function userMessages(content: readonly ContentBlock[]): readonly HistoryMessage[] {
  return content.length === 0 ? [] : [{ role: 'user', content }]
}

function userBlocks(parts: readonly Fields[], where: string): readonly ContentBlock[] {
  return parts.flatMap((part, place): readonly ContentBlock[] => {
    if (part['type'] === 'file') return [filePart(part, `${where}.parts[${place}]`)]
    return part['type'] === 'text' ? textBlocks(part['text']) : []
  })
}

function textBlocks(text: unknown): readonly ContentBlock[] {
  return typeof text === 'string' && text.trim() !== '' ? [{ type: 'text', text }] : []
}

function isToolPart({ type }: Fields): boolean {
  return typeof type === 'string' && (type === 'dynamic-tool' || type.startsWith('tool-'))
}

/** One message of the assistant. Each of its steps is an answer, followed by the results of its calls. */
class AssistantParts {
  /** Whether this is the last message, whose final calls may be open. */
  readonly #isLast: boolean
  readonly #messages: HistoryMessage[] = []
  #content: ContentBlock[] = []
  #results: ToolResultBlock[] = []
  #open: string[] = []

  constructor(isLast: boolean) {
    this.#isLast = isLast
  }

  messages({ parts, where }: CheckedMessage): readonly HistoryMessage[] {
    for (const [place, part] of parts.entries()) this.#take(part, `${where}.parts[${place}]`)
    this.#endStep(this.#isLast)
    return this.#messages
  }

  #take(part: Fields, where: string): void {
    const { type } = part
    if (type === 'step-start') return this.#endStep(false)
    if (isToolPart(part)) return this.#call(part, where)
    if (type === 'text') return this.#addText(textBlocks(part['text']))
    if (type === 'reasoning') return this.#addText(thoughts(part))
    const content = userMessageDuringRun(part, where)
    if (content.length === 0) return
    this.#endStep(false)
    this.#messages.push({ role: 'user', content: content })
  }

  /** Text after results belongs to the next answer, even if no part marks a new step. */
  #addText(blocks: readonly ContentBlock[]): void {
    if (blocks.length > 0 && this.#results.length > 0 && this.#open.length === 0) this.#endStep(false)
    this.#content.push(...blocks)
  }

  #call(part: Fields, where: string): void {
    const { state, toolCallId: id, providerExecuted } = part
    // The service executed the call, or the model had not finished it.
    if (providerExecuted === true || state === 'input-streaming') return
    if (typeof id !== 'string' || id === '')
      return refuse(where, 'is a tool call without an id', 'Give its toolCallId.')
    const call: ToolUseBlock = { type: 'tool_use', id, name: toolName(part, where), input: jsonObjectOf(part['input']) }
    this.#content.push(call)
    const result = resultOf(id, part)
    if (result === undefined) this.#open.push(id)
    else this.#results.push(result)
  }

  #endStep(mayWait: boolean): void {
    const closed = mayWait ? [] : this.#open.map((id) => failed(id, notRunText(notRunReasons.notApproved)))
    const results = [...this.#results, ...closed]
    if (this.#content.length > 0) this.#messages.push({ role: 'assistant', content: this.#content })
    if (results.length > 0) this.#messages.push({ role: 'user', content: results })
    this.#content = []
    this.#results = []
    this.#open = []
  }
}

/** Tool names that services accept. Any other name was made up by the client. */
const isToolName = /^[\w.-]{1,128}$/

function toolName({ type, toolName: dynamic }: Fields, where: string): string {
  const name = type === 'dynamic-tool' ? dynamic : String(type).slice('tool-'.length)
  if (typeof name === 'string' && isToolName.test(name)) return name
  return refuse(
    where,
    `calls a tool ${describeValue(name)}, but no service accepts that name`,
    'A name has 1 to 128 letters, digits, dots, hyphens and underscores.',
  )
}

/** The result of a call; undefined if it has not arrived yet. */
function resultOf(
  id: string,
  { state, output, errorText, preliminary, approval }: Fields,
): ToolResultBlock | undefined {
  switch (state) {
    case 'output-available':
      // A partial result that was still streaming.
      return preliminary === true ? undefined : { type: 'tool_result', tool_use_id: id, content: outputContent(output) }
    case 'output-error':
      return failed(id, errorText)
    case 'output-denied':
      return failed(id, fieldsOf(approval)?.['reason'] ?? deniedByUser)
    default:
      return undefined
  }
}

function failed(id: string, text: unknown): ToolResultBlock {
  const content = typeof text === 'string' && text !== '' ? text : silentFailure
  return { type: 'tool_result', tool_use_id: id, content, is_error: true }
}

/** Blocks are preserved; any other value becomes JSON. */
function outputContent(output: unknown): ToolResultBlock['content'] {
  if (typeof output === 'string') return output
  const value = jsonOf(output)
  const isBlocks = Array.isArray(value) && value.length > 0 && value.every(isResultBlock)
  return isBlocks ? resultContentOf(value) : JSON.stringify(value)
}

function isResultBlock(part: Json): boolean {
  if (!isJsonObject(part)) return false
  if (part['type'] === 'text') return typeof part['text'] === 'string'
  return (part['type'] === 'image' || part['type'] === 'document') && isJsonObject(part['source'])
}

/** Thinking is sent back only to the service that signed it. A service refuses thinking without a signature, or with the signature of another service. */
function thoughts({ text, providerMetadata }: Fields): readonly ContentBlock[] {
  const { signature, redactedData } = fieldsOf(fieldsOf(providerMetadata)?.['anthropic']) ?? {}
  if (typeof redactedData === 'string' && redactedData !== '')
    return [{ type: 'redacted_thinking', data: redactedData }]
  if (typeof signature !== 'string' || signature === '') return []
  return [{ type: 'thinking', thinking: typeof text === 'string' ? text : '', signature }]
}

/** A message that the user sent during the run. */
function userMessageDuringRun({ type, data, parts }: Fields, where: string): readonly ContentBlock[] {
  if (type === 'data-halting-message') return textBlocks(fieldsOf(data)?.['text'])
  if (type !== 'steering-message' || !Array.isArray(parts)) return []
  return userBlocks(
    parts.map((part: unknown) => fieldsOf(part) ?? {}),
    where,
  )
}

/** An image or a PDF in a message of `useChat`. @throws ConfigurationError for any other file, and for an address that no service can read. */
function filePart({ mediaType: declaredType, url }: Fields, where: string): ContentBlock {
  if (typeof url !== 'string') throw new ConfigurationError(`${where} is a file without a URL. Give its url.`)
  const data = dataIn(url)
  const mediaType = data?.mediaType ?? (typeof declaredType === 'string' ? declaredType.toLowerCase() : '')
  const type = kindOf(mediaType)
  if (type === undefined)
    throw new ConfigurationError(
      `${where} is a file of the type ${describeValue(mediaType)}. Models accept images and PDFs: pass its content as text.`,
    )
  if (data !== undefined) return { type, source: { type: 'base64', media_type: data.mediaType, data: data.base64 } }
  if (!/^https?:\/\//i.test(url))
    throw new ConfigurationError(
      `${where} is a file at ${describeValue(url)}, which a service cannot read. Give a data URL in base64, or an address that begins with https.`,
    )
  return { type, source: { type: 'url', url } }
}

function kindOf(mediaType: string): 'image' | 'document' | undefined {
  if (mediaType === 'application/pdf') return 'document'
  return mediaType === 'image' || mediaType.startsWith('image/') ? 'image' : undefined
}

/**
 * The type and content of a base64 data URL; undefined for any other address. It uses no regular expression on the
 * content, which may be megabytes long.
 */
function dataIn(url: string): { readonly mediaType: string; readonly base64: string } | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^data:/i.test(url.slice(0, 5))) return undefined
  const [mediaType = '', ...parameters] = url.slice(5, comma).split(';')
  if (!parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) return undefined
  return { mediaType: mediaType.trim().toLowerCase(), base64: url.slice(comma + 1) }
}
