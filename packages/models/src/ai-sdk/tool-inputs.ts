import type { JsonObject } from '@halting/core'
import { isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

interface Input {
  readonly index: number
  /** Input received in deltas so far. */
  streamed: string
  isComplete: boolean
  /** Plain-text deltas are not part of the call's JSON input. */
  readonly encoding: 'json' | 'text'
}

/** Inputs of calls while they are streamed, by call id. */
export class ToolInputs {
  readonly #inputs = new Map<string, Input>()

  has(id: string): boolean {
    return this.#inputs.has(id)
  }

  begin(id: string, index: number, encoding: Input['encoding']): void {
    this.#inputs.set(id, { index, streamed: '', isComplete: false, encoding })
  }

  /** Appends a delta. Returns the block index; undefined if the input is not open, or not JSON. */
  add(id: string, delta: string): number | undefined {
    const input = this.#inputs.get(id)
    if (input === undefined || input.isComplete || input.encoding === 'text') return undefined
    input.streamed += delta
    return input.index
  }

  /** Marks a call as complete. Returns its index and what was streamed of its input, if anything was. */
  complete(id: string): { readonly index: number; readonly streamed: string } | 'twice' | undefined {
    const input = this.#inputs.get(id)
    if (input?.isComplete === true) return 'twice'
    // The index of a call that was never announced is not used again.
    this.#inputs.set(id, { index: -1, streamed: '', encoding: 'json', ...input, isComplete: true })
    return input
  }

  isUnfinished(): boolean {
    for (const { isComplete } of this.#inputs.values()) if (!isComplete) return true
    return false
  }
}

/** Builds the event that starts the block of a call; tools run by the service have their own type. */
export function inputStartEvent(index: number, { toolCallId, toolName, providerExecuted }: JsonObject): JsonObject {
  const type = providerExecuted === true ? 'server_tool_use' : 'tool_use'
  const block = { type, id: toolCallId, name: toolName, input: {} }
  return { type: 'content_block_start', index, content_block: block }
}

/** Updates about an input while it is streamed. */
export type InputUpdate = Extract<ModelUpdate, { readonly type: 'tool_input_start' | 'tool_input_delta' }>

/** Converts an event of one of our own tool calls into an update. */
export function inputUpdateOf({ type, index, content_block: block, delta }: JsonObject): InputUpdate | undefined {
  if (typeof index !== 'number') return undefined
  if (type === 'content_block_start' && isJsonObject(block) && block.type === 'tool_use')
    return { type: 'tool_input_start', index, callId: stringOf(block.id), name: stringOf(block.name) }
  const json = isJsonObject(delta) && delta.type === 'input_json_delta' ? stringOf(delta.partial_json) : ''
  return json === '' ? undefined : { type: 'tool_input_delta', index, json }
}
