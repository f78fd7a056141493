import { isJsonObject } from '@halting/core'
import type { ContentBlock, Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'

/** A content block that is being streamed: what `content_block_start` said, and what the deltas added. */
export interface OpenBlock {
  readonly start: JsonObject
  text: string
  inputJson: string
  signature: string | undefined
  readonly citations: Json[]
}

export function openBlock(start: JsonObject): OpenBlock {
  return { start, text: '', inputJson: '', signature: undefined, citations: [] }
}

/** What a delta did to its block. A delta of a kind that this library does not know is left alone. */
export type DeltaOutcome =
  | { readonly kind: 'text' | 'thinking'; readonly text: string }
  | { readonly kind: 'taken' | 'unknown' | 'misfit' }

const taken: DeltaOutcome = { kind: 'taken' }
const misfit: DeltaOutcome = { kind: 'misfit' }

export function applyDelta(block: OpenBlock, delta: JsonObject): DeltaOutcome {
  const type = block.start.type
  switch (stringOf(delta.type)) {
    case 'text_delta':
      if (type !== 'text' || typeof delta.text !== 'string') return misfit
      block.text += delta.text
      return { kind: 'text', text: delta.text }
    case 'thinking_delta':
      if (type !== 'thinking' || typeof delta.thinking !== 'string') return misfit
      block.text += delta.thinking
      return { kind: 'thinking', text: delta.thinking }
    case 'signature_delta':
      if (type !== 'thinking' || typeof delta.signature !== 'string') return misfit
      block.signature = delta.signature
      return taken
    case 'input_json_delta':
      if (!takesInput(block) || typeof delta.partial_json !== 'string') return misfit
      block.inputJson += delta.partial_json
      return taken
    case 'citations_delta':
      if (type !== 'text' || delta.citation === undefined) return misfit
      block.citations.push(delta.citation)
      return taken
    case 'compaction_delta':
      if (type !== 'compaction') return misfit
      block.text += stringOf(delta.content)
      return taken
    default:
      return { kind: 'unknown' }
  }
}

/**
 * A block after its last delta. `doubtful` is the call of a tool whose input is not valid, or that has none: when the
 * reply was cut right there, the call was never finished and must not run; `block` is what it is if it was not cut.
 */
export type ClosedBlock =
  | { readonly kind: 'complete'; readonly block: ContentBlock }
  | { readonly kind: 'doubtful'; readonly block: ContentBlock }

export function closeBlock(open: OpenBlock): ClosedBlock {
  const { start, text } = open
  if (takesInput(open)) return closeCall(open)
  switch (stringOf(start.type)) {
    case 'text':
      return complete({
        ...start,
        text: stringOf(start.text) + text,
        ...(open.citations.length > 0 && { citations: [...listOf(start.citations), ...open.citations] }),
      })
    case 'thinking':
      return complete({
        ...start,
        thinking: stringOf(start.thinking) + text,
        signature: open.signature ?? stringOf(start.signature),
      })
    case 'compaction':
      return complete(text === '' ? start : { ...start, content: stringOf(start.content) + text })
    default:
      return complete(start)
  }
}

/** Server tools, MCP tools and our own stream their input alike. */
function takesInput({ start }: OpenBlock): boolean {
  const type = stringOf(start.type)
  return type === 'tool_use' || type.endsWith('_tool_use')
}

function closeCall({ start, inputJson }: OpenBlock): ClosedBlock {
  if (inputJson.trim() === '') {
    // A service may give the whole input at the start, as it does for calls made by code.
    const input = isJsonObject(start.input) ? start.input : {}
    const block = blockOf({ ...start, input })
    return Object.keys(input).length > 0 ? { kind: 'complete', block } : { kind: 'doubtful', block }
  }
  const input = parseInput(inputJson)
  if (input !== undefined) return complete({ ...start, input })
  // The API takes objects only. In this shape it can be sent back, and the tool's own schema tells the model.
  return { kind: 'doubtful', block: blockOf({ ...start, input: { INVALID_JSON: inputJson } }) }
}

function parseInput(json: string): JsonObject | undefined {
  try {
    const input: unknown = JSON.parse(json)
    return isJsonObject(input) ? input : undefined
  } catch {
    return undefined
  }
}

function complete(block: JsonObject): ClosedBlock {
  return { kind: 'complete', block: blockOf(block) }
}

/** The kinds that have fields of their own were built above; any other is opaque and carried along as it came. */
function blockOf(block: JsonObject): ContentBlock {
  return block as unknown as ContentBlock
}
