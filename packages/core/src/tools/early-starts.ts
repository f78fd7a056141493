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

/** `start` begins the call when rules alone allow it, else gives nothing, which ends the early part of the message. */
export function createEarlyStarts(
  limit: number,
  start: (call: ToolUseBlock, index: number) => Promise<ToolResult> | undefined,
): EarlyStarts {
  let started: Map<string, Promise<ToolResult>> | undefined
  let leading = true
  let index = 0
  return {
    consider(block) {
      if (!leading || block.type !== 'tool_use') return
      const call = block
      const work =
        started !== undefined && (started.has(call.id) || started.size >= limit) ? undefined : start(call, index++)
      if (work === undefined) leading = false
      else (started ??= new Map()).set(call.id, work)
    },
    take(callId) {
      const work = started?.get(callId)
      started?.delete(callId)
      return work
    },
  }
}
