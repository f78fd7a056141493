import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'

/** The field in which a service returns reasoning. It is sent back under the same name. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'content'

/** One part of a reply, in reading order. */
export type DeltaPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly field: ReasoningField }
  /**
   * Reasoning in the format of the service behind a router, with its signatures. `text` is the text that no other field
   * has.
   */
  | { readonly kind: 'reasoning_details'; readonly details: readonly JsonObject[]; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'call'; readonly piece: JsonObject }

/** Returns the parts of a `delta`, or of the `message` of a response that is not streamed. */
export function partsOf(delta: JsonObject): readonly DeltaPart[] {
  const parts: DeltaPart[] = []
  addReasoning(delta.reasoning_content, 'reasoning_content', parts)
  addReasoning(delta.reasoning, 'reasoning', parts)
  if (delta.reasoning_details !== undefined) addDetails(delta.reasoning_details, parts)
  addContent(delta.content, parts)
  const refusal = stringOf(delta.refusal)
  if (refusal !== '') parts.push({ kind: 'refusal', text: refusal })
  const { tool_calls: calls, function_call: called } = delta
  if (calls === undefined && called === undefined) return parts
  const pieces = listOf(calls).filter(isJsonObject)
  for (const piece of pieces) parts.push({ kind: 'call', piece })
  // The predecessor of `tool_calls`; a service that sends both sends the same call twice.
  if (pieces.length === 0 && isJsonObject(called)) parts.push({ kind: 'call', piece: { index: 0, function: called } })
  return parts
}

/** Adds reasoning. A service that sends both fields sends the same text twice. */
function addReasoning(value: Json | undefined, field: ReasoningField, parts: DeltaPart[]): void {
  const text = stringOf(value)
  if (text !== '' && parts.length === 0) parts.push({ kind: 'reasoning', text, field })
}

function addDetails(value: Json, parts: DeltaPart[]): void {
  const details = listOf(value).filter(isJsonObject)
  if (details.length === 0) return
  const text =
    parts.length > 0 ? '' : details.map((detail) => stringOf(detail.text) || stringOf(detail.summary)).join('')
  parts.push({ kind: 'reasoning_details', details, text })
}

/** Adds content: a text, or a list of parts, which may include reasoning. */
function addContent(content: Json | undefined, parts: DeltaPart[]): void {
  if (typeof content === 'string') {
    if (content !== '') parts.push({ kind: 'text', text: content })
    return
  }
  for (const part of listOf(content)) {
    if (!isJsonObject(part)) continue
    const isThought = part.type === 'thinking'
    const value = isThought ? part.thinking : part.text
    const text = isThought && typeof value !== 'string' ? textsOf(value) : stringOf(value)
    if (text === '') continue
    parts.push(isThought ? { kind: 'reasoning', text, field: 'content' } : { kind: 'text', text })
  }
}

function textsOf(parts: Json | undefined): string {
  return listOf(parts)
    .map((part) => (isJsonObject(part) ? stringOf(part.text) : ''))
    .join('')
}

/**
 * Merges deltas of reasoning details with the same type, index and id. Texts are concatenated; of other fields the last
 * value applies.
 */
export function mergeDetails(before: readonly JsonObject[], pieces: readonly JsonObject[]): readonly JsonObject[] {
  const merged: JsonObject[] = [...before]
  for (const piece of pieces) {
    const at = merged.findLastIndex((detail) => areOne(detail, piece))
    const known = merged[at]
    if (known === undefined) merged.push(piece)
    else merged[at] = joinDetail(known, piece)
  }
  return merged
}

function areOne(detail: JsonObject, piece: JsonObject): boolean {
  const isHere = detail.type === piece.type && (detail.index ?? null) === (piece.index ?? null)
  const areSame = (detail.id ?? piece.id ?? null) === (piece.id ?? detail.id ?? null)
  // A signed detail accepts no more text.
  return isHere && areSame && (stringOf(detail.signature) === '' || stringOf(piece.text) === '')
}

function joinDetail(known: JsonObject, piece: JsonObject): JsonObject {
  const joined: Record<string, Json | undefined> = { ...known }
  for (const [field, value] of Object.entries(piece)) {
    const before = known[field]
    const isText = field === 'text' || field === 'summary' || field === 'data'
    if (isText && typeof before === 'string' && typeof value === 'string') joined[field] = before + value
    else if (value !== null && value !== undefined) joined[field] = value
  }
  return joined
}
