import { ConfigurationError, isInstance, messageOf } from '../values/errors.ts'
import { fieldsOf, describeValue, type Fields } from '../values/validators.ts'
import { isJsonObject, jsonObjectOf, jsonOf, type Json, type JsonObject } from '../values/json.ts'
import {
  noUsage,
  type AssistantMessage,
  type ContentBlock,
  type MessageContent,
  type ModelMessage,
} from '../model/messages.ts'
import type { TranscriptEntry } from './transcript.ts'

// Validates a conversation from a program, in the format of the Messages API, before anything starts: otherwise a
// service would refuse the whole request. An error names the message, says what is wrong and what to do.

/** A message of a history, as in the Messages API, so an answer may be a plain string, too. Unknown fields are ignored. */
export type HistoryMessage =
  | ModelMessage
  | {
      readonly role: 'assistant'
      /** A text, or blocks. */
      readonly content: MessageContent
      /** The id of the `Model` that wrote the message, as in `RunOutcome.messages`. Thinking in the message is sent back only to that model. */
      readonly by?: string
    }

const converter = 'Convert the list first: messages: modelMessagesOf(uiMessages), from @halting/core/ui.'

/**
 * Converts a history to transcript entries. `idOf` returns the id for each position.
 * @throws ConfigurationError for an invalid history: which message, why, and what to do.
 */
export function historyEntries(messages: unknown, idOf: (place: number) => string): readonly TranscriptEntry[] {
  const reading = { where: 'messages' }
  try {
    return readEntries(messages, idOf, reading)
  } catch (error) {
    if (isInstance(error, ConfigurationError)) throw error
    // A getter or a proxy of the program threw.
    throw new ConfigurationError(`${reading.where} could not be read: ${messageOf(error)}. Give plain objects.`)
  }
}

function readEntries(
  messages: unknown,
  idOf: (place: number) => string,
  reading: { where: string },
): readonly TranscriptEntry[] {
  if (!Array.isArray(messages))
    throw new ConfigurationError(
      `messages must be a list of messages of the Messages API, but it is ${describeValue(messages)}.`,
    )
  const entries: TranscriptEntry[] = []
  const calls = new CallTracker()
  for (let index = 0; index < messages.length; index++) {
    const where = `messages[${index}]`
    reading.where = where
    const { role, content, fields } = contentOf(where, messages[index])
    if (index === 0 && role === 'assistant')
      refuse(
        where,
        'is from the assistant, but a conversation starts with the user',
        'Start with a message of the user.',
      )
    calls.read(where, role, content)
    if (role === 'assistant') entries.push(assistantEntry(idOf(entries.length), content, fields))
    else for (const part of partsOf(content)) entries.push(userEntry(idOf(entries.length), part))
  }
  calls.close()
  return entries
}

interface ReadMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly ContentBlock[]
  readonly fields: Fields
}

function refuse(where: string, problem: string, advice: string): never {
  throw new ConfigurationError(`${where} ${problem}. ${advice}`)
}

function contentOf(where: string, message: unknown): ReadMessage {
  const fields = fieldsOf(message)
  if (fields === undefined)
    refuse(
      where,
      `must be { role, content }, but it is ${describeValue(message)}`,
      "Give { role: 'user', content: 'text' }.",
    )
  checkShape(where, fields)
  const { role } = fields
  if (role !== 'user' && role !== 'assistant') refuseRole(where, role)
  const original = fields['content']
  const content = typeof original === 'string' || Array.isArray(original) ? jsonOf(original) : undefined
  if (typeof content === 'string') {
    if (content === '') refuse(where, 'is empty', 'Omit the message.')
    return { role, content, fields }
  }
  if (!Array.isArray(content))
    refuse(
      where,
      `must have a text or a list of blocks as content, but it is ${describeValue(original)}`,
      'Give content.',
    )
  if (content.length === 0) refuse(where, 'is empty', 'Omit the message.')
  const blocks = content.map((block: Json, index) => blockOf(`${where}.content[${index}]`, role, block))
  return { role, content: blocks, fields }
}

/** Detects message formats of other libraries that programs are likely to pass. */
function checkShape(where: string, fields: Fields): void {
  if (Array.isArray(fields['parts'])) refuse(where, 'is a UIMessage of the AI SDK', converter)
  if ('tool_calls' in fields || 'function_call' in fields)
    refuse(
      where,
      "has tool_calls, a field of OpenAI's chat completions",
      "Pass each call as a content block: { type: 'tool_use', id, name, input }.",
    )
  if ('kind' in fields && 'id' in fields)
    refuse(where, 'is an entry of a transcript', 'Give transcript.messages(), or the messages of a RunOutcome.')
  if ('message' in fields && !('content' in fields)) refuse(where, 'is a message of the SDK', 'Give its field message.')
}

