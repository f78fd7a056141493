import { noUsage, withoutOrigin, type ContentBlock, type Usage } from '../model/messages.ts'
import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'
import { toldUsage } from '../model/told-usage.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { AssistantEntry } from '../conversation/transcript.ts'
import type { SdkAssistant } from './sdk-messages.ts'

type MakeBase = (name: string) => { readonly uuid: string; readonly session_id: string }

/** A reply that is streaming: the service's data so far, and the blocks that have a line. */
interface ComingReply {
  model: string
  usage: Usage
  readonly told: ContentBlock[]
}

// Spec R-SDK-3, R-SDK-3b.
/**
 * The `assistant` messages of replies: one for each complete block.
 * The reply's entry adds those for blocks without one.
 */
export class ReplyLines {
  readonly #base: MakeBase
  /** By the call whose subagent replies; null for the run itself. */
  readonly #coming = new Map<string | null, ComingReply>()

  constructor(base: MakeBase) {
    this.#base = base
  }

  /** Starts an attempt: the output of the previous one is not part of it. */
  begin(parent: string | null, model: string): void {
    this.#coming.set(parent, { model, usage: noUsage, told: [] })
  }

  /** The line of the block that has just become complete, if any. `entryId` is the id of the reply's future entry. */
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

  /** Lines of the blocks that had none while the reply streamed. */
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

/** Another attempt at the same reply is another message, with its own lines. */
export function lineName(entryId: string, messageId: string, index: number): string {
  return `${entryId}.${messageId}.${index}`
}

/** Reads the service's data at the beginning of a reply. */
function takeStart(coming: ComingReply, event: JsonObject): void {
  if (event['type'] !== 'message_start' || !isJsonObject(event['message'] ?? null)) return
  // Validated above.
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

/** Whether a block has no line yet: blocks are compared by identity, then by content. */
function notIn(told: readonly ContentBlock[]): (block: ContentBlock) => boolean {
  const left = new Set(told)
  return (block) => {
    const same = left.has(block) ? block : [...left].find((other) => JSON.stringify(other) === JSON.stringify(block))
    return same === undefined || !left.delete(same)
  }
}
