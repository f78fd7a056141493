import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

/**
 * Tracks reasoning of this process, which the service can read again even if it rejected recorded reasoning. `refusals`
 * is the number of earlier rejections. Nothing is stored before the first one.
 */
export interface ReadableReasoning {
  /** Records a block of a reply to a request that was made after this many refusals. */
  note(update: ModelUpdate, refusals: number): void
  /** Whether an item was created after these refusals, or cannot be rejected. */
  has(item: JsonObject, refusals: number): boolean
  /** Whether any item was created after these refusals. */
  isAny(refusals: number): boolean
}

/** Encrypted content ends with a checksum, which identifies it. */
const markLength = 64

export function createReadableReasoning(): ReadableReasoning {
  /** Number of refusals before each item was created. */
  const marks = new Map<string, number>()
  let newest = 0
  return {
    note(update, refusals) {
      if (refusals === 0 || update.type !== 'block' || update.block.type !== 'thinking') return
      const { origin } = update.block
      const item = isJsonObject(origin) && 'item' in origin ? origin.item : undefined
      const mark = isJsonObject(item) ? markOf(item) : ''
      if (mark === '') return
      marks.set(mark, refusals)
      newest = Math.max(newest, refusals)
    },
    // Unencrypted reasoning is always readable.
    has: (item, refusals) => refusals === 0 || markOf(item) === '' || (marks.get(markOf(item)) ?? 0) >= refusals,
    isAny: (refusals) => newest >= refusals,
  }
}

function markOf({ encrypted_content: encrypted }: JsonObject): string {
  return stringOf(encrypted).slice(-markLength)
}
