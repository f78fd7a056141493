import { noUsage, withoutOrigin, type ContentBlock, type Usage } from '../model/messages.ts'
import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'
import { checkReportedUsage } from '../model/reported-usage.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { AssistantEntry } from '../conversation/transcript.ts'
import type { SdkAssistant } from './sdk-messages.ts'

type MakeBase = (name: string) => { readonly uuid: string; readonly session_id: string }

/** A reply that is streaming: the service's data so far, and the blocks that have a line. */
interface StreamingReply {
  model: string
  usage: Usage
  readonly sentBlocks: ContentBlock[]
}

// Spec R-SDK-3, R-SDK-3b.
/**
 * The `assistant` messages of replies: one for each complete block.
 * The reply's entry adds those for blocks without one.
 */
export class ReplyLines {
  readonly #base: MakeBase
  /** Replies by the call whose subagent replies; null for the run itself. */
  readonly #streaming = new Map<string | null, StreamingReply>()

  constructor(base: MakeBase) {
    this.#base = base
  }

  /** Starts an attempt: the output of the previous one is not part of it. */
  begin(parent: string | null, model: string): void {
    this.#streaming.set(parent, { model, usage: noUsage, sentBlocks: [] })
  }

  /** The line of the block that has just become complete, if any. `entryId` is the id of the reply's future entry. */
  take(parent: string | null, entryId: string, update: ModelUpdate): SdkAssistant | undefined {
    const reply = this.#streaming.get(parent)
    if (reply === undefined) return undefined
    if (update.type === 'api_event') takeStart(reply, update.event)
    if (update.type !== 'block') return undefined
    const { block, messageId: id } = update
    const { model, usage } = reply
    reply.sentBlocks.push(block)
    return this.#line({ id, model, usage }, block, parent, lineName(entryId, id, reply.sentBlocks.length - 1))
  }

  /** The lines of the blocks for which no line was emitted while the reply streamed. */
  rest(parent: string | null, { id, message, error, aborted }: AssistantEntry): readonly SdkAssistant[] {
    const isUnsent = notIn(this.#streaming.get(parent)?.sentBlocks ?? [])
    this.#streaming.delete(parent)
    const marks = { ...(error !== undefined && { error }), ...(aborted !== undefined && { aborted }) }
    return message.content.flatMap((block, index) =>
      isUnsent(block) ? [{ ...this.#line(message, block, parent, lineName(id, message.id, index)), ...marks }] : [],
    )
  }

  #line(
    message: {
      readonly id: string
      readonly model: string
      readonly usage: Usage
      readonly stop_sequence?: string | null
    },
    block: ContentBlock,
    parent: string | null,
    name: string,
  ): SdkAssistant {
    const { id, model, usage, stop_sequence: stopSequence = null } = message
    return {
      type: 'assistant',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [withoutOrigin(block)],
        stop_reason: null,
        stop_sequence: stopSequence,
        usage,
      },
      parent_tool_use_id: parent,
      ...this.#base(name),
    }
  }
}

/** Another attempt at the same reply is another message, with its own lines. */
export function lineName(entryId: string, messageId: string, index: number): string {
  return `${entryId}.${messageId}.${index}`
}

/** Reads the service's data at the beginning of a reply. */
function takeStart(reply: StreamingReply, event: JsonObject): void {
  if (event['type'] !== 'message_start' || !isJsonObject(event['message'] ?? null)) return
  // Validated above.
  const { model, usage } = event['message'] as JsonObject
  if (typeof model === 'string' && model !== '') reply.model = model
  reply.usage = usageOf(usage)
}

function usageOf(reported: Json | undefined): Usage {
  if (reported === undefined || !isJsonObject(reported)) return noUsage
  const known = Object.fromEntries(Object.entries(reported).filter(([, value]) => value !== null))
  const read = checkReportedUsage({ ...noUsage, ...known })
  return read.isUsable ? read.usage : noUsage
}

/** Whether a block has no line yet: blocks are compared by identity, then by content. */
function notIn(sentBlocks: readonly ContentBlock[]): (block: ContentBlock) => boolean {
  const left = new Set(sentBlocks)
  return (block) => {
    const same = left.has(block) ? block : [...left].find((other) => JSON.stringify(other) === JSON.stringify(block))
    return same === undefined || !left.delete(same)
  }
}