function refuseRole(where: string, role: unknown): never {
  switch (role) {
    case 'system':
    case 'developer':
      return refuse(where, `has the role ${role}`, 'Pass its text as the option `system`, and omit the message.')
    case 'tool':
    case 'function':
      return refuse(
        where,
        `has the role ${role}, a role of OpenAI's chat completions and the AI SDK`,
        "Give results as blocks of a user message: { type: 'tool_result', tool_use_id, content }.",
      )
    default:
      return refuse(
        where,
        `must have the role user or assistant, but it is ${describeValue(role)}`,
        'Give one of these.',
      )
  }
}

/** Blocks of other libraries, and what to use instead. */
const foreignBlocks: ReadonlyMap<string, string> = new Map([
  ['tool-call', "{ type: 'tool_use', id, name, input }"],
  ['tool-result', "{ type: 'tool_result', tool_use_id, content } in a user message"],
  ['function_call', "{ type: 'tool_use', id, name, input }"],
  ['function_call_output', "{ type: 'tool_result', tool_use_id, content } in a user message"],
  ['image_url', "{ type: 'image', source: { type: 'url', url } }"],
  ['input_image', "{ type: 'image', source: { type: 'url', url } }"],
  ['input_text', "{ type: 'text', text }"],
  ['output_text', "{ type: 'text', text }"],
  ['file', "{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }"],
  ['input_file', "{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }"],
  ['reasoning', "{ type: 'thinking', thinking, signature }, or leave it out"],
])

const shapes = {
  text: "{ type: 'text', text }, with a text that is not empty",
  image: "{ type: 'image', source: { type: 'base64', media_type, data } } or one with { type: 'url', url }",
  document: "{ type: 'document', source: { type, … } }",
  tool_use: "{ type: 'tool_use', id, name, input }",
  tool_result: "{ type: 'tool_result', tool_use_id, content }",
  thinking: "{ type: 'thinking', thinking, signature }",
  redacted_thinking: "{ type: 'redacted_thinking', data }",
} as const

/** Which role may contain each block. */
const rolesOfBlocks: { readonly [type: string]: 'user' | 'assistant' | undefined } = {
  image: 'user',
  tool_result: 'user',
  tool_use: 'assistant',
  thinking: 'assistant',
  redacted_thinking: 'assistant',
}

function blockOf(where: string, role: 'user' | 'assistant', block: Json): ContentBlock {
  if (!isJsonObject(block) || typeof block['type'] !== 'string')
    return refuse(where, `must be a block with a type, but it is ${describeValue(block)}`, `Give ${shapes.text}.`)
  const { type } = block
  const instead = foreignBlocks.get(type)
  if (instead !== undefined) refuse(where, `is a block of another API (${type})`, `Give ${instead}.`)
  const requiredRole = Object.hasOwn(rolesOfBlocks, type) ? rolesOfBlocks[type] : undefined
  if (requiredRole !== undefined && requiredRole !== role)
    refuse(where, `is a ${type} in a message of the ${role}`, `It belongs in a message of the ${requiredRole}.`)
  if (Object.hasOwn(shapes, type)) checkBlock(where, type as keyof typeof shapes, block)
  // A caller may omit the content of a result without content.
  const whole = type === 'tool_result' && block['content'] === undefined ? { ...block, content: '' } : block
  // `checkBlock` validated the fields of known block types; other blocks are sent to the service unchanged.
  return whole as unknown as ContentBlock
}

function checkBlock(where: string, type: keyof typeof shapes, block: JsonObject): void {
  const isText = (field: string): boolean => typeof block[field] === 'string' && block[field] !== ''
  const fits = {
    text: () => isText('text'),
    image: () => isSource(block['source']),
    document: () => isSource(block['source']),
    tool_use: () => isText('id') && isText('name') && isJsonObject(block['input']),
    tool_result: () => isText('tool_use_id') && isResult(block),
    thinking: () => typeof block['thinking'] === 'string' && typeof block['signature'] === 'string',
    redacted_thinking: () => typeof block['data'] === 'string',
  }
  if (!fits[type]()) refuse(where, `is no ${type} block`, `One is ${shapes[type]}.`)
}

