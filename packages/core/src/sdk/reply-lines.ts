import { noUsage, withoutOrigin, type ContentBlock, type Usage } from '../model/messages.ts'
import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'
import { toldUsage } from '../model/told-usage.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { AssistantEntry } from '../conversation/transcript.ts'
import type { SdkAssistant } from './sdk-messages.ts'

type MakeBase = (name: string) => { readonly uuid: string; readonly session_id: string }

/** One reply that is coming: what the service has told of it, and the blocks that have a line. */
interface ComingReply {
  model: string
  usage: Usage
  readonly told: ContentBlock[]
}

// Spec R-SDK-3, R-SDK-3b.
/**
 * The `assistant` messages of replies: one for each block, when it is complete.
 * The reply's entry brings those of the blocks that had none.
 */
export class ReplyLines {
  readonly #base: MakeBase
  /** By the call whose subagent replies; null for the run itself. */
  readonly #coming = new Map<string | null, ComingReply>()

  constructor(base: MakeBase) {
    this.#base = base
  }

  /** An attempt begins: what came of the one before is no part of it. */
  begin(parent: string | null, model: string): void {
    this.#coming.set(parent, { model, usage: noUsage, told: [] })
  }

  /** The line of the block that is complete now, if one is. `entryId` is that of the entry which the reply becomes. */
  take(parent: string | null, entryId: string, update: ModelUpdate): SdkAssistant | undefined {
    const coming = this.#coming.get(parent)
    if (coming === undefined) return undefined
    if (update.type === 'api_event') takeStart(coming, update.event)
    if (update.type !== 'block') return undefined
    const { block, messageId: id } = update
    const { model, usage } = coming
    coming.told.push(block)
    return this.#line({ id, model, usage }, block, parent, lineName(entryId, id, coming.told.length - 1))
  }

  /** Lines of the blocks that had none while the reply came. */
  rest(parent: string | null, { id, message, error, aborted }: AssistantEntry): readonly SdkAssistant[] {
    const untold = notIn(this.#coming.get(parent)?.told ?? [])
    this.#coming.delete(parent)
    const marks = { ...(error !== undefined && { error }), ...(aborted !== undefined && { aborted }) }
    return message.content.flatMap((block, index) =>
      untold(block) ? [{ ...this.#line(message, block, parent, lineName(id, message.id, index)), ...marks }] : [],
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

/** Another attempt at the same reply is another message, and has lines of its own. */
export function lineName(entryId: string, messageId: string, index: number): string {
  return `${entryId}.${messageId}.${index}`
}

/** What the service tells of a reply at its beginning. */
function takeStart(coming: ComingReply, event: JsonObject): void {
  if (event['type'] !== 'message_start' || !isJsonObject(event['message'] ?? null)) return
  // Just looked at.
  const { model, usage } = event['message'] as JsonObject
  if (typeof model === 'string' && model !== '') coming.model = model
  coming.usage = usageOf(usage)
}

function usageOf(told: Json | undefined): Usage {
  if (told === undefined || !isJsonObject(told)) return noUsage
  const known = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null))
  const read = toldUsage({ ...noUsage, ...known })
  return read.isUsable ? read.usage : noUsage
}

/** Whether a block is none of those told: they are the message's own objects, or say the same. */
function notIn(told: readonly ContentBlock[]): (block: ContentBlock) => boolean {
  const left = new Set(told)
  return (block) => {
    const same = left.has(block) ? block : [...left].find((other) => JSON.stringify(other) === JSON.stringify(block))
    return same === undefined || !left.delete(same)
  }
}
