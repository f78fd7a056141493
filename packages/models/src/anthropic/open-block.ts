import { invalidJsonInput, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { ContentBlock, Json, JsonObject } from '@halting/core'
import { listOf, parseJson, stringOf, endOfString } from '../json-fields.ts'
import { namelessTool } from '../service/stream-reader.ts'

/** A content block during streaming: the data of `content_block_start`, and what deltas added. */
export interface OpenBlock {
  readonly start: JsonObject
  /** JSON text of `start`, if the parsed value loses information. */
  readonly startText: string | undefined
  text: string
  inputJson: string
  signature: string | undefined
  readonly citations: Json[]
}

/** `eventText` is the JSON of the event that began the block. */
export function openBlock(received: JsonObject, eventText?: string): OpenBlock {
  const isNameless = received.type === 'tool_use' && stringOf(received.name) === ''
  const start = isNameless ? { ...received, name: namelessTool } : received
  const startText = eventText === undefined || isNameless ? undefined : valueText(eventText, 'content_block')
  const isLossless = startText === undefined || isExact(startText, start)
  return {
    start,
    startText: isLossless ? undefined : startText,
    text: '',
    inputJson: '',
    signature: undefined,
    citations: [],
  }
}

/** Whether the block had content when it started; an empty text or reasoning block has none. */
export function isNews({ start }: OpenBlock): boolean {
  const text = start.type === 'thinking' ? start.thinking : start.text
  const isEmpty = stringOf(text) === '' && listOf(start.citations).length === 0 && stringOf(start.signature) === ''
  return !isEmpty || (start.type !== 'text' && start.type !== 'thinking')
}

function hasContent(value: Json): boolean {
  return isJsonObject(value) ? Object.keys(value).length > 0 : value !== null
}

/** The effect of a delta on its block. Unknown and empty deltas have none. */
export type DeltaOutcome =
  | { readonly kind: 'text' | 'thinking' | 'input'; readonly text: string }
  | { readonly kind: 'taken' | 'unchanged' | 'misfit' }

const takenOutcome: DeltaOutcome = { kind: 'taken' }
const unchangedOutcome: DeltaOutcome = { kind: 'unchanged' }
const misfitOutcome: DeltaOutcome = { kind: 'misfit' }

export function applyDelta(block: OpenBlock, delta: JsonObject): DeltaOutcome {
  const type = block.start.type
  switch (stringOf(delta.type)) {
    case 'text_delta':
      if (type !== 'text' || typeof delta.text !== 'string') return misfitOutcome
      block.text += delta.text
      return { kind: 'text', text: delta.text }
    case 'thinking_delta':
      if (type !== 'thinking' || typeof delta.thinking !== 'string') return misfitOutcome
      block.text += delta.thinking
      return { kind: 'thinking', text: delta.thinking }
    case 'signature_delta':
      if (type !== 'thinking' || typeof delta.signature !== 'string') return misfitOutcome
      if (block.signature === delta.signature) return unchangedOutcome
      block.signature = delta.signature
      return takenOutcome
    case 'input_json_delta':
      if (!takesInput(block) || typeof delta.partial_json !== 'string') return misfitOutcome
      block.inputJson += delta.partial_json
      return { kind: 'input', text: delta.partial_json }
    case 'citations_delta':
      if (type !== 'text' || delta.citation === undefined) return misfitOutcome
      if (!hasContent(delta.citation)) return unchangedOutcome
      block.citations.push(delta.citation)
      return takenOutcome
    case 'compaction_delta':
      if (type !== 'compaction') return misfitOutcome
      block.text += stringOf(delta.content)
      return stringOf(delta.content) === '' ? unchangedOutcome : takenOutcome
    default:
      return unchangedOutcome
  }
}

/**
 * A block after its last delta. `doubtful` is a tool call with an invalid or missing input: if the reply was
 * truncated there, the call is incomplete and must not run. `block` is the call if it was not truncated.
 */
export type ClosedBlock =
  | { readonly kind: 'complete'; readonly block: ContentBlock }
  | { readonly kind: 'doubtful'; readonly block: ContentBlock }

export function closeBlock(open: OpenBlock, originOf: OriginOf): ClosedBlock {
  const { start, text } = open
  if (takesInput(open)) return closeCall(open, originOf)
  switch (stringOf(start.type)) {
    case 'text':
      return complete(
        withOrigin(
          {
            ...start,
            text: stringOf(start.text) + text,
            ...(open.citations.length > 0 && { citations: [...listOf(start.citations), ...open.citations] }),
          },
          originOf(open),
        ),
      )
    case 'thinking':
      return complete(
        withOrigin(
          {
            ...start,
            thinking: stringOf(start.thinking) + text,
            signature: open.signature ?? stringOf(start.signature),
          },
          originOf(open),
        ),
      )
    case 'compaction':
      return complete(text === '' ? start : { ...start, content: stringOf(start.content) + text })
    default:
      return complete(withOrigin(start, originOf(open)))
  }
}

/** Whether the block has an input: server tools, MCP tools and our tools stream it alike. */
function takesInput({ start }: OpenBlock): boolean {
  const type = stringOf(start.type)
  return type === 'tool_use' || type.endsWith('_tool_use')
}

function closeCall(open: OpenBlock, originOf: OriginOf): ClosedBlock {
  const { start, inputJson } = open
  if (inputJson.trim() === '') {
    // A service may send the whole input at the start, as it does for calls made by code.
    const input = isJsonObject(start.input) ? start.input : {}
    const block = blockOf(withOrigin({ ...start, input }, originOf(open)))
    return Object.keys(input).length > 0 ? { kind: 'complete', block } : { kind: 'doubtful', block }
  }
  const input = parseInput(inputJson)
  if (input !== undefined) return complete(withOrigin({ ...start, input }, originOf(open, input)))
  // The API accepts only objects. In this form, the call can be sent back, and the loop reports the error to the
  // model.
  return { kind: 'doubtful', block: blockOf({ ...start, input: invalidJsonInput(inputJson) }) }
}

/**
 * Returns how the service wrote a completed block, if the block alone cannot reproduce it; `input` is the parsed one.
 */
export type OriginOf = (open: OpenBlock, input?: JsonObject) => BlockOrigin | undefined

/** Sends a block of the Messages API back unchanged, even if JavaScript values cannot represent it. */
export const messagesOrigin: OriginOf = ({ start, startText, inputJson }, input) => {
  // The start of a text block is not its whole content.
  if (start.type === 'text') return undefined
  const json = input === undefined ? startText : isExact(inputJson, input) ? undefined : withInput(start, inputJson)
  return json === undefined ? undefined : { api: 'messages', json }
}

function withOrigin(block: JsonObject, origin: BlockOrigin | undefined): JsonObject {
  return origin === undefined ? block : { ...block, origin }
}

function withInput({ input: _, ...start }: JsonObject, inputJson: string): string {
  return `${JSON.stringify(start).slice(0, -1)},"input":${compact(inputJson)}}`
}

function parseInput(json: string): JsonObject | undefined {
  const input = parseJson(json)
  return isJsonObject(input) ? input : undefined
}

function complete(block: JsonObject): ClosedBlock {
  return { kind: 'complete', block: blockOf(block) }
}

/** Known kinds were built above; any other is opaque and passed on unchanged. */
function blockOf(block: JsonObject): ContentBlock {
  return block as unknown as ContentBlock
}

/**
 * Whether a parsed value serializes to the same text, except for white space. JavaScript loses `1.0`, numbers beyond
 * 2^53, the order of numeric keys and duplicate keys.
 */
export function isExact(text: string, value: unknown): boolean {
  const rewritten = JSON.stringify(value)
  return rewritten === text || rewritten === compact(text)
}

/** Removes white space between JSON tokens. */
export function compact(text: string): string {
  let compacted = ''
  let from = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === quote) index = endOfString(text, index) - 1
    else if (unit === space || unit === lineFeed || unit === carriageReturn || unit === tab) {
      compacted += text.slice(from, index)
      from = index + 1
    }
  }
  return from === 0 ? text : compacted + text.slice(from)
}

const quote = 0x22
const space = 0x20
const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Returns the original text of a key's value in a JSON object; undefined if the key is missing. */
export function valueText(object: string, key: string): string | undefined {
  const text = compact(object)
  let depth = 0
  let start = -1
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === quote) {
      const end = endOfString(text, index)
      if (depth === 1 && start < 0 && text[end] === ':' && text.slice(index, end) === JSON.stringify(key))
        start = end + 1
      index = end - 1
    } else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === closeBrace || unit === closeBracket) {
      depth--
      if (start >= 0 && depth === 0) return text.slice(start, index)
    } else if (unit === commaSign && depth === 1 && start >= 0) return text.slice(start, index)
  }
  return undefined
}

const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const commaSign = 0x2c
