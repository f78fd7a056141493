import type { ContentBlock, ToolUseBlock } from '../messages.ts'
import type { ToolResult } from './result.ts'

/**
 * Read-only calls that started while the message still streamed: speculation, not steps (spec R-TOOL-6).
 * E1: only leading read-only calls start. E2: once the message is on record, the call's own step takes the promise over.
 * E3: what is not taken over is discarded; a rejection of it is handled from the start.
 */
export interface EarlyStarts {
  /** A block of the message is complete. */
  consider(block: ContentBlock): void
  /** The result that is on its way for this call, once. */
  take(callId: string): Promise<ToolResult> | undefined
}

export const noEarlyStarts: EarlyStarts = Object.freeze<EarlyStarts>({ consider: () => {}, take: () => undefined })

/** Begins a call when rules alone allow it, else gives nothing, which ends the early part of the message. */
export type StartEarly = (call: ToolUseBlock, index: number) => Promise<ToolResult> | undefined

export class LeadingCalls implements EarlyStarts {
  readonly #limit: number
  readonly #start: StartEarly
  #started: Map<string, Promise<ToolResult>> | undefined
  #isLeading = true
  #index = 0

  constructor(limit: number, start: StartEarly) {
    this.#limit = limit
    this.#start = start
  }

  consider(block: ContentBlock): void {
    if (!this.#isLeading || block.type !== 'tool_use') return
    const started = this.#started
    const isFull = started !== undefined && (started.has(block.id) || started.size >= this.#limit)
    const work = isFull ? undefined : this.#start(block, this.#index++)
    if (work === undefined) this.#isLeading = false
    else (this.#started ??= new Map()).set(block.id, work)
  }

  take(callId: string): Promise<ToolResult> | undefined {
    const work = this.#started?.get(callId)
    this.#started?.delete(callId)
    return work
  }
}
