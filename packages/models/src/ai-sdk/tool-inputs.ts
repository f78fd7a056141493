import type { JsonObject } from '@halting/core'
import { isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

interface Input {
  readonly index: number
  /** What deltas have streamed of it. */
  streamed: string
  isComplete: boolean
  /** Deltas of plain text are no part of the JSON that the call has. */
  readonly encoding: 'json' | 'text'
}

/** The inputs of calls while they are being written, by the id of the call. */
export class ToolInputs {
  readonly #inputs = new Map<string, Input>()

  has(id: string): boolean {
    return this.#inputs.has(id)
  }

  begin(id: string, index: number, encoding: Input['encoding']): void {
    this.#inputs.set(id, { index, streamed: '', isComplete: false, encoding })
  }

  /** The block it belongs to; undefined for an input that is not being written, or not as JSON. */
  add(id: string, delta: string): number | undefined {
    const input = this.#inputs.get(id)
    if (input === undefined || input.isComplete || input.encoding === 'text') return undefined
    input.streamed += delta
    return input.index
  }

  /** The call has come: what was streamed of its input, if any was. */
  complete(id: string): { readonly index: number; readonly streamed: string } | 'twice' | undefined {
    const input = this.#inputs.get(id)
    if (input?.isComplete === true) return 'twice'
    // The index of a call that was not announced is not looked at again.
    this.#inputs.set(id, { index: -1, streamed: '', encoding: 'json', ...input, isComplete: true })
    return input
  }

  isUnfinished(): boolean {
    for (const { isComplete } of this.#inputs.values()) if (!isComplete) return true
    return false
  }
}

/** The event that begins the block of a call; the tools that the service runs itself are streamed apart. */
export function inputStartEvent(index: number, { toolCallId, toolName, providerExecuted }: JsonObject): JsonObject {
  const type = providerExecuted === true ? 'server_tool_use' : 'tool_use'
  const block = { type, id: toolCallId, name: toolName, input: {} }
  return { type: 'content_block_start', index, content_block: block }
}

/** What is reported of an input while it is written. */
export type InputUpdate = Extract<ModelUpdate, { readonly type: 'tool_input_start' | 'tool_input_delta' }>

/** The same in our own terms, for events of calls that are not the provider's. */
export function inputUpdateOf({ type, index, content_block: block, delta }: JsonObject): InputUpdate | undefined {
  if (typeof index !== 'number') return undefined
  if (type === 'content_block_start' && isJsonObject(block) && block.type === 'tool_use')
    return { type: 'tool_input_start', index, callId: stringOf(block.id), name: stringOf(block.name) }
  const json = isJsonObject(delta) && delta.type === 'input_json_delta' ? stringOf(delta.partial_json) : ''
  return json === '' ? undefined : { type: 'tool_input_delta', index, json }
}
