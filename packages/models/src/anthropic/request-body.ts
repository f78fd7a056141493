import type { ModelMessage, ModelRequest, ToolDefinition } from '@halting/core'
import { bytesOf } from './message-bytes.ts'
import type { MessageBytes } from './message-bytes.ts'

type Bytes = Uint8Array

/** What the API is to see as one message: a message, or neighbouring user messages. Never empty. */
type Turn = readonly [MessageBytes, ...MessageBytes[]]

const breakpoint = ',"cache_control":{"type":"ephemeral"}}'
const breakpointBytes = Buffer.from(breakpoint)

/**
 * The body of a request, as one buffer.
 * Cache breakpoints stand after the tools, after the system prompt and after the two newest user turns: the newest
 * writes what the next request will read, the one before it reads what the last request wrote. Four is the most.
 */
export function requestBody(model: string, request: ModelRequest): Uint8Array<ArrayBuffer> {
  const { system, tools, toolChoice, messages, maxTokens } = request
  const head =
    `{"model":${JSON.stringify(model)},"max_tokens":${maxTokens},"stream":true` +
    (system.trim() === '' ? '' : `,"system":[${marked(JSON.stringify({ type: 'text', text: system }))}]`)
  const parts: Bytes[] = [Buffer.from(head)]
  if (tools.length > 0) parts.push(toolsBytes(tools))
  if (tools.length > 0 && toolChoice === 'none') parts.push(Buffer.from(',"tool_choice":{"type":"none"}'))
  parts.push(Buffer.from(',"messages":['))
  pushTurns(parts, turnsOf(messages))
  parts.push(Buffer.from(']}'))
  return join(parts)
}

function turnsOf(messages: readonly ModelMessage[]): readonly Turn[] {
  const turns: [MessageBytes, ...MessageBytes[]][] = []
  for (const message of messages) {
    const bytes = bytesOf(message)
    if (bytes.results.length === 0 && bytes.others.length === 0) continue
    const last = turns.at(-1)
    if (last !== undefined && bytes.role === 'user' && last[0].role === 'user') last.push(bytes)
    else turns.push([bytes])
  }
  return turns
}

function pushTurns(parts: Bytes[], turns: readonly Turn[]): void {
  const marks = newestUserTurns(turns)
  turns.forEach((turn, index) => {
    const [first, ...more] = turn
    const whole = more.length === 0 ? first.whole : merged(turn)
    const bytes = index === 0 ? whole.subarray(1) : whole
    // Every message ends with a block; the breakpoint goes in before the brace of that.
    if (marks.has(turn)) parts.push(bytes.subarray(0, -'}]}'.length), breakpointBytes, closing)
    else parts.push(bytes)
  })
}

const opening = Buffer.from(',{"role":"user","content":[')
const closing = Buffer.from(']}')
const comma = Buffer.from(',')

/** User messages as one: all tool results, then the rest. */
function merged(turn: Turn): Bytes {
  const contents = [...turn.map(({ results }) => results), ...turn.map(({ others }) => others)]
  const parts: Bytes[] = [opening]
  for (const content of contents) {
    if (content.length === 0) continue
    if (parts.length > 1) parts.push(comma)
    parts.push(content)
  }
  return join([...parts, closing])
}

function newestUserTurns(turns: readonly Turn[]): ReadonlySet<Turn> {
  const newest = new Set<Turn>()
  for (let index = turns.length - 1; index >= 0 && newest.size < 2; index--) {
    const turn = turns[index]
    if (turn?.[0].role === 'user') newest.add(turn)
  }
  return newest
}

const knownTools = new WeakMap<readonly ToolDefinition[], Bytes>()

/** The list of tools seldom changes within a run: it is serialized once for as long as it is the same list. */
function toolsBytes(tools: readonly ToolDefinition[]): Bytes {
  const before = knownTools.get(tools)
  if (before !== undefined) return before
  const texts = tools.map(({ name, description, input_schema }) => JSON.stringify({ name, description, input_schema }))
  texts.push(marked(texts.pop() ?? '{}'))
  const bytes = Buffer.from(`,"tools":[${texts.join(',')}]`)
  knownTools.set(tools, bytes)
  return bytes
}

function marked(block: string): string {
  return block.slice(0, -1) + breakpoint
}

/** One buffer: a body made of a stream with a piece a message was measured ten times slower. */
function join(parts: readonly Bytes[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const part of parts) length += part.length
  // Every byte of it is written below.
  const body = Buffer.allocUnsafeSlow(length)
  let offset = 0
  for (const part of parts) {
    body.set(part, offset)
    offset += part.length
  }
  return body
}
