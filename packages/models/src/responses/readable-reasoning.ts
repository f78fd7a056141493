import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

/**
 * What a model thought in this process: the service can read it again, whatever it said of what came from a record.
 * `refusals`: how often reasoning was refused before. Nothing is kept until it was.
 */
export interface ReadableReasoning {
  /** Takes note of a block that a reply told, to a request that was made after so many refusals. */
  note(update: ModelUpdate, refusals: number): void
  /** Whether an item was thought since then, or is none that can be refused. */
  has(item: JsonObject, refusals: number): boolean
  /** Whether anything was thought since then. */
  isAny(refusals: number): boolean
}

/** What is encrypted ends with its checksum: that tells one from another. */
const markLength = 64

export function createReadableReasoning(): ReadableReasoning {
  /** After how many refusals each was thought. */
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
    // What is not encrypted can be read by whoever gets it.
    has: (item, refusals) => refusals === 0 || markOf(item) === '' || (marks.get(markOf(item)) ?? 0) >= refusals,
    isAny: (refusals) => newest >= refusals,
  }
}

function markOf({ encrypted_content: encrypted }: JsonObject): string {
  return stringOf(encrypted).slice(-markLength)
}
