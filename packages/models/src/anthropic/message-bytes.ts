import { digestOf, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage } from '@halting/core'
import type { Rendered, TurnKind } from '../bytes/wire-format.ts'
import { parseJson } from '../json-fields.ts'

/** A user turn; it may include deferred parts. */
export const userTurn: TurnKind = {
  opening: '{"role":"user","content":[',
  closing: ']}',
  merges: true,
  takesBreakpoint: true,
}
/** Results for code that the service runs: the turn may have nothing else, and no breakpoint. */
const programResultsTurn: TurnKind = { ...userTurn, takesBreakpoint: false }

const reply = { opening: '{"role":"assistant","content":[', closing: ']}', merges: false, takesBreakpoint: false }
const assistantTurn: TurnKind = { ...reply, releasesDeferred: true }
/** A reply with calls made by the service's code. */
const programTurn: TurnKind = { ...reply, answeredBy: programResultsTurn }
/** A reply in which the service has not finished a tool. */
const pausedTurn: TurnKind = reply

/** Serializes a message for the model with this `id`. It does not modify the message, which is shared. */
export function renderMessage(message: ModelMessage, id: string): Rendered {
  const { role, content } = message
  if (typeof content === 'string') {
    const text = { type: 'text', text: content } as const
    return { kind: userTurn, first: '', rest: isSendable(text) ? JSON.stringify(text) : '' }
  }
  if (role === 'assistant') {
    const sendable = content.filter((block) => isSendable(block) && isMeantFor(id, block, message))
    return { kind: replyKind(sendable), first: '', rest: sendable.map(replyText).join(',') }
  }
  const results: string[] = []
  const others: string[] = []
  for (const block of content) {
    if (isSendable(block)) (block.type === 'tool_result' ? results : others).push(textOf(block))
  }
  return { kind: userTurn, first: results.join(','), rest: others.join(',') }
}

function replyKind(content: readonly ContentBlock[]): TurnKind {
  if (content.some(isProgramCall)) return programTurn
  const isOpen = content.some(({ type }) => type.endsWith('_tool_use')) && !content.every(isAnsweredIn)
  return isOpen ? pausedTurn : assistantTurn
}

function isAnsweredIn(block: ContentBlock, _at: number, content: readonly ContentBlock[]): boolean {
  if (block.type === 'tool_use' || !block.type.endsWith('_tool_use') || !('id' in block)) return true
  return content.some((other) => 'tool_use_id' in other && other.tool_use_id === block.id)
}

/** Whether the service's code made this call, rather than the model itself. */
export function isProgramCall(block: ContentBlock): boolean {
  if (block.type !== 'tool_use' || !('caller' in block)) return false
  const { caller } = block
  return isJsonObject(caller) && typeof caller.tool_id === 'string' && caller.type !== 'direct'
}

/** Whether another model wrote the message. A message without an author counts as the model's own. */
export function isForeign(message: ModelMessage, id: string): boolean {
  return message.role === 'assistant' && message.by !== undefined && message.by !== id
}

/** Whether a block can be sent: the API rejects text without a visible character, even its own. */
function isSendable(block: ContentBlock): boolean {
  return block.type !== 'text' || block.text.trim() !== ''
}

/**
 * Whether a block is meaningful to the model: it cannot verify another model's signature, and the API rejects unsigned
 * reasoning. Of blocks from other protocols, only text and calls are meaningful.
 */
function isMeantFor(id: string, block: ContentBlock, message: ModelMessage): boolean {
  const isShared = block.type === 'text' || block.type === 'tool_use'
  if (!isShared && 'origin' in block && isOrigin(block.origin) && block.origin.api !== 'messages') return false
  if (block.type === 'thinking') return block.signature !== '' && !isForeign(message, id)
  return block.type !== 'redacted_thinking' || !isForeign(message, id)
}

/** Serializes a block of a reply, as the API wrote it if the block alone cannot reproduce that. */
function replyText(block: ContentBlock): string {
  if (!('origin' in block)) return textOf(block)
  const { origin } = block
  if (isOrigin(origin) && origin.api !== 'messages') return textOf(withoutCitations(block))
  if (!isJsonObject(origin) || origin.api !== 'messages' || typeof origin.json !== 'string') return textOf(block)
  return isSameBlock(origin.json, block) ? origin.json : textOf(block)
}

/** Removes citations of other protocols: the API knows only its own. */
function withoutCitations(block: ContentBlock): ContentBlock {
  if (block.type !== 'text' || block.citations === undefined) return block
  const { citations: _, ...plain } = block
  return plain
}

/**
 * Whether stored JSON can be sent unchanged: records may be forged, so it must be this kind of block and have no
 * breakpoint.
 */
function isSameBlock(json: string, { type }: ContentBlock): boolean {
  const parsed = parseJson(json)
  return isJsonObject(parsed) && parsed.type === type && withoutOurs(parsed) === parsed
}

function textOf(block: ContentBlock): string {
  return JSON.stringify(withOwnId(withoutOurs(block)))
}

/** Replaces call ids of other services that the API rejects, consistently for a call and its result. */
function withOwnId(block: object): object {
  if ('tool_use_id' in block && typeof block.tool_use_id === 'string') {
    const id = ownId(block.tool_use_id)
    return id === block.tool_use_id ? block : { ...block, tool_use_id: id }
  }
  if (!('id' in block) || typeof block.id !== 'string') return block
  const id = ownId(block.id)
  return id === block.id ? block : { ...block, id }
}

function ownId(id: string): string {
  return /^[\w-]+$/.test(id) ? id : `call_${digestOf(id)}`
}

/**
 * Removes our own field (`origin`) and all breakpoints, also in the content of results and documents. Breakpoints are
 * set by rule, and the API allows four. Returns the same block if there are none.
 */
function withoutOurs(block: object): object {
  if (!isJsonObject(block)) return block
  let changed: Record<string, unknown> | undefined
  if ('cache_control' in block || ('origin' in block && isOrigin(block.origin))) {
    const { cache_control: _, origin, ...rest } = block
    changed = rest
    if (origin !== undefined && !isOrigin(origin)) changed.origin = origin
  }
  const content = withoutOursIn(block.content)
  if (content !== block.content) (changed ??= { ...block }).content = content
  if (isJsonObject(block.source)) {
    const source = withoutOursIn(block.source.content)
    if (source !== block.source.content) (changed ??= { ...block }).source = { ...block.source, content: source }
  }
  return changed ?? block
}

function withoutOursIn(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  const blocks: readonly unknown[] = content
  const cleaned = blocks.map((block) => (isJsonObject(block) ? withoutOurs(block) : block))
  return cleaned.some((block, index) => block !== blocks[index]) ? cleaned : content
}

/** Whether the value is our origin: the service may have a field of the same name. */
function isOrigin(value: unknown): value is BlockOrigin {
  return isJsonObject(value) && typeof value.api === 'string'
}
