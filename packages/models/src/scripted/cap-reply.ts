import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { estimatedTokens } from './estimated-tokens.ts'

/** The part of a reply that fits the request's `max_tokens`. */
export interface CappedReply {
  /** Whole blocks; the last text may be truncated. */
  readonly blocks: readonly JsonObject[]
  /** The call inside whose input the reply was truncated. In the response, the call starts but never ends. */
  readonly broken: { readonly call: JsonObject; readonly json: string } | undefined
  readonly isCut: boolean
  readonly outputTokens: number
}

/**
 * Cuts a reply at its token limit, as the service does. A reply of `declared` tokens above `maxTokens` is cut
 * proportionally. Only text and inputs of calls are cut inside a block, and nothing follows the cut.
 */
export function capReply(
  blocks: readonly JsonObject[],
  declared: number | undefined,
  { maxTokens, tokenFactor }: { readonly maxTokens: number; readonly tokenFactor: number },
): CappedReply {
  const whole = JSON.stringify(blocks)
  const outputTokens = declared ?? estimatedTokens(whole, tokenFactor)
  if (outputTokens <= maxTokens) return { blocks, broken: undefined, isCut: false, outputTokens }
  const included: JsonObject[] = []
  // In characters of the whole JSON, which the estimate counts; two are the brackets.
  let room = Math.floor((whole.length * maxTokens) / outputTokens) - 2
  for (const block of blocks) {
    const length = JSON.stringify(block).length + (included.length === 0 ? 0 : 1)
    if (length > room) return { ...cutBlock(block, length - room, included), isCut: true, outputTokens: maxTokens }
    room -= length
    included.push(block)
  }
  return { blocks: included, broken: undefined, isCut: true, outputTokens: maxTokens }
}

/** Cuts `excess` characters off the end of a block, and appends it to the whole ones. */
function cutBlock(
  block: JsonObject,
  excess: number,
  included: readonly JsonObject[],
): Pick<CappedReply, 'blocks' | 'broken'> {
  if (block.type === 'text') {
    const text = prefixOf(stringOf(block.text), excess)
    return { blocks: text === '' ? included : [...included, { ...block, text }], broken: undefined }
  }
  if (block.type !== 'tool_use') return { blocks: included, broken: undefined }
  const json = JSON.stringify(block.input)
  const broken = excess < json.length ? { call: block, json: json.slice(0, -excess) } : undefined
  return { blocks: included, broken }
}

/** Cuts `excess` characters of the JSON form off a text, never inside a character. */
function prefixOf(text: string, excess: number): string {
  let remaining = JSON.stringify(text).length - 2 - excess
  let end = 0
  for (const character of text) {
    remaining -= JSON.stringify(character).length - 2
    if (remaining < 0) break
    end += character.length
  }
  return text.slice(0, end)
}