/** Validates the source of an image or a document. Unknown kinds are sent to the service unchanged. */
function isSource(source: Json | undefined): boolean {
  if (!isJsonObject(source)) return false
  const isText = (field: string): boolean => typeof source[field] === 'string' && source[field] !== ''
  switch (source['type']) {
    case 'base64':
      return isText('media_type') && isText('data')
    case 'url':
      return isText('url')
    case 'text':
      return isText('data')
    default:
      return isText('type')
  }
}

/** The Messages API refuses an error result without content. */
function isResult({ content = '', is_error: isError = false }: JsonObject): boolean {
  if (isError !== null && typeof isError !== 'boolean') return false
  const isEmpty = content === '' || (Array.isArray(content) && content.length === 0)
  if (isEmpty) return isError !== true
  return typeof content === 'string' || (Array.isArray(content) && content.every(isPartOfResult))
}

function isPartOfResult(part: Json): boolean {
  if (!isJsonObject(part)) return false
  switch (part['type']) {
    case 'text':
      return typeof part['text'] === 'string' && part['text'] !== ''
    case 'image':
    case 'document':
      return isSource(part['source'])
    default:
      return part['type'] === 'search_result' || part['type'] === 'tool_reference'
  }
}

/** Checks that each call has one result, in the next user message. Calls of the last answer may be open. */
class CallTracker {
  readonly #all = new Set<string>()
  /** Calls of the newest answer that have no result yet, with the message of each call. */
  readonly #open = new Map<string, string>()
  #remark: string | undefined

  read(where: string, role: 'user' | 'assistant', content: string | readonly ContentBlock[]): void {
    const blocks = typeof content === 'string' ? [] : content
    if (role === 'assistant') this.#readCalls(where, blocks)
    else this.#readResults(where, blocks, typeof content === 'string')
  }

  /** Rejects open calls that are followed by something other than results. */
  close(): void {
    if (this.#remark !== undefined) this.#refuseOpen(this.#remark)
  }

  #readCalls(where: string, blocks: readonly ContentBlock[]): void {
    this.#refuseOpen(where)
    this.#remark = undefined
    for (const block of blocks) {
      if (block.type !== 'tool_use') continue
      const { id } = block
      if (this.#all.has(id))
        refuse(
          where,
          `calls a tool under the id ${describeValue(id)} again`,
          'Each call of a conversation needs a unique id.',
        )
      this.#all.add(id)
      this.#open.set(id, where)
    }
  }

  #readResults(where: string, blocks: readonly ContentBlock[], isText: boolean): void {
    let isRemark = isText
    for (const block of blocks) {
      if (block.type !== 'tool_result') {
        isRemark = true
        continue
      }
      const { tool_use_id: id } = block
      if (!this.#all.has(id))
        refuse(
          where,
          `has a result of the call ${describeValue(id)}, but no earlier message has that call`,
          'Omit it, or pass the message with the call.',
        )
      if (!this.#open.delete(id))
        refuse(
          where,
          `has a second result of the call ${describeValue(id)}, or a late one`,
          'A call has one result, in the next message.',
        )
      if (isRemark || this.#remark !== undefined)
        refuse(where, `has the result of the call ${describeValue(id)} after other content`, 'Put results first.')
    }
    if (isRemark && this.#open.size > 0) this.#remark ??= where
  }

  #refuseOpen(where: string): void {
    for (const [id, caller] of this.#open)
      refuse(
        where,
        `comes without a result of the call ${describeValue(id)} of ${caller}`,
        "Give { type: 'tool_result', tool_use_id, content } in a user message right after the call.",
      )
  }
}

/** Separates results from a person's text, since each gets its own entry. */
function partsOf(content: string | readonly ContentBlock[]): readonly (string | readonly ContentBlock[])[] {
  if (typeof content === 'string') return [content]
  const results = content.filter(({ type }) => type === 'tool_result')
  if (results.length === 0 || results.length === content.length) return [content]
  return [results, content.filter(({ type }) => type !== 'tool_result')]
}

function userEntry(id: string, content: string | readonly ContentBlock[]): TranscriptEntry {
  const isResults = typeof content !== 'string' && content[0]?.type === 'tool_result'
  const message = { role: 'user', content } as const
  return { kind: 'user', id, message, origin: isResults ? 'tool_results' : 'prompt' }
}

function assistantEntry(id: string, content: string | readonly ContentBlock[], fields: Fields): TranscriptEntry {
  const { by, container } = fields
  const message: AssistantMessage = {
    role: 'assistant',
    id,
    model: typeof by === 'string' ? by : '',
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    stop_reason: null,
    usage: noUsage,
    ...(typeof by === 'string' && { by }),
    ...(fieldsOf(container) !== undefined && { container: jsonObjectOf(container) }),
  }
  return { kind: 'assistant', id, message }
}
