import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { estimatedTokens } from './estimated-tokens.ts'

/** What of a reply the request's `max_tokens` lets through. */
export interface CappedReply {
  /** Whole blocks, the last text perhaps cut. */
  readonly blocks: readonly JsonObject[]
  /** The call within whose input the reply was cut: on the wire it begins and stays incomplete. */
  readonly broken: { readonly call: JsonObject; readonly json: string } | undefined
  readonly isCut: boolean
  readonly outputTokens: number
}

/**
 * Ends a reply where its tokens do, as the service does. A reply of `declared` tokens, more than `maxTokens`, is cut in
 * that proportion. Nothing of a block but text and the input of a call is sent in part; nothing comes after the cut.
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
  // Of the characters of the whole as JSON: what the estimate counts. Two are the brackets.
  let room = Math.floor((whole.length * maxTokens) / outputTokens) - 2
  for (const block of blocks) {
    const length = JSON.stringify(block).length + (included.length === 0 ? 0 : 1)
    if (length > room) return { ...cutBlock(block, length - room, included), isCut: true, outputTokens: maxTokens }
    room -= length
    included.push(block)
  }
  return { blocks: included, broken: undefined, isCut: true, outputTokens: maxTokens }
}

/** The block without `excess` characters at its end, behind those that were kept whole. */
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

/** The text without `excess` characters of its JSON; never cut within a character. */
function prefixOf(text: string, excess: number): string {
  let left = JSON.stringify(text).length - 2 - excess
  let end = 0
  for (const character of text) {
    left -= JSON.stringify(character).length - 2
    if (left < 0) break
    end += character.length
  }
  return text.slice(0, end)
}
