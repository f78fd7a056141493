import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'

/** Where a service puts what its model thought. It is sent back under the same name. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'content'

/** One piece of a reply, in the order in which its parts are read. */
export type DeltaPart =
  | { readonly kind: 'reasoning'; readonly text: string; readonly field: ReasoningField }
  /** Reasoning in the shape of the service behind a router, with what that one signed. `text` is what was not said beside. */
  | { readonly kind: 'reasoning_details'; readonly details: readonly JsonObject[]; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'call'; readonly piece: JsonObject }

/** The parts of a `delta`, or of the `message` of an answer that came whole. */
export function partsOf(delta: JsonObject): readonly DeltaPart[] {
  const parts: DeltaPart[] = []
  for (const field of ['reasoning_content', 'reasoning'] as const) {
    const text = stringOf(delta[field])
    // A service that gives both gives the same twice.
    if (text !== '' && parts.length === 0) parts.push({ kind: 'reasoning', text, field })
  }
  const details = listOf(delta.reasoning_details).filter(isJsonObject)
  if (details.length > 0) {
    const text =
      parts.length > 0 ? '' : details.map((detail) => stringOf(detail.text) || stringOf(detail.summary)).join('')
    parts.push({ kind: 'reasoning_details', details, text })
  }
  parts.push(...contentParts(delta.content))
  const refusal = stringOf(delta.refusal)
  if (refusal !== '') parts.push({ kind: 'refusal', text: refusal })
  const pieces = listOf(delta.tool_calls).filter(isJsonObject)
  for (const piece of pieces) parts.push({ kind: 'call', piece })
  // What there was before `tool_calls`; a service that gives both gives the same twice.
  const { function_call: called } = delta
  if (pieces.length === 0 && isJsonObject(called)) parts.push({ kind: 'call', piece: { index: 0, function: called } })
  return parts
}

/** A text, or a list of parts among which may be what was thought. */
function contentParts(content: Json | undefined): readonly DeltaPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
  return listOf(content).flatMap((part): readonly DeltaPart[] => {
    if (!isJsonObject(part)) return []
    if (part.type === 'thinking') {
      const text = typeof part.thinking === 'string' ? part.thinking : textsOf(part.thinking)
      return text === '' ? [] : [{ kind: 'reasoning', text, field: 'content' }]
    }
    const text = stringOf(part.text)
    return text === '' ? [] : [{ kind: 'text', text }]
  })
}

function textsOf(parts: Json | undefined): string {
  return listOf(parts)
    .map((part) => (isJsonObject(part) ? stringOf(part.text) : ''))
    .join('')
}

/** Pieces of one detail have its type, place and id; their texts are joined, and of the rest the last word counts. */
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
  // What was signed takes no more text.
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
