import { digestOf, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage } from '@halting/core'
import type { Rendered, TurnKind } from '../bytes/wire-format.ts'
import { parseJson } from '../json-fields.ts'

/** A user's turn: it may have what others held back. */
export const userTurn: TurnKind = {
  opening: '{"role":"user","content":[',
  closing: ']}',
  merges: true,
  takesBreakpoint: true,
}
/** Results for code of the service: it takes nothing beside them, and no breakpoint in them. */
const programResultsTurn: TurnKind = { ...userTurn, takesBreakpoint: false }

const reply = { opening: '{"role":"assistant","content":[', closing: ']}', merges: false, takesBreakpoint: false }
const assistantTurn: TurnKind = { ...reply, releasesDeferred: true }
/** Code of the service made calls in it. */
const programTurn: TurnKind = { ...reply, answeredBy: programResultsTurn }
/** The service has not ended what it began in it. */
const pausedTurn: TurnKind = reply

/** What a message is on the wire, for the model known by `id`. The message itself, which is shared, is not written to. */
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

/** Whether code of the service made this call, and not the model itself. */
export function isProgramCall(block: ContentBlock): boolean {
  if (block.type !== 'tool_use' || !('caller' in block)) return false
  const { caller } = block
  return isJsonObject(caller) && typeof caller.tool_id === 'string' && caller.type !== 'direct'
}

/** Whether a message was written by another model than the one known by `id`. Nobody's is taken for its own. */
export function isForeign(message: ModelMessage, id: string): boolean {
  return message.role === 'assistant' && message.by !== undefined && message.by !== id
}

/** The API refuses text without a visible character, also its own. */
function isSendable(block: ContentBlock): boolean {
  return block.type !== 'text' || block.text.trim() !== ''
}

/**
 * What one model signed another cannot check; what nobody signed the API refuses. Of what came through another protocol
 * only text and calls mean something here.
 */
function isMeantFor(id: string, block: ContentBlock, message: ModelMessage): boolean {
  const isShared = block.type === 'text' || block.type === 'tool_use'
  if (!isShared && 'origin' in block && isOrigin(block.origin) && block.origin.api !== 'messages') return false
  if (block.type === 'thinking') return block.signature !== '' && !isForeign(message, id)
  return block.type !== 'redacted_thinking' || !isForeign(message, id)
}

/** A block that came back: as the API wrote it, where that was kept because the block alone does not tell. */
function replyText(block: ContentBlock): string {
  if (!('origin' in block)) return textOf(block)
  const { origin } = block
  if (isOrigin(origin) && origin.api !== 'messages') return textOf(withoutCitations(block))
  if (!isJsonObject(origin) || origin.api !== 'messages' || typeof origin.json !== 'string') return textOf(block)
  return isSameBlock(origin.json, block) ? origin.json : textOf(block)
}

/** The API knows its own citations alone. */
function withoutCitations(block: ContentBlock): ContentBlock {
  if (block.type !== 'text' || block.citations === undefined) return block
  const { citations: _, ...plain } = block
  return plain
}

/** A record may have been written by anyone: what is sent as it stands must be a block, and without a breakpoint. */
function isSameBlock(json: string, { type }: ContentBlock): boolean {
  const parsed = parseJson(json)
  return isJsonObject(parsed) && parsed.type === type && withoutOurs(parsed) === parsed
}

function textOf(block: ContentBlock): string {
  return JSON.stringify(withOwnId(withoutOurs(block)))
}

/** Ids of calls that another service made may have signs that the API refuses. The same for the call and its result. */
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
 * A block without what is ours (`origin`), and without breakpoints: they are placed by rule and there may be four, so
 * those that came along would be too many, also those in the content of a result or a document. The same block when
 * there is none.
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

/** A field of the service's own may have the name. */
function isOrigin(value: unknown): value is BlockOrigin {
  return isJsonObject(value) && typeof value.api === 'string'
}
